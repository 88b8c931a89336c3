//! Copies of a way, and of one beside another, in words.

use crate::text::words::{and, count, percent};
use syscost_analyze::copies::{self, Claim, ClaimCount, CopyPlace};
use syscost_analyze::finding::beside::{CopiesBeside, CopyChange};
use syscost_core::units::significant;
use syscost_experiment::run::Audit;
use syscost_experiment::run::audit::Balance;
use syscost_measure::mechanism::Class;

fn place(place: CopyPlace) -> &'static str {
    match place {
        CopyPlace::UserSpace => "the copy in user space",
        CopyPlace::IntoKernel => "the copy into the kernel",
        CopyPlace::Orphan => "the orphan copy on arrival",
        CopyPlace::OutToReceiver => "the copy out to the receiver",
    }
}

/// Copies per byte: the table has every digit.
fn figure(copies: f64) -> String {
    significant((copies * 100.0).round() / 100.0)
}

/// `over veth`; nothing without a path.
fn over(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" over {path}") }
}

/// `sendmsg over veth saves the copy in user space. It makes 2 copies a byte instead of 3 with pack_send.`
pub fn sentence(copies: &CopiesBeside) -> String {
    let CopiesBeside { ours, theirs, path, .. } = copies;
    let names = |which: fn(&CopyChange) -> bool| {
        let those = copies.changed.iter().filter(|change| which(change));
        those.map(|change| place(change.place).to_string()).collect::<Vec<_>>()
    };
    let (saved, added) = (names(|c| c.ours < c.theirs), names(|c| c.ours > c.theirs));
    let change = match (saved.as_slice(), added.as_slice()) {
        ([], []) => "copies as often".to_string(),
        (saved, []) => format!("saves {}", and(saved)),
        ([], added) => format!("adds {}", and(added)),
        (saved, added) => format!("saves {} and adds {}", and(saved), and(added)),
    };
    let (our, their) = (figure(copies.ours_in_all), figure(copies.theirs_in_all));
    let totals = if our == their {
        format!("It makes {our} copies a byte, as does {theirs}")
    } else {
        let copies = if our == "1" { "copy" } else { "copies" };
        format!("It makes {our} {copies} a byte instead of {their} with {theirs}")
    };
    format!("{ours}{} {change}. {totals}.", over(path))
}

/// `zero-copy requested; copied once by the orphan copy`
pub fn claim(claim: &Claim) -> String {
    let requested = match claim.class {
        Class::ZeroCopy => "zero-copy requested",
        class => class.word(),
    };
    match &claim.counted {
        ClaimCount::No => format!("{requested}; copies not counted"),
        ClaimCount::Wrong => format!("{requested}; the count of copies does not add up"),
        ClaimCount::NothingCopied => "zero-copy: nothing was copied up to the receiver's socket".into(),
        ClaimCount::Copied { at, again } => {
            let where_ = |place: CopyPlace| match place {
                CopyPlace::UserSpace => "in user space",
                CopyPlace::IntoKernel => "into the kernel",
                CopyPlace::Orphan => "by the orphan copy",
                CopyPlace::OutToReceiver => "to the receiver",
            };
            let copied: Vec<String> =
                at.iter().map(|(place, copies)| format!("{} {}", times(*copies), where_(*place))).collect();
            let again =
                if *again > 0.0 { format!(" ({} was sent again)", percent(*again)) } else { String::new() };
            format!("{requested}; copied {}{again}", and(&copied))
        }
    }
}

/// `once`, `twice`, `0.4 times`
fn times(copies: f64) -> String {
    match figure(copies).as_str() {
        "1" => "once".into(),
        "2" => "twice".into(),
        n => format!("{n} times"),
    }
}

/// What an audit's ledger cannot explain, where that is more than it may be.
pub fn imbalance(audit: &Audit) -> Option<String> {
    let Balance { sent, delivered, readings } =
        audit.balance().filter(|_| audit.balanced() == Some(false))?;
    let share = audit.unexplained()? * 100.0;
    let differ = match readings {
        0 => String::new(),
        bytes => format!("; functions and tracepoints differ by {bytes:+}"),
    };
    let of = audit.delivered_bytes;
    Some(format!(
        "{sent} sent and {delivered} delivered of {of} bytes are unexplained ({share:+.2} %){differ}"
    ))
}

/// What a reader of an audit's counts must know.
pub fn notes(audit: &Audit) -> Vec<String> {
    let lost = audit.left_only_again();
    let dropped = audit.counts.filter(|_| lost > 0).map(|counts| {
        format!(
            "a queue or packet filter dropped {}: {} of the bytes left only when sent again (`tc -s qdisc` counts drops)",
            count(counts.dropped_segments as usize, "segment"),
            percent(audit.per_byte(lost)),
        )
    });
    let disturbed = (!audit.marks.is_empty()).then(|| {
        format!(
            "every try was disturbed ({}): bytes are exact, who paid for CPU time is unknown",
            and(&audit.marks)
        )
    });
    dropped.into_iter().chain(disturbed).collect()
}

/// The same, and what matters where copies are counted for themselves.
pub fn all_notes(audit: &Audit) -> Vec<String> {
    let against = copies::contradiction(audit).map(|(flagged, copied)| {
        format!(
            "{} of completions are flagged as copied; {} of bytes were",
            percent(flagged),
            percent(copied)
        )
    });
    let rounds =
        Some(audit.incomplete_rounds).filter(|rounds| *rounds > 0 && audit.balanced() != Some(false));
    let again =
        rounds.map(|n| format!("{} missed bytes and went unused", count(n as usize, "earlier round")));
    against.into_iter().chain(notes(audit)).chain(again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_says_what_was_requested_and_what_the_kernel_did() {
        let said = |class, at: &[(CopyPlace, f64)], again| {
            claim(&Claim { class, counted: ClaimCount::Copied { at: at.to_vec(), again } })
        };
        let orphan = said(Class::ZeroCopy, &[(CopyPlace::Orphan, 1.17)], 0.17);
        assert_eq!(orphan, "zero-copy requested; copied 1.17 times by the orphan copy (17 % was sent again)");
        let gathered = [(CopyPlace::UserSpace, 1.0), (CopyPlace::IntoKernel, 1.003)];
        let gathered = said(Class::OneCopy, &gathered, 0.0);
        assert_eq!(gathered, "one-copy; copied once in user space and once into the kernel");
    }
}
