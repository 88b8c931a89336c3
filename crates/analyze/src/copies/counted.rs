//! How often data was copied, from the audits of the run: counted where the kernel could be traced.
//!
//! A mechanism's name is a promise; what is said here is what was counted of it. Nothing is inferred:
//! where nobody counted, or the count does not add up, nothing is claimed.

use crate::compare::study::RIVALS;
use crate::words::{self, and};
use syscost_core::units::{count, significant};
use syscost_experiment::plan::Case;
use syscost_experiment::run::audit::{Balance, TOLERANCE};
use syscost_experiment::run::{Audit, Run};
use syscost_measure::mechanism::{self, Class, Mechanism};
use syscost_measure::probe;

/// So near a whole number of copies it is called that, and so near the share of flagged completions the
/// share of copied bytes agrees: retransmissions and the few bytes around them move a count, and a
/// completion covers whole messages.
const SLACK: f64 = 0.02;

/// The audit that stands for a case: of the same way to move data.
pub fn of_case<'r>(run: &'r Run, case: &Case) -> Option<&'r Audit> {
    let copies = probe::find(&case.probe)?.copies()?;
    run.record.audits.iter().find(|a| a.probe == case.probe && copies.same_way(&a.point, &case.point))
}

/// What a name says of copying, and what was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Was no more copied than the name says? `None`: not known.
    pub kept: Option<bool>,
    /// `zero-copy asked, copied once by the orphan copy`
    pub text: String,
}

/// What a mechanism's interface asks for on the sender's side.
struct Promise {
    words: &'static str,
    copies: f64,
}

/// By the class of the mechanism. Without one (the control, or a mechanism that this version lacks), whoever waits
/// for completions asked for zero-copy.
fn promise(audit: &Audit) -> Option<Promise> {
    let of_class = |mechanism: &dyn Mechanism| {
        let facts = mechanism.about().facts;
        Some(Promise { words: facts.class()?.word(), copies: facts.copies()? })
    };
    let named = audit.point.text(RIVALS).and_then(mechanism::find).and_then(of_class);
    let lent = Promise { words: Class::ZeroCopy.word(), copies: 0.0 };
    named.or((audit.completions > 0).then_some(lent))
}

/// Was it to be sent without copying?
pub fn zero_copy_asked(audit: &Audit) -> bool {
    promise(audit).is_some_and(|promise| promise.copies == 0.0)
}

/// What is to be said beside the name: of zero-copy always, of the others where there was more copying
/// than they speak of.
pub fn claim(audit: &Audit) -> Option<Claim> {
    let promise = promise(audit)?;
    let zero = promise.copies == 0.0;
    let asked = if zero { "zero-copy asked" } else { promise.words };
    let unknown = |why: &str| Claim { kept: None, text: format!("{asked}, {why}") };
    let Some(counts) = audit.counts else { return zero.then(|| unknown("copies not verified")) };
    if imbalance(audit).is_some() {
        return zero.then(|| unknown("but the count of its copies does not add up"));
    }
    let parts = [
        (audit.user_copied, "in user space"),
        (counts.copied_in, "into the kernel"),
        (counts.orphan_copied, "by the orphan copy"),
    ];
    let parts = parts.map(|(bytes, place)| (audit.per_byte(bytes), place));
    let total: f64 = parts.iter().map(|part| part.0).sum();
    if total > promise.copies + TOLERANCE {
        let told: Vec<String> = parts
            .iter()
            .filter(|(copies, _)| *copies > TOLERANCE)
            .map(|(copies, place)| format!("{} {place}", times(*copies)))
            .collect();
        let text = format!("{asked}, copied {}{}", and(&told), sent_again(audit));
        return Some(Claim { kept: Some(false), text });
    }
    let kept = "zero-copy: nothing was copied up to the receiver's socket";
    zero.then(|| Claim { kept: Some(true), text: kept.into() })
}

