//! Tables of operations whose rows say what their figures are: `Local (ms)` beside `Set up` and `Shut down`, or a mean
//! and a standard deviation beside a name.

use super::heading::TableHeading;
use super::layout::TableRecord;
use crate::{ColumnMapping, TableColumn, cells, unit, vocabulary};

pub const MEANS: &[&str] = &["mean", "average", "avg"];
const CYCLES: &str = "cycles";
const DEVIATIONS: &[&str] = &["standarddeviation", "stddev", "stdev", "stdeviation", "sd", "deviation"];

/// Brings the table below a line into rows of operations; what was done.
pub fn read(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) -> Option<&'static str> {
    if unit_above(all, at, mapping) {
        return None;
    }
    if of_hyperfine(&mut all[at].cells) {
        return Some("hyperfine's CSV: seconds");
    }
    if by_unit(all, at, mapping) {
        return Some("each row has a unit of its own");
    }
    mean(all, at, mapping).then_some("a mean is the figure measured")
}

fn known(cell: &str, mapping: &ColumnMapping) -> Option<TableColumn> {
    TableHeading::of(cell, mapping).column
}

/// `System calls (ns)` above a table of operations: the unit of its figures.
fn unit_above(all: &mut [TableRecord], at: usize, mapping: &ColumnMapping) -> bool {
    let [title, headings, ..] = &mut all[at..] else { return false };
    let filled: Vec<&String> = title.cells.iter().filter(|cell| !cell.is_empty()).collect();
    let unit = if let [alone] = filled[..] { unit::bracketed(alone) } else { None };
    let unit = unit.map(|(_, unit)| unit.to_string()).filter(|unit| is_time(unit) || unit == CYCLES);
    let Some(unit) = unit else { return false };
    let bare = |cell: &&mut String| {
        let known = TableHeading::of(cell, mapping);
        known.unit.is_none() && known.column.is_some_and(TableColumn::is_of_operations)
    };
    headings.cells.iter_mut().filter(bare).for_each(|cell| *cell += &format!(" ({unit})"));
    true
}

fn is_time(unit: &str) -> bool {
    unit::parse(unit).is_ok_and(|unit| unit.dimension == unit::Dimension::Time)
}

/// What `hyperfine --export-csv` writes; parameters may follow. Source: hyperfine(1).
fn of_hyperfine(headings: &mut [String]) -> bool {
    let own = ["command", "mean", "stddev", "median", "user", "system", "min", "max"];
    let is = headings.len() >= own.len() && headings.iter().zip(own).all(|(heading, own)| heading == own);
    if is {
        headings[1..own.len()].iter_mut().for_each(|heading| *heading += " (s)");
    }
    is
}

/// A name beside its mean and the deviation of that, and no other quantity.
fn mean(all: &mut [TableRecord], at: usize, mapping: &ColumnMapping) -> bool {
    let Some((headings, below)) = all[at..].split_first_mut() else { return false };
    let is = |words: &[&str], cell: &String| words.contains(&vocabulary::bare(cell).as_str());
    let [first, rest @ ..] = &headings.cells[..] else { return false };
    let mean = rest.iter().position(|cell| is(MEANS, cell));
    let apart = first.is_empty() || known(first, mapping).is_none_or(TableColumn::is_text);
    let alone = rest.iter().all(|cell| is(MEANS, cell) || known(cell, mapping) == Some(TableColumn::Spread));
    let named = |record: &TableRecord| record.cells.first().is_some_and(|cell| !cells::is_number(cell));
    let Some(mean) = mean.filter(|_| apart && alone && rest.len() > 1 && below.iter().all(named)) else {
        return false;
    };
    headings.cells[mean + 1] = "measured".into();
    if headings.cells[0].is_empty() {
        headings.cells[0] = "operation".into();
    }
    true
}

/// `Local Standard Deviation (ms)`: whose, and in what unit; whether it is a deviation.
fn label(cell: &str) -> Option<(String, &str, bool)> {
    let (name, unit) = unit::bracketed(cell)?;
    let counts = ["cycle", "cycles"].contains(&unit);
    let measured = [unit::Dimension::Time, unit::Dimension::Rate, unit::Dimension::Calls];
    let known = counts || unit::parse(unit).is_ok_and(|unit| measured.contains(&unit.dimension));
    let words: Vec<&str> = name.split_whitespace().collect();
    let ends = (0..words.len())
        .find(|from| DEVIATIONS.contains(&vocabulary::bare(&words[*from..].concat()).as_str()));
    let whose = words[..ends.unwrap_or(words.len())].join(" ");
    let unit = if counts { CYCLES } else { unit };
    known.then_some((whose, unit, ends.is_some()))
}

/// Operations as columns, and a unit in each row's label.
fn by_unit(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) -> bool {
    let headings = &all[at];
    let [_, operations @ ..] = &headings.cells[..] else { return false };
    let unknown = |cell: &String| !cells::is_number(cell) && !TableHeading::of(cell, mapping).is_understood();
    if operations.is_empty() || !operations.iter().all(unknown) {
        return false;
    }
    // What follows a line of another width is another table.
    let width = |record: &&TableRecord| record.cells.len() == headings.cells.len();
    let end = at + 1 + all[at + 1..].iter().take_while(width).count();
    let below = &all[at + 1..end];
    let labels: Option<Vec<_>> = below.iter().map(|record| label(record.cells.first()?)).collect();
    let Some(labels) = labels.filter(|labels| labels.len() > 1) else { return false };
    // What was sent at a rate is a transfer, where ways to send are the columns.
    let rated = labels.iter().any(|(_, unit, _)| *unit != CYCLES && !is_time(unit));
    if rated && operations.iter().any(|cell| vocabulary::role(cell).is_some()) {
        return false;
    }
    let deviates = labels.iter().any(|(.., deviation)| *deviation);
    let columns = ["operation", "measured", "unit"].into_iter().chain(deviates.then_some("spread"));
    let mut rows = vec![TableRecord { line: headings.line, cells: columns.map(str::to_string).collect() }];
    for (record, (whose, unit, _)) in below.iter().zip(&labels).filter(|(_, (.., deviation))| !deviation) {
        for (column, operation) in operations.iter().enumerate() {
            let figure = record.cells.get(column + 1).filter(|cell| !cells::is_empty(cell));
            let Some(figure) = figure else { continue };
            let own = |(_, (of, in_unit, deviation)): &(&TableRecord, &(String, &str, bool))| {
                *deviation && of == whose && in_unit == unit
            };
            let spread = below.iter().zip(&labels).find(own).and_then(|(of, _)| of.cells.get(column + 1));
            // Times and cycles of one operation are no runs of it.
            let counted = if *unit == CYCLES { " (cycles)" } else { "" };
            let operation = format!("{operation} {}{counted}", whose.to_lowercase());
            let cells = [operation.trim().into(), figure.clone(), unit.to_string()];
            let spread = deviates.then(|| spread.cloned().unwrap_or_default());
            rows.push(TableRecord { line: record.line, cells: cells.into_iter().chain(spread).collect() });
        }
    }
    all.splice(at..end, rows);
    true
}
