//! `read (GB/s), write (GB/s)`: each column is an operation. Beside names of rows, `RTT` and `Setup` under
//! `Test, Local (ms), Remote (ms)`, each cell is one; without them each row is a run.

use super::heading::{TableHeading, cut_unit};
use super::layout::TableRecord;
use super::summary_rows::SUMMARIES;
use crate::unit::{self, DecimalMark, Dimension};
use crate::{ColumnMapping, TableColumn, cells, naming};
use std::collections::BTreeSet;

/// A column of figures with a unit, and its heading.
struct UnitColumn<'t> {
    at: usize,
    name: &'t str,
    unit: &'t str,
}

/// Rows become one for each column; what was done.
pub fn taken_apart(
    all: &mut Vec<TableRecord>,
    at: usize,
    decimal: DecimalMark,
    mapping: &ColumnMapping,
) -> Vec<String> {
    if beside_names(all, at, decimal, mapping) {
        return vec!["each row below a column is an operation".into()];
    }
    runs(all, at, decimal, mapping)
}

/// Words name the rows, and no column is a quantity that is known.
fn beside_names(
    all: &mut Vec<TableRecord>,
    at: usize,
    decimal: DecimalMark,
    mapping: &ColumnMapping,
) -> bool {
    let [first, columns @ ..] = &all[at].cells[..] else { return false };
    let names: Option<Vec<_>> = columns.iter().map(|text| named(text, mapping)).collect();
    let unknown =
        |(name, column): &(&str, Option<TableColumn>)| column.is_none() && !naming::is_deviation(name);
    let Some(names) = names.filter(|names| names.len() > 1 && names.iter().all(unknown)) else {
        return false;
    };
    let heading = TableHeading::of(first, mapping);
    let of_operations = heading.place.is_none()
        && heading.column.is_none_or(|of| of == TableColumn::Operation || of == TableColumn::Measured);
    let number = |cell: &String| unit::number(cells::plain(cell), decimal).is_some();
    let is_row = |record: &&TableRecord| {
        let [name, figures @ ..] = &record.cells[..] else { return false };
        !cells::is_empty(name) && !number(name) && figures.len() == names.len() && figures.iter().any(number)
    };
    let many = all[at + 1..].iter().take_while(is_row).count();
    if many == 0 || !of_operations {
        return false;
    }
    let unit = |text: &String, name: &str| {
        text.trim()[name.len()..].trim_matches(['(', ')', '[', ']', ' ']).to_string()
    };
    let columns: Vec<(String, String)> =
        columns.iter().zip(&names).map(|(text, (name, _))| (name.to_string(), unit(text, name))).collect();
    let row = |TableRecord { line, cells }: TableRecord| {
        let of = |((name, unit), cell): (&(String, String), &String)| {
            let plain = unit::number(cell, decimal).is_some_and(|(.., own)| own.is_none());
            let figure = if plain { format!("{cell} {unit}") } else { cell.clone() };
            TableRecord { line, cells: vec![format!("{} {name}", cells[0]), figure] }
        };
        let filled = columns.iter().zip(&cells[1..]).filter(|(_, cell)| !cells::is_empty(cell));
        filled.map(of).collect::<Vec<_>>()
    };
    let rows: Vec<TableRecord> = all.drain(at + 1..at + 1 + many).collect();
    let rows: Vec<TableRecord> = rows.into_iter().flat_map(row).collect();
    all[at].cells = vec!["operation".into(), "measured".into()];
    all.splice(at + 1..at + 1, rows);
    true
}

fn runs(all: &mut Vec<TableRecord>, at: usize, decimal: DecimalMark, mapping: &ColumnMapping) -> Vec<String> {
    let headings = all[at].cells.clone();
    let mut quantities = Vec::new();
    let (mut columns, mut said) =
        (Vec::new(), vec!["each column is an operation, and its rows are runs".to_string()]);
    for (at, text) in headings.iter().enumerate() {
        if let Some((name, quantity)) = named(text, mapping) {
            let unit = text.trim()[name.len()..].trim().trim_matches(['(', ')', '[', ']']);
            columns.push(UnitColumn { at, name, unit });
            quantities.push(quantity);
        } else if text.ends_with(')') && !TableHeading::of(text, mapping).is_understood() {
            said.push(format!("{text:?} is in a unit that is not read here: left out"));
        } else {
            return Vec::new();
        }
    }
    // One quantity for each column is a table of one case.
    let known: BTreeSet<TableColumn> = quantities.iter().flatten().copied().collect();
    let figures = |record: &&TableRecord| {
        let bare = |cell: &String| unit::number(cell, decimal).is_some_and(|(.., unit)| unit.is_none());
        record.cells.len() == headings.len() && record.cells.iter().all(bare)
    };
    let many = all[at + 1..].iter().take_while(figures).count();
    if columns.len() < 2 || known.len() == columns.len() || many == 0 {
        return Vec::new();
    }
    let rows: Vec<TableRecord> = all.drain(at + 1..at + 1 + many).collect();
    let apart = rows.iter().flat_map(|TableRecord { line, cells }| {
        let row = |UnitColumn { at, name, unit }: &UnitColumn| TableRecord {
            line: *line,
            cells: vec![name.to_string(), format!("{} {unit}", cells[*at])],
        };
        columns.iter().map(row)
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
    said
}

/// A name with a unit of rates, times or cycles behind it.
fn named<'t>(text: &'t str, mapping: &ColumnMapping) -> Option<(&'t str, Option<TableColumn>)> {
    let (name, unit) = cut_unit(text)?;
    let heading = TableHeading::of(text, mapping);
    let measured = [Dimension::Rate, Dimension::Time, Dimension::Cycles].contains(&unit.dimension);
    let key = heading.place.is_some() || heading.column.is_some_and(|column| !column.is_measure());
    (measured && !name.is_empty() && !key).then_some((name, heading.column))
}
