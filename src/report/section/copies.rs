//! Copies: how often each way to move data copied it, as counted, and what was only told.

use super::unless_empty;
use crate::analysis::copies;
use crate::ledger::Tier;
use crate::report::context::Layout;
use crate::report::material::Material;
use crate::report::{Block, Entry, Notice, Section, Table};
use crate::run::Audit;
use crate::units::Unit;

/// Columns after the names.
const COLUMNS: [&str; 9] = [
    "copied in user memory",
    "copied in",
    "copied inside the kernel",
    "copied out",
    "sent without a copy",
    "completions flagged copied",
    "known by",
    "balance",
    "what it was",
];

pub fn section(m: &Material) -> Option<Section> {
    let blocks = m.layouts.iter().filter_map(|layout| table(m, layout)).map(Block::Table);
    let mut blocks: Vec<Block> = blocks.collect();
    if !blocks.is_empty() {
        blocks.insert(0, Block::Text(METHOD.into()));
        blocks.extend(unverified(m).map(Block::Notice));
    }
    unless_empty("copies", "Copies", "Copies", blocks)
}

const METHOD: &str = "Bytes per byte of payload, counted in an untimed round of one case of each way to move data: \
    tier B in the kernel, where every segment's memory was looked at as it left and as it arrived; tier C only from \
    what an ordinary user is told. Copied inside the kernel: pages that the sender lent, and that had to be copied \
    because they arrived at a socket of the same machine. The balance is what the ledger cannot explain.";

fn table(m: &Material, layout: &Layout) -> Option<Table> {
    let probe = layout.probe;
    let audits: Vec<&Audit> = m.run.record.audits.iter().filter(|a| a.probe == probe.about().id).collect();
    if audits.is_empty() {
        return None;
    }
    // The mechanism always; what else varies among the audits.
    let axes = probe.axes().into_iter().enumerate().filter(|(position, axis)| {
        let first = audits[0].point.get(axis.id);
        *position == 0
            || audits
                .iter()
                .any(|audit| audit.point.get(axis.id) != first && audit.point.get(axis.id).is_some())
    });
    let axes: Vec<_> = axes.map(|(_, axis)| axis).collect();
    let columns = axes.iter().map(|axis| axis.title).chain(COLUMNS).map(String::from).collect();
    let row = |audit: &&Audit| {
        let shown =
            |axis: &crate::axis::Axis| audit.point.get(axis.id).map_or(String::new(), |v| axis.show(v));
        axes.iter().map(|axis| Entry::Text(shown(axis))).chain(figures(audit)).collect()
    };
    Some(Table {
        id: format!("copies-{}", probe.about().id),
        title: format!("Copies of {}", probe.about().title),
        columns,
        rows: audits.iter().map(row).collect(),
        shown_in: None,
        note: None,
    })
}

fn figures(audit: &Audit) -> [Entry; 9] {
    let per = |bytes: u64| Entry::Number(audit.per_byte(bytes), Unit::Ratio);
    let counted = |bytes: Option<u64>| bytes.map_or(Entry::Missing, per);
    let counts = audit.counts;
    [
        per(audit.user_copied),
        counted(counts.map(|c| c.copied_in)),
        counted(counts.map(|c| c.orphan_copied)),
        counted(counts.map(|c| c.copied_out)),
        counted(counts.map(|c| c.uncopied_in)),
        audit.flagged().map_or(Entry::Text(String::new()), |share| Entry::Share { share, signed: false }),
        Entry::Text(format!("tier {}", audit.tier.letter())),
        Entry::Text(balance(audit)),
        Entry::Text(copies::label(audit).unwrap_or_else(|| "not verified".into())),
    ]
}

fn balance(audit: &Audit) -> String {
    match audit.unexplained() {
        None => "not verified".into(),
        Some(0.0) => "exact".into(),
        Some(share) => format!("{:+.2} %", share * 100.0),
    }
}

/// Why nothing was counted, once.
fn unverified(m: &Material) -> Option<Notice> {
    let audit = m.run.record.audits.iter().find(|audit| audit.tier == Tier::Told)?;
    let why = audit.uncounted.as_ref()?;
    Some(Notice {
        title: "The kernel's copies were not counted".into(),
        text: format!(
            "{}. What is shown rests on completions and on the mechanisms' own count.",
            super::capital(&why.reason)
        ),
        remedy: why.remedy.clone(),
        cases: Vec::new(),
    })
}

/// A ledger that does not balance is an error of the tool or of its reading of this kernel: it is said
/// before any figure of it.
pub fn notices(m: &Material) -> Vec<Notice> {
    let audits = m.run.record.audits.iter();
    let wrong = audits.filter_map(|audit| Some((audit, copies::imbalance(audit)?)));
    wrong
        .map(|(audit, what)| Notice {
            title: "Error: the count of copies does not balance".into(),
            text: format!("{}: {what}. Nothing about its copies is claimed.", place(m, audit)),
            remedy: "syscost audit counts again; report it with the kernel's version if it stays".into(),
            cases: cases(m, audit),
        })
        .collect()
}

/// `msg_zerocopy, 64 KiB, veth`: the first axis, size and path.
fn place(m: &Material, audit: &Audit) -> String {
    let layout = m.layouts.iter().find(|l| l.probe.about().id == audit.probe);
    let axes = layout.map(|l| l.probe.axes()).unwrap_or_default();
    let named = axes.iter().enumerate().filter(|(position, axis)| {
        *position == 0 || ["receiver", "message_bytes", "path"].contains(&axis.id)
    });
    let values: Vec<String> =
        named.filter_map(|(_, axis)| audit.point.get(axis.id).map(|value| axis.show(value))).collect();
    values.join(", ")
}

fn cases(m: &Material, audit: &Audit) -> Vec<usize> {
    let plan = &m.run.record.plan;
    plan.cases.iter().filter(|c| c.probe == audit.probe && c.point == audit.point).map(|c| c.index).collect()
}
