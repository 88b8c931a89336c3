//! What a table's own figures contradict or cannot support: one file each, one visible list.
//!
//! A remark names the lines it stands on. It takes the printed rounding into account, and it never says
//! that one figure of a single run is better than another.

pub(super) use flat::band as flat_band;
pub(super) use replicates::{FEWEST_RUNS, runs};
pub(super) use totals::contradicted;

use super::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use serde::Serialize;
use std::collections::BTreeMap;

mod cliffs;
mod derived_latency;
mod flat;
mod formula;
mod impossible;
mod predictions;
mod replicates;
mod same;
mod scaling;
mod totals;
mod zeros;

/// What scatters from run to run: no two count the same.
pub(super) const COUNTERS: [TableColumn; 6] = [
    TableColumn::Cycles,
    TableColumn::Instructions,
    TableColumn::CacheMisses,
    TableColumn::LlcMisses,
    TableColumn::L1Misses,
    TableColumn::ContextSwitches,
];

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
    cliffs::look,
    flat::look,
    scaling::look,
    totals::look,
    same::look,
    zeros::look,
];

/// Everything that is to be said about a table, contradictions first.
pub fn remarks(table: &PublishedTable) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = ALL.iter().flat_map(|look| look(table)).collect();
    remarks.extend(table.differ.iter().map(|text| Remark {
        id: "two_figures",
        kind: RemarkKind::Contradiction,
        text: text.clone(),
        lines: Vec::new(),
    }));
    remarks.sort_by_key(|remark| remark.kind);
    remarks
}

/// A place on a line, its row, and the figure there.
pub(super) type LineEnd<'t> = (u64, &'t PublishedRow, PublishedFigure);

/// What the rows of a line share: mechanism, variant, and the coordinate that is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LineKey<'t> {
    pub mechanism: &'t str,
    pub variant: &'t str,
    pub fixed: Option<u64>,
}

/// Rows that have a figure and differ in one coordinate, by that one ascending: lines through the table.
/// A coordinate given more than once (repetitions) stands once, by the median; of an even number the row is the lower
/// of the two in the middle.
pub(super) fn lines(
    table: &PublishedTable,
    along: TableColumn,
    metric: TableColumn,
) -> BTreeMap<LineKey<'_>, BTreeMap<u64, LineEnd<'_>>> {
    let other =
        if along == TableColumn::MessageBytes { TableColumn::Threads } else { TableColumn::MessageBytes };
    let mut all: BTreeMap<LineKey, BTreeMap<u64, Vec<LineEnd>>> = BTreeMap::new();
    for row in &table.rows {
        // Of a table without sizes, one size that nobody says.
        let unsaid = (along == TableColumn::MessageBytes && !table.has(along)).then_some(0);
        let (Some(at), Some(figure)) = (row.count(along).or(unsaid), row.figure(metric)) else { continue };
        // Nothing was measured there.
        if figure.value <= 0.0 {
            continue;
        }
        let text = |column| row.text(column).unwrap_or_default();
        let key = LineKey {
            mechanism: text(TableColumn::Mechanism),
            variant: text(TableColumn::Variant),
            fixed: row.count(other),
        };
        all.entry(key).or_default().entry(at).or_default().push((at, row, figure));
    }
    let line = |line: BTreeMap<u64, Vec<_>>| {
        line.into_iter().filter(|(_, ends)| are_alike(ends)).map(|(at, ends)| (at, middle(ends))).collect()
    };
    all.into_iter().map(|(key, ends)| (key, line(ends))).collect()
}

/// Rows of one place that lie further apart are no repetitions of one measurement.
const APART: f64 = 3.0;

fn are_alike(ends: &[LineEnd]) -> bool {
    let values = ends.iter().map(|(.., figure)| figure.value);
    let (least, most) = values.fold((f64::MAX, 0.0f64), |(a, b), value| (a.min(value), b.max(value)));
    most <= APART * least
}

