//! Copies of a way, and of one beside another, in words.

use crate::Statement;
use crate::text::words::{and, count, grouped, percent};
use syscost_analyze::copies::{self, Claim, ClaimCount, CopyPlace};
use syscost_analyze::finding::Shown;
use syscost_analyze::finding::beside::{CopiesBeside, CopyChange};
use syscost_core::units::significant;
use syscost_experiment::run::Audit;
use syscost_experiment::run::audit::Balance;
use syscost_measure::mechanism::Class;

/// Ways that are named of many.
const NAMES: usize = 3;

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

/// `over veth (receiver recv)`; nothing without a path.
fn over(CopiesBeside { path, receiver, .. }: &CopiesBeside) -> String {
    let receiver = receiver.as_ref().map_or(String::new(), |receiver| format!(" (receiver {receiver})"));
    if path.is_empty() { receiver } else { format!(" over {path}{receiver}") }
}

/// The copies of a way, and what the run shows of them.
type ShownCopies<'a> = (&'a CopiesBeside, &'a Shown);

/// A sentence for all ways that change the same copies.
pub fn statements<'a>(found: impl Iterator<Item = ShownCopies<'a>>) -> Vec<Statement> {
    let groups = grouped(found.map(|one| (key(one.0), one)));
    let statement = |(at, (_, ways)): (usize, &(CopiesKey, Vec<ShownCopies<'_>>))| {
        // Settings of a way are named where the same mechanism copies otherwise with others.
        let elsewhere = |name: &str| {
            let others = groups.iter().enumerate().filter(|(other, _)| *other != at);
            others.flat_map(|(_, (_, ways))| ways).any(|(other, _)| plain(&other.ours) == plain(name))
        };
        let name = |name: &String| if elsewhere(name) { name.clone() } else { plain(name).to_string() };
        let names = grouped(ways.iter().map(|(copies, _)| (name(&copies.ours), ())));
        let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        let cells = ways.iter().flat_map(|(_, shown)| shown.cells.iter().cloned()).collect();
        Statement { text: sentence(ways[0].0, &names), cells }
    };
    groups.iter().enumerate().map(statement).collect()
}

/// Without what stands in brackets: `sendmsg (receiver recv)`.
fn plain(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name)
}

/// What a sentence says of a way: against whom, where, copies in all and each that changes.
type CopiesKey = (String, String, [String; 2], Vec<(CopyPlace, String, String)>);

fn key(copies: &CopiesBeside) -> CopiesKey {
    let changed = copies.changed.iter().map(|c| (c.place, figure(c.ours), figure(c.theirs)));
    let totals = [copies.ours_in_all, copies.theirs_in_all].map(figure);
    (plain(&copies.theirs).to_string(), over(copies), totals, changed.collect())
}

/// `Scatter-gather saves the copy in user space over veth: 2 copies a byte instead of 3.`
pub fn headline(subject: &str, copies: &CopiesBeside) -> String {
    let (our, their) = (figure(copies.ours_in_all), figure(copies.theirs_in_all));
    let instead = if our == their { "as before".into() } else { format!("instead of {their}") };
    let copy = if our == "1" { "copy" } else { "copies" };
    format!("{subject} {}{}: {our} {copy} a byte {instead}.", change(copies, true), over(copies))
}

/// `saves the copy in user space`, of one; `save ..`, of several.
fn change(copies: &CopiesBeside, one: bool) -> String {
    let names = |which: fn(&CopyChange) -> bool| {
        let those = copies.changed.iter().filter(|change| which(change));
        those.map(|change| place(change.place).to_string()).collect::<Vec<_>>()
    };
    let (saved, added) = (names(|c| c.ours < c.theirs), names(|c| c.ours > c.theirs));
    let s = if one { "s" } else { "" };
    match (saved.as_slice(), added.as_slice()) {
        ([], []) if one => "copies as often".to_string(),
        ([], []) => "copy as often".to_string(),
        (saved, []) => format!("save{s} {}", and(saved)),
        ([], added) => format!("add{s} {}", and(added)),
        (saved, added) => format!("save{s} {} and add{s} {}", and(saved), and(added)),
    }
}

/// `sendmsg over veth saves the copy in user space. It makes 2 copies a byte instead of 3 with pack_send.`
fn sentence(copies: &CopiesBeside, ours: &[String]) -> String {
    let one = ours.len() == 1;
    let (our, their) = (figure(copies.ours_in_all), figure(copies.theirs_in_all));
    let theirs = plain(&copies.theirs);
    let copy = if our == "1" { "copy" } else { "copies" };
    let totals = if our == their {
        format!("{our} {copy} a byte, as with {theirs}")
    } else {
        format!("{our} {copy} a byte instead of {their} with {theirs}")
    };
    let makes = if one { "It makes" } else { "They make" };
    format!("{}{} {}. {makes} {totals}.", several(ours), over(copies), change(copies, one))
}

/// `sendmsg, writev and 3 more`
pub fn several(names: &[String]) -> String {
    let mut told: Vec<String> = names.iter().take(NAMES).cloned().collect();
    if names.len() > NAMES {
        told.push(format!("{} more", names.len() - NAMES));
    }
    and(&told)
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
    use syscost_analyze::finding::Says;
    use syscost_analyze::finding::zero_copy::ZeroCopyChange;

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

    /// Six of ten receivers of the run had one copy less.
    #[test]
    fn a_receiver_is_named_where_the_run_has_several() {
        let copies = |receiver: Option<&str>| CopiesBeside {
            ours: "msg_zerocopy (receiver recv)".into(),
            theirs: "sendmsg (receiver recv)".into(),
            path: "veth".into(),
            receiver: receiver.map(str::to_string),
            changed: vec![CopyChange { place: CopyPlace::IntoKernel, ours: 0.0, theirs: 1.0 }],
            ours_in_all: 1.0,
            theirs_in_all: 2.0,
        };
        let of_one =
            "Zero-copy saves the copy into the kernel over veth (receiver recv): 1 copy a byte instead of 2.";
        assert_eq!(headline("Zero-copy", &copies(Some("recv"))), of_one);
        let shown = Shown::of(Says::ZeroCopy(ZeroCopyChange::Copies(copies(None))), Vec::new());
        let told = |receivers: [Option<&str>; 2]| {
            let found = receivers.map(&copies);
            statements(found.iter().map(|copies| (copies, &shown))).len()
        };
        assert_eq!((told([Some("recv"), Some("recv_trunc")]), told([None, None])), (2, 1));
    }
}
