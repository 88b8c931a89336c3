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

/// A place on a line, its row, and the throughput there.
type LineEnd<'t> = (u64, &'t PublishedRow, PublishedFigure);

/// Rows with the same coordinates but one, by that one ascending: lines through the table. A coordinate
/// given twice (repetitions) stands once, by its first row.
fn lines(table: &PublishedTable, along: TableColumn) -> Vec<(String, Vec<(u64, &PublishedRow)>)> {
    let other =
        if along == TableColumn::MessageBytes { TableColumn::Threads } else { TableColumn::MessageBytes };
    let mut lines: BTreeMap<(String, Option<u64>), BTreeMap<u64, &PublishedRow>> = BTreeMap::new();
    for row in &table.rows {
        let Some(at) = row.count(along) else { continue };
        let key = (row.text(TableColumn::Mechanism).unwrap_or_default().to_string(), row.count(other));
        lines.entry(key).or_default().entry(at).or_insert(row);
    }
    let name = |(mechanism, fixed): (String, Option<u64>)| match (fixed, along) {
        (None, _) => mechanism,
        (Some(n), TableColumn::MessageBytes) => format!("{mechanism} with {}", threads(n)),
        (Some(n), _) => format!("{mechanism} at {}", size(n)),
    };
    lines.into_iter().map(|(key, line)| (name(key), line.into_iter().collect())).collect()
}

/// Neighbours on such a line that both have a throughput, with the name of their line and what comes after them.
fn neighbours<'t>(
    table: &'t PublishedTable,
    along: TableColumn,
) -> Vec<(String, LineEnd<'t>, LineEnd<'t>, Option<LineEnd<'t>>)> {
    let known = |(at, row): &(u64, &'t PublishedRow)| Some((*at, *row, row.figure(TableColumn::Throughput)?));
    let of_line = |(name, line): (String, Vec<(u64, &'t PublishedRow)>)| {
        let line: Vec<LineEnd> = line.iter().filter_map(known).collect();
        let pair = |i: usize| (name.clone(), line[i], line[i + 1], line.get(i + 2).copied());
        (0..line.len().saturating_sub(1)).map(pair).collect::<Vec<_>>()
    };
    lines(table, along).into_iter().flat_map(of_line).collect()
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
