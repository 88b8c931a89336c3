//! What a table's own figures contradict or cannot support: one file each, one visible list.
//!
//! A remark names the lines it stands on. It takes the printed rounding into account, and it never says
//! that one figure of a single run is better than another.

use super::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use serde::Serialize;
use std::collections::BTreeMap;

mod cliffs;
mod derived_latency;
mod impossible;
mod predictions;
mod replicates;
mod scaling;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

type TableLook = fn(&PublishedTable) -> Vec<Remark>;

/// Every look at a table, in the order of what it says.
// One a line, whatever fits: two changes that add one each then meet without a conflict.
#[rustfmt::skip]
pub static ALL: &[TableLook] = &[
    derived_latency::look,
    impossible::look,
    predictions::look,
    replicates::look,
    cliffs::look,
    scaling::look,
];

/// Everything that is to be said about a table.
pub fn remarks(table: &PublishedTable) -> Vec<Remark> {
    ALL.iter().flat_map(|look| look(table)).collect()
}

/// A place on a line, its row, and the figure there.
pub(super) type LineEnd<'t> = (u64, &'t PublishedRow, PublishedFigure);

/// Rows that have a figure and differ in one coordinate, by that one ascending: lines through the table, by their
/// mechanism and the coordinate that is fixed. A coordinate given twice (repetitions) stands once, by its first row.
pub(super) fn lines(
    table: &PublishedTable,
    along: TableColumn,
    metric: TableColumn,
) -> BTreeMap<(&str, Option<u64>), BTreeMap<u64, LineEnd<'_>>> {
    let other =
        if along == TableColumn::MessageBytes { TableColumn::Threads } else { TableColumn::MessageBytes };
    let mut lines: BTreeMap<_, BTreeMap<u64, LineEnd>> = BTreeMap::new();
    for row in &table.rows {
        let (Some(at), Some(figure)) = (row.count(along), row.figure(metric)) else { continue };
        let key = (row.text(TableColumn::Mechanism).unwrap_or_default(), row.count(other));
        lines.entry(key).or_default().entry(at).or_insert((at, row, figure));
    }
    lines
}

/// Neighbours on a line of throughputs, with the name of their line and what comes after them.
fn neighbours(
    table: &PublishedTable,
    along: TableColumn,
) -> Vec<(String, LineEnd<'_>, LineEnd<'_>, Option<LineEnd<'_>>)> {
    let mut found = Vec::new();
    for ((mechanism, fixed), line) in lines(table, along, TableColumn::Throughput) {
        let name = match (fixed, along) {
            (None, _) => mechanism.to_string(),
            (Some(n), TableColumn::MessageBytes) => format!("{mechanism} with {}", threads(n)),
            (Some(n), _) => format!("{mechanism} at {}", size(n)),
        };
        let line: Vec<LineEnd> = line.into_values().collect();
        let pairs = line.windows(2).enumerate();
        found.extend(pairs.map(|(i, pair)| (name.clone(), pair[0], pair[1], line.get(i + 2).copied())));
    }
    found
}

pub(super) fn size(bytes: u64) -> String {
    syscost_core::units::Unit::Bytes.format(bytes as f64)
}

pub(super) fn threads(count: u64) -> String {
    syscost_core::units::count(count as usize, "thread")
}

/// `sendmsg at 64 KiB with 4 threads`
fn place(row: &PublishedRow) -> String {
    let mechanism =
        row.text(TableColumn::Mechanism).or_else(|| row.text(TableColumn::Operation)).unwrap_or("a row");
    let variant = row.text(TableColumn::Variant).filter(|v| !v.is_empty()).map(|v| format!(" ({v})"));
    let size = row.count(TableColumn::MessageBytes).map(|n| format!(" at {}", size(n)));
    let threads = row.count(TableColumn::Threads).map(|n| format!(" with {}", threads(n)));
    [Some(mechanism.to_string()), variant, size, threads].into_iter().flatten().collect()
}

#[cfg(test)]
pub(super) fn table(text: &str) -> PublishedTable {
    super::read("t.csv", text, &super::ColumnMapping::default()).unwrap_or_else(|e| panic!("{e}"))
}
