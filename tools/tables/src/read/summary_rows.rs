//! Rows that sum up others: averages, totals, the best of all.

use super::heading::TableHeading;
use crate::vocabulary::bare;
use crate::{PublishedRow, TableColumn};

/// What they are called.
pub const SUMMARIES: &[&str] = &[
    "average", "avg", "mean", "total", "sum", "max", "min", "stddev", "std dev", "overall", "best", "worst",
    "median", "geomean",
];
const MARKS: [char; 8] = [' ', ':', '_', '-', '(', ')', '[', ']'];

/// Does a row's cell say that it sums up others? `known`: is it a name of a row above?
pub fn sums_up(at: usize, heading: &TableHeading, cell: &str, known: impl Fn(&str) -> bool) -> bool {
    let place = heading.is_plain() && heading.column.is_some_and(TableColumn::is_place);
    let name = at == 0 || heading.is_plain() && heading.column == Some(TableColumn::Mechanism);
    (at == 0 || place) && is_summary(cell) || name && is_of_name(cell, known)
}

/// `A1` begins `A1: read/write`.
pub fn begins(rows: &[PublishedRow], name: &str) -> bool {
    let names = rows.iter().filter_map(|row| row.text(TableColumn::Mechanism));
    let mut rests = names.filter_map(|known| known.strip_prefix(name));
    !name.is_empty() && rests.any(|rest| rest.starts_with(MARKS))
}

fn is_summary(word: &str) -> bool {
    SUMMARIES.iter().any(|known| bare(known) == bare(word))
}

/// `Average A1`, `Best: A3`, `A1 (mean)`: the summary of a name that stands above without the word.
fn is_of_name(cell: &str, known: impl Fn(&str) -> bool) -> bool {
    let cell = cell.trim_matches(MARKS);
    let first = cell.split_once(MARKS);
    let last = cell.rsplit_once(MARKS).map(|(name, word)| (word, name));
    let name = |text: &str| {
        let name = text.trim_matches(MARKS);
        known(name.strip_prefix("of ").unwrap_or(name))
    };
    first.into_iter().chain(last).any(|(word, rest)| is_summary(word) && name(rest))
}