/// Why there are more orphan copies than bytes.
fn sent_again(audit: &Audit) -> String {
    let counts = audit.counts.unwrap_or_default();
    let excess = audit.per_byte(counts.orphan_copied) > 1.0 + SLACK;
    let again = audit.per_byte(counts.retransmitted);
    let told = || format!(", as {} was sent again", words::percent(again));
    (excess && again > 0.0).then(told).unwrap_or_default()
}

/// `once`, `twice`, `0.4 times`
fn times(copies: f64) -> String {
    match copies {
        n if (n - 1.0).abs() <= SLACK => "once".into(),
        n if (n - 2.0).abs() <= SLACK => "twice".into(),
        n => format!("{} times", significant(n)),
    }
}

/// Do the completions' flag and the count contradict each other? The flag is known to say copied
/// where nothing was, and the other way round.
pub fn contradiction(audit: &Audit) -> Option<String> {
    let (flagged, counts) = (audit.flagged()?, audit.counts?);
    let sent = audit.per_byte(counts.copied_in) + audit.per_byte(counts.orphan_copied);
    let differ = (flagged - sent.min(1.0)).abs() > SLACK;
    differ.then(|| {
        format!(
            "{} of the completions are flagged as copied, but {} of the bytes were",
            words::percent(flagged),
            words::percent(sent.min(1.0))
        )
    })
}

/// What was dropped before a device took it, where that is a part of the account: how many bytes left only when
/// they were sent again.
pub fn dropped(audit: &Audit) -> Option<String> {
    let (bytes, counts) = (audit.left_only_again(), audit.counts?);
    (bytes > 0).then(|| {
        format!(
            "{} dropped before the device took them, by a queueing discipline or a packet filter (`tc -s qdisc` counts \
             its drops): {bytes} bytes ({}) left only when they were sent again, and where they lay is not known",
            words::count(counts.dropped_segments as usize, "segment") + if counts.dropped_segments == 1 { " was" } else { " were" },
            words::percent(audit.per_byte(bytes)),
        )
    })
}

/// What is to be known of an audit that was tried more than once.
pub fn counted_again(audit: &Audit) -> Option<String> {
    let rounds = audit.incomplete_rounds;
    if rounds == 0 || audit.balanced() == Some(false) {
        return None;
    }
    Some(format!(
        "{} before this one did not account for every byte and went unused: seen where other work runs beside",
        count(rounds as usize, "round")
    ))
}

/// That it was disturbed, however often it was tried.
pub fn disturbed(audit: &Audit) -> Option<String> {
    (!audit.marks.is_empty()).then(|| {
        format!(
            "its round was disturbed each time that it was tried ({}): bytes are counted right all the same; who paid for \
             CPU time is not told",
            and(&audit.marks)
        )
    })
}