fn middle(mut ends: Vec<LineEnd>) -> LineEnd {
    ends.sort_by(|a, b| a.2.value.total_cmp(&b.2.value));
    let (lower, upper) = (ends[(ends.len() - 1) / 2], ends[ends.len() / 2]);
    let between = |of: fn(&PublishedFigure) -> f64| (of(&lower.2) + of(&upper.2)) / 2.0;
    let median = PublishedFigure { value: between(|f| f.value), rounding: between(|f| f.rounding) };
    (lower.0, lower.1, median)
}

/// Two neighbours on a line of throughputs.
struct TableStep<'t> {
    /// `sendmsg with 4 threads`
    line: String,
    from: LineEnd<'t>,
    to: LineEnd<'t>,
    next: Option<LineEnd<'t>>,
}

impl TableStep<'_> {
    fn lines(steps: &[TableStep]) -> Vec<usize> {
        let mut lines: Vec<usize> =
            steps.iter().flat_map(|step| [step.from.1.line, step.to.1.line]).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

fn steps(table: &PublishedTable, along: TableColumn) -> Vec<TableStep<'_>> {
    let mut found = Vec::new();
    for (key, line) in lines(table, along, TableColumn::Throughput) {
        let mechanism = called(key.mechanism);
        let name = match (key.fixed, along) {
            (None, _) => mechanism,
            (Some(n), TableColumn::MessageBytes) => format!("{mechanism} with {}", table.threads(n)),
            (Some(n), _) => format!("{mechanism} at {}", size(n)),
        };
        let name = if key.variant.is_empty() { name } else { format!("{name} ({})", key.variant) };
        let line: Vec<LineEnd> = line.into_values().collect();
        found.extend(line.windows(2).enumerate().map(|(i, pair)| TableStep {
            line: name.clone(),
            from: pair[0],
            to: pair[1],
            next: line.get(i + 2).copied(),
        }));
    }
    found
}

/// A number is no name to read: `mechanism 2`.
fn called(mechanism: &str) -> String {
    match mechanism {
        "" => "it".into(),
        number if number.bytes().all(|b| b.is_ascii_digit()) => format!("mechanism {number}"),
        name => name.into(),
    }
}

/// As a sentence begins.
fn capital(text: &str) -> String {
    format!("{}{}", text[..1].to_uppercase(), &text[1..])
}

/// The rows of each name.
fn by_name(table: &PublishedTable) -> BTreeMap<&str, Vec<&PublishedRow>> {
    let mut all: BTreeMap<&str, Vec<&PublishedRow>> = BTreeMap::new();
    for row in &table.rows {
        if let Some(name) = row.text(TableColumn::Mechanism) {
            all.entry(name).or_default().push(row);
        }
    }
    all
}

/// Examples that a remark shows; the others are counted.
const SHOWN: usize = 3;

/// `a; b; c; and 5 more`
fn shown(examples: impl ExactSizeIterator<Item = String>) -> String {
    let more = examples.len().saturating_sub(SHOWN);
    let mut told: Vec<String> = examples.take(SHOWN).collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join("; ")
}

pub(super) fn size(bytes: u64) -> String {
    syscost_core::units::Unit::Bytes.format(bytes as f64)
}

/// `sendmsg at 64 KiB with 4 threads`
fn place(table: &PublishedTable, row: &PublishedRow) -> String {
    let name = row.text(TableColumn::Mechanism).or_else(|| row.text(TableColumn::Operation));
    let mechanism = name.map_or_else(|| "a row".into(), called);
    let variant = row.text(TableColumn::Variant).filter(|v| !v.is_empty()).map(|v| format!(" ({v})"));
    let size = row.count(TableColumn::MessageBytes).map(|n| format!(" at {}", size(n)));
    let threads = row.count(TableColumn::Threads).map(|n| format!(" with {}", table.threads(n)));
    [Some(mechanism), variant, size, threads].into_iter().flatten().collect()
}

#[cfg(test)]
pub(super) fn table(text: &str) -> PublishedTable {
    super::read("t.csv", text, &super::ReadingOptions::default()).remove(0).unwrap_or_else(|e| panic!("{e}"))
}
