//! How often data was copied, from the audits of the run: counted where the kernel could be traced.
//!
//! A mechanism's name is a promise; the label here says what was counted of it. Nothing is inferred:
//! where nobody counted, there is no label.

use super::words;
use crate::plan::Case;
use crate::probe;
use crate::run::audit::Balance;
use crate::run::{Audit, Run};

/// Above this many copies of a byte it was copied, below one less this it was not: retransmissions and
/// the few bytes around them move a count off the whole number.
const SLACK: f64 = 0.02;

/// The audit that stands for a case: of the same way to move data.
pub fn of_case<'r>(run: &'r Run, case: &Case) -> Option<&'r Audit> {
    let copies = probe::find(&case.probe)?.copies()?;
    run.record.audits.iter().find(|a| a.probe == case.probe && copies.same_way(&a.point, &case.point))
}

/// What was counted, in the words of a report: `zero-copy asked, copied once`.
pub fn label(audit: &Audit) -> Option<String> {
    let counts = audit.counts?;
    let sent = audit.per_byte(counts.copied_in) + audit.per_byte(counts.orphan_copied);
    let all = audit.per_byte(audit.user_copied) + sent + audit.per_byte(counts.copied_out);
    if audit.flagged().is_none() {
        return Some(format!("{} from the sender's memory to the receiver's", times(all)));
    }
    Some(if sent <= SLACK {
        "zero-copy asked, not copied on the way".to_string()
    } else {
        format!("zero-copy asked, {} on the way", times(sent))
    })
}

/// `copied once`, `copied 1.3 times`.
fn times(copies: f64) -> String {
    const WORDS: [&str; 5] =
        ["not copied", "copied once", "copied twice", "copied three times", "copied four times"];
    let whole = copies.round();
    if (copies - whole).abs() <= SLACK
        && let Some(word) = WORDS.get(whole as usize)
    {
        return word.to_string();
    }
    format!("copied {copies:.2} times")
}

/// Where each copy was made, per byte of payload: `0 into the kernel, 1 inside it, 1 out of it`.
pub fn places(audit: &Audit) -> Option<String> {
    let counts = audit.counts?;
    let mut places = Vec::new();
    if audit.user_copied > 0 {
        places.push(format!("{} in user memory", per_byte(audit, audit.user_copied)));
    }
    places.push(format!("{} into the kernel", per_byte(audit, counts.copied_in)));
    places.push(format!("{} inside it", per_byte(audit, counts.orphan_copied)));
    places.push(format!("{} out of it", per_byte(audit, counts.copied_out)));
    Some(places.join(", "))
}

fn per_byte(audit: &Audit, bytes: u64) -> String {
    let text = format!("{:.2}", audit.per_byte(bytes));
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Do the completions' flag and the count contradict each other? The flag is known to say copied
/// where nothing was, and the other way round.
pub fn contradiction(audit: &Audit) -> Option<String> {
    let (flagged, counts) = (audit.flagged()?, audit.counts?);
    let sent = audit.per_byte(counts.copied_in) + audit.per_byte(counts.orphan_copied);
    let differ = (flagged - sent.min(1.0)).abs() > 0.1;
    differ.then(|| {
        format!(
            "{} of the completions are flagged as copied, but {} of the bytes were",
            words::percent(flagged),
            words::percent(sent.min(1.0))
        )
    })
}

/// What the ledger of an audit cannot explain, where that is more than it may be.
pub fn imbalance(audit: &Audit) -> Option<String> {
    if audit.balanced()? {
        return None;
    }
    let Balance { sent, delivered } = audit.balance()?;
    Some(format!(
        "of {} bytes, {sent} sent and {delivered} delivered are unexplained ({:+.2} %)",
        audit.delivered_bytes,
        audit.unexplained()? * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Point;
    use crate::ledger::{Counts, Tier};

    fn audit(user_copied: u64, completions: u64, counts: Counts) -> Audit {
        Audit {
            probe: "p".into(),
            point: Point::default(),
            delivered_bytes: 1000,
            tier: Tier::Traced,
            user_copied,
            uncopied_out: 0,
            completions,
            completions_copied: completions,
            counts: Some(counts),
            uncounted: None,
            cpu: None,
        }
    }

    #[test]
    fn labels_come_from_counts() {
        let copied = Counts { copied_in: 1000, copied_out: 1000, ..Counts::default() };
        let lent = Counts { uncopied_in: 1000, copied_out: 1000, ..Counts::default() };
        let orphaned = Counts { orphan_copied: 1000, ..lent };
        let told = |audit: &Audit| label(audit).expect("counted");
        assert_eq!(
            told(&audit(1000, 0, copied)),
            "copied three times from the sender's memory to the receiver's"
        );
        assert_eq!(told(&audit(0, 0, copied)), "copied twice from the sender's memory to the receiver's");
        assert_eq!(told(&audit(0, 0, lent)), "copied once from the sender's memory to the receiver's");
        assert_eq!(told(&audit(0, 8, orphaned)), "zero-copy asked, copied once on the way");
        assert_eq!(told(&audit(0, 8, lent)), "zero-copy asked, not copied on the way");
        let half = Counts { orphan_copied: 500, ..lent };
        assert_eq!(told(&audit(0, 8, half)), "zero-copy asked, copied 0.50 times on the way");
        assert_eq!(
            places(&audit(1000, 0, copied)).unwrap(),
            "1 in user memory, 1 into the kernel, 0 inside it, 1 out of it"
        );
        let uncounted = Audit { counts: None, ..audit(0, 8, lent) };
        assert_eq!((label(&uncounted), places(&uncounted)), (None, None));
    }

    #[test]
    fn the_flag_is_held_against_the_count() {
        let lent = Counts { uncopied_in: 1000, copied_out: 1000, ..Counts::default() };
        let lie = audit(0, 8, lent);
        assert!(
            contradiction(&lie).unwrap().contains("100 % of the completions are flagged as copied, but 0 %")
        );
        assert_eq!(contradiction(&audit(0, 8, Counts { orphan_copied: 1003, ..lent })), None);
        assert_eq!(imbalance(&lie), None);
        let wrong = audit(0, 8, Counts { copied_out: 990, ..lent });
        assert_eq!(
            imbalance(&wrong).unwrap(),
            "of 1000 bytes, 0 sent and 10 delivered are unexplained (+1.00 %)"
        );
    }
}