/// What the ledger of an audit cannot explain, where that is more than it may be.
pub fn imbalance(audit: &Audit) -> Option<String> {
    if audit.balanced()? {
        return None;
    }
    let Balance { sent, delivered, readings } = audit.balance()?;
    let differ = match readings {
        0 => String::new(),
        bytes => {
            format!(", and two readings of the same copies differ by {bytes:+}, functions less tracepoints")
        }
    };
    Some(format!(
        "of {} bytes, {sent} sent and {delivered} delivered are unexplained{differ} ({:+.2} %)",
        audit.delivered_bytes,
        audit.unexplained()? * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::audit;
    use syscost_measure::ledger::{Counts, Functions};

    const LENT: Counts = Counts {
        copied_in: 0,
        uncopied_in: 1000,
        orphan_copied: 0,
        copied_out: 1000,
        decrypted_out: 0,
        retransmitted: 0,
        device_fetched: 0,
        dropped: 0,
        dropped_segments: 0,
    };
    const COPIED: Counts = Counts { copied_in: 1000, uncopied_in: 0, ..LENT };

    /// Of a way that waits for completions, all of them flagged.
    fn asked(counts: Counts) -> Audit {
        audit("msg_zerocopy", Some(counts), (8, 8))
    }

    fn said(audit: &Audit) -> (Option<bool>, String) {
        let claim = claim(audit).expect("something is claimed");
        (claim.kept, claim.text)
    }

    #[test]
    fn what_a_name_promises_is_held_against_the_bytes() {
        let orphaned = Counts { orphan_copied: 1000, ..LENT };
        let broken = |text: &str| (Some(false), text.to_string());
        assert_eq!(said(&asked(orphaned)), broken("zero-copy asked, copied once by the orphan copy"));
        assert_eq!(said(&asked(COPIED)), broken("zero-copy asked, copied once into the kernel"));
        let mixed = Counts { copied_in: 400, uncopied_in: 600, orphan_copied: 600, ..LENT };
        let text = "zero-copy asked, copied 0.4 times into the kernel and 0.6 times by the orphan copy";
        assert_eq!(said(&asked(mixed)), broken(text));
        let again = Counts { orphan_copied: 1170, retransmitted: 170, ..LENT };
        let text = "zero-copy asked, copied 1.17 times by the orphan copy, as 17 % was sent again";
        assert_eq!(said(&asked(again)), broken(text));
        let kept = said(&asked(LENT));
        assert_eq!(kept, (Some(true), "zero-copy: nothing was copied up to the receiver's socket".into()));
    }

    #[test]
    fn names_that_ask_for_copies_are_told_where_there_are_more() {
        let plain = audit("sendmsg", Some(COPIED), (0, 0));
        assert_eq!(claim(&plain), None, "one copy was promised");
        let gathered = said(&Audit { user_copied: 1000, ..plain });
        assert_eq!(gathered.1, "one-copy, copied once in user space and once into the kernel");
        let packed = Audit { user_copied: 1000, ..audit("pack_send", Some(COPIED), (0, 0)) };
        assert_eq!(claim(&packed), None, "two copies were promised");
    }

    #[test]
    fn nothing_is_claimed_of_what_was_not_counted_or_does_not_add_up() {
        let untold = audit("msg_zerocopy", None, (8, 8));
        assert_eq!(said(&untold), (None, "zero-copy asked, copies not verified".into()));
        assert_eq!(claim(&audit("sendmsg", None, (0, 0))), None);
        let hole = asked(Counts { uncopied_in: 900, ..LENT });
        assert_eq!(
            said(&hole),
            (None, "zero-copy asked, but the count of its copies does not add up".into())
        );
    }

    #[test]
    fn the_flag_is_held_against_the_count() {
        let lie = contradiction(&asked(LENT)).expect("flagged and not copied");
        assert!(lie.contains("100 % of the completions are flagged as copied, but 0 %"));
        assert_eq!(contradiction(&asked(Counts { orphan_copied: 1003, ..LENT })), None);
        let half = Audit { completions: 100, completions_copied: 52, ..asked(COPIED) };
        assert!(contradiction(&half).is_some(), "every byte was copied");
    }

    #[test]
    fn segments_that_a_queue_dropped_are_named_and_no_imbalance() {
        assert_eq!(dropped(&asked(LENT)), None);
        let counts = Counts { uncopied_in: 980, retransmitted: 30, dropped: 30, dropped_segments: 2, ..LENT };
        let lost = asked(counts);
        assert_eq!(imbalance(&lost), None);
        let said = dropped(&lost).unwrap();
        assert!(
            said.starts_with("2 segments were dropped before the device") && said.contains("20 bytes (2 %)"),
            "{said}"
        );
    }

    #[test]
    fn an_imbalance_is_told_in_bytes() {
        assert_eq!(imbalance(&asked(LENT)), None);
        let wrong = asked(Counts { copied_out: 990, ..LENT });
        assert_eq!(
            imbalance(&wrong).unwrap(),
            "of 1000 bytes, 0 sent and 10 delivered are unexplained (+1.00 %)"
        );
        let functions = Functions { sent: 1000, sent_uncopied: 995, received: 1000, ..Functions::default() };
        let differ = Audit { functions: Some(functions), ..asked(LENT) };
        assert_eq!(
            imbalance(&differ).unwrap(),
            "of 1000 bytes, 0 sent and 0 delivered are unexplained, and two readings of the same copies \
             differ by +5, functions less tracepoints (+0.50 %)"
        );
        assert_eq!(said(&differ).0, None, "two readings that differ prove nothing");
    }
}
