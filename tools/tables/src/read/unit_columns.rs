//! `read (GB/s), write (GB/s)` and nothing else: each column is an operation, and each row a run of all of them.

use super::heading::{TableHeading, cut_unit};
use super::layout::TableRecord;
use super::rows::SUMMARIES;
use crate::unit::{self, DecimalMark, Dimension};
use crate::{ColumnMapping, TableColumn};
use std::collections::BTreeSet;

/// Rows become one for each column.
pub fn taken_apart(
    all: &mut Vec<TableRecord>,
    at: usize,
    decimal: DecimalMark,
    mapping: &ColumnMapping,
) -> bool {
    let headings = all[at].cells.clone();
    let names: Option<Vec<_>> = headings.iter().map(|text| named(text, mapping)).collect();
    let Some(names) = names.filter(|names| names.len() > 1) else { return false };
    let (names, columns): (Vec<&str>, Vec<Option<TableColumn>>) = names.into_iter().unzip();
    // One quantity for each column is a table of one case.
    let known: Vec<TableColumn> = columns.iter().flatten().copied().collect();
    if known.len() == names.len() && known.iter().collect::<BTreeSet<_>>().len() == names.len() {
        return false;
    }
    let figures = |record: &&TableRecord| {
        record.cells.len() == names.len()
            && record
                .cells
                .iter()
                .all(|cell| unit::number(cell, decimal).is_some_and(|(.., unit)| unit.is_none()))
    };
    let many = all[at + 1..].iter().take_while(figures).count();
    if many == 0 {
        return false;
    }
    let rows: Vec<TableRecord> = all.drain(at + 1..at + 1 + many).collect();
    let units = headings.iter().zip(&names).map(|(text, name)| text.trim()[name.len()..].trim());
    let units: Vec<&str> = units.map(|unit| unit.trim_matches(['(', ')', '[', ']'])).collect();
    let apart = rows.iter().flat_map(|TableRecord { line, cells }| {
        let cell = |at: usize| vec![names[at].to_string(), format!("{} {}", cells[at], units[at])];
        (0..names.len()).map(move |at| TableRecord { line: *line, cells: cell(at) })
    });
    let apart: Vec<TableRecord> = apart.collect();
    all[at].cells = vec!["operation".into(), "measured".into()];
    // `Median: 10.8, 9.8`: no run.
    for record in &mut all[at + 1..] {
        let word = record.cells.first().and_then(|cell| cell.split([':', ' ']).next()).unwrap_or_default();
        if SUMMARIES.contains(&word.to_ascii_lowercase().as_str()) {
            record.cells = vec![word.to_string(), String::new()];
        }
    }
    all.splice(at + 1..at + 1, apart);
    true
}

/// A name with a unit of rates, times or cycles behind it.
fn named<'t>(text: &'t str, mapping: &ColumnMapping) -> Option<(&'t str, Option<TableColumn>)> {
    let (name, unit) = cut_unit(text)?;
    let heading = TableHeading::of(text, mapping);
    let measured = [Dimension::Rate, Dimension::Time, Dimension::Cycles].contains(&unit.dimension);
    let key = heading.place.is_some() || heading.column.is_some_and(|column| !column.is_measure());
    (measured && !name.is_empty() && !key).then_some((name, heading.column))
}
