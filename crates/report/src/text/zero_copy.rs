//! What did zero-copy remove, and what did it add?

use super::copies;
use crate::Statement;
use crate::text::words::{and, grouped};
use syscost_analyze::finding::zero_copy::{AddedCount, ZeroCopyChange};
use syscost_analyze::finding::{Says, Shown};
use syscost_core::units::significant;

pub fn headline(change: &ZeroCopyChange) -> String {
    match change {
        ZeroCopyChange::Copies(copies) => copies::headline("Zero-copy", copies),
        ZeroCopyChange::PerMessage { theirs, added, .. } => {
            let added: Vec<String> = added.iter().map(|added| noun(added, true).to_string()).collect();
            format!("Zero-copy adds {} to each message, against {theirs}.", and(&added))
        }
    }
}

/// Ways that save or add the same are one sentence.
pub fn statements(all: &[Shown]) -> Vec<Statement> {
    let copying = all.iter().filter_map(|shown| match &shown.says {
        Says::ZeroCopy(ZeroCopyChange::Copies(copies)) => Some((copies, shown)),
        _ => None,
    });
    let mut told = copies::statements(copying);
    let groups = grouped(all.iter().filter_map(|shown| match &shown.says {
        Says::ZeroCopy(ZeroCopyChange::PerMessage { ours, theirs, added }) => {
            let metrics: Vec<&str> = added.iter().map(|added| added.metric).collect();
            Some(((theirs, metrics), (ours.clone(), added, &shown.cells)))
        }
        _ => None,
    }));
    told.extend(groups.into_iter().map(|((theirs, _), ways)| {
        let mut added = ways[0].1.clone();
        for (known, new) in ways.iter().flat_map(|(_, other, _)| (0..).zip(*other)) {
            added[known].ours = joined(added[known].ours, new.ours);
            added[known].theirs = joined(added[known].theirs, new.theirs);
        }
        let counts: Vec<String> = added.iter().map(count).collect();
        let add = if ways.len() == 1 { "adds" } else { "add" };
        let names: Vec<String> = ways.iter().map(|(name, ..)| name.clone()).collect();
        let names = copies::several(&names);
        let text = format!("{names} {add} to each message, against {theirs}: {}.", and(&counts));
        Statement { text, cells: ways.iter().flat_map(|(.., cells)| cells.iter().cloned()).collect() }
    }));
    told
}

fn joined(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// `1.24 to 1.35 system calls instead of 1`
fn count(added: &AddedCount) -> String {
    let ours = range(added.ours);
    format!("{ours} {} instead of {}", noun(added, ours != "1"), range(added.theirs))
}

fn noun(added: &AddedCount, several: bool) -> &'static str {
    let (one, more) = match added.metric {
        "completions_per_message" => ("completion", "completions"),
        "sender_system_calls_per_message" => ("system call", "system calls"),
        "sender_voluntary_switches_per_message" => ("sleep of the sender", "sleeps of the sender"),
        _ => ("ENOBUFS refusal", "ENOBUFS refusals"),
    };
    if several { more } else { one }
}

/// `1`, `1.24 to 1.35`, `none`
fn range((smallest, largest): (f64, f64)) -> String {
    let (low, high) = (significant(smallest), significant(largest));
    match low == high {
        true if largest == 0.0 => "none".into(),
        true => low,
        false => format!("{low} to {high}"),
    }
}
