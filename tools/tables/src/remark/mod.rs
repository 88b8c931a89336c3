//! What a table's own figures contradict or cannot support: one file each, one visible list.
//!
//! A remark names the lines it stands on. It takes the printed rounding into account, and it never says
//! that one figure of a single run is better than another.

pub(super) use flat::band as flat_band;
pub(super) use replicates::{FEWEST_RUNS, runs};
pub(super) use totals::contradicted;

use super::{PublishedRow, PublishedTable, TableColumn, TableColumn::*, grouped};
use serde::Serialize;
use std::collections::BTreeMap;
use syscost_core::units::Unit as CoreUnit;
use syscost_report::text::words::capital;

mod derived_latency;
mod flat;
mod formula;
mod impossible;
mod predictions;
mod replicates;
mod same;
mod steps;
mod totals;
mod zeros;

/// What scatters from run to run: no two count the same.
pub(super) const COUNTERS: [TableColumn; 6] =
    [Cycles, Instructions, CacheMisses, LlcMisses, L1Misses, ContextSwitches];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// The figures cannot all be what they are called.
    Contradiction,
    /// What the figures cannot support.
    Caution,
    /// Something that a reader would want explained.
    Unexpected,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remark {
    pub id: &'static str,
    pub kind: RemarkKind,
    pub text: String,
    /// Lines of the file.
    pub lines: Vec<usize>,
}

impl Remark {
    /// Of the lines that show it; without one there is nothing to say.
    fn of(kind: RemarkKind, id: &'static str, text: String, lines: Vec<usize>) -> Option<Remark> {
        (!lines.is_empty()).then_some(Remark { id, kind, text, lines })
    }

    /// What it says, without advice and detail: its first sentence.
    pub fn claim(&self) -> &str {
        let end = self.text.match_indices(". ").find(|(at, _)| !self.text[..*at].ends_with('.'));
        end.map_or(&self.text, |(at, _)| &self.text[..=at])
    }
}

type TableLook = fn(&PublishedTable) -> Vec<Remark>;

/// Every look at a table, in the order of what it says.
// One a line, whatever fits: two changes that add one each then meet without a conflict.
#[rustfmt::skip]
pub static ALL: &[TableLook] = &[
    derived_latency::look,
    formula::look,
    impossible::look,
    predictions::look,
    replicates::look,
    steps::cliffs,
    flat::look,
    steps::scaling,
    totals::look,
    same::look,
    zeros::look,
];

/// Everything that is to be said about a table, contradictions first.
pub fn remarks(table: &PublishedTable) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = ALL.iter().flat_map(|look| look(table)).collect();
    let differ = table.differ.iter().cloned();
    let kind = RemarkKind::Contradiction;
    remarks.extend(differ.map(|text| Remark { id: "two_figures", kind, text, lines: Vec::new() }));
    remarks.sort_by_key(|remark| remark.kind);
    remarks
}

/// A number is no name to read: `mechanism 2`.
fn called(mechanism: &str) -> String {
    match mechanism {
        "" => "it".into(),
        number if number.bytes().all(|b| b.is_ascii_digit()) => format!("mechanism {number}"),
        name => name.into(),
    }
}

/// The rows of each name.
fn by_name(table: &PublishedTable) -> BTreeMap<&str, Vec<&PublishedRow>> {
    grouped(table.rows.iter().filter_map(|row| Some((row.text(Mechanism)?, row))))
}

/// Least and most of figures.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

/// Examples that a remark shows; the others are counted.
const SHOWN: usize = 3;

/// `a; b; c; and 5 more`
fn shown(examples: impl ExactSizeIterator<Item = String>) -> String {
    let more = examples.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("and {more} more"));
    examples.take(SHOWN).chain(more).collect::<Vec<_>>().join("; ")
}

pub(super) fn size(bytes: u64) -> String {
    CoreUnit::Bytes.format(bytes as f64)
}

fn rate(bits: f64) -> String {
    CoreUnit::BitsPerSecond.format(bits)
}

/// `sendmsg at 64 KiB with 4 threads`
fn place(table: &PublishedTable, row: &PublishedRow) -> String {
    let name = row.text(Mechanism).or_else(|| row.text(Operation));
    let mechanism = name.map_or_else(|| "a row".into(), called);
    let variant = row.text(Variant).filter(|v| !v.is_empty()).map(|v| format!(" ({v})"));
    let size = row.count(MessageBytes).map(|n| format!(" at {}", size(n)));
    let threads = row.count(Threads).map(|n| format!(" with {}", table.threads(n)));
    [Some(mechanism), variant, size, threads].into_iter().flatten().collect()
}

#[cfg(test)]
pub(super) fn table(text: &str) -> PublishedTable {
    super::read("t.csv", text, &super::ReadingOptions::default()).remove(0).unwrap_or_else(|e| panic!("{e}"))
}
