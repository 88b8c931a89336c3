//! From a grid and its plan to rows of figures: what cannot be read is refused at its line, and rows that nothing known tells
//! apart are asked about.

use super::cell;
use super::columns::{self, ColumnPlan, ColumnUse, ask};
use crate::TableColumn::{self, *};
use crate::dictionary::{self, Quality, ReadAs};
use crate::grid::{Grid, GridLine};
use crate::unit::{self, UnitScale};
use crate::{
    AtLine, PublishedFigure, PublishedRow, PublishedTable, ReadColumn, ReadingOptions, RowKey, grouped,
};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::{Unit as CoreUnit, count};

/// A standard error is that of a mean: twice it spans what an interval does.
const ERRORS: f64 = 2.0;
/// Two columns of one quantity may differ so far by rounding.
const ALIKE: f64 = 0.01;

pub fn table(grid: &Grid, options: &ReadingOptions) -> Result<PublishedTable, AtLine> {
    let mark = options.decimal.map_or_else(|| decimal(grid), Ok)?;
    let plan = columns::plan(grid, options, mark).map_err(|why| (grid.headings.line, why))?;
    let mut table = described(grid, &plan);
    for line in &grid.rows {
        if let Some(why) = no_row(line, &plan) {
            table.understood.push(format!("line {} ({why}", line.line));
            continue;
        }
        for value in &plan.values {
            let reading = RowReading { grid, plan: &plan, mark, line, value: value.as_deref() };
            table.rows.extend(reading.row(&mut table.differ).map_err(|why| (line.line, why))?);
        }
        let is_missing = |(cell, of): &(&String, &ColumnUse)| {
            cell::is_empty(cell) && of.mean().is_some_and(|of| !of.column.is_text())
        };
        table.empty += line.cells.iter().zip(&plan.uses).filter(is_missing).count();
    }
    indexes_of_runs(&mut table);
    told_apart(grid, &plan, &table)?;
    Ok(table)
}

/// The mark between whole and decimal digits: a comma only where it separates no cells, and never by a guess.
fn decimal(grid: &Grid) -> Result<char, AtLine> {
    let is_number = |cell: &String| {
        cell.chars().all(|c| c.is_ascii_digit() || ".,-+ ".contains(c))
            && cell.contains(|c: char| c.is_ascii_digit())
    };
    let all = grid.rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row.line, cell)));
    let cells: Vec<(usize, &String)> = all.filter(|(_, cell)| is_number(cell)).collect();
    let decimals = |mark: char| {
        let behind = |cell: &str| Some(cell.rsplit_once(mark)?.1.len());
        let is = |cell: &str| behind(cell).is_some_and(|n| n != 3) && cell.matches(mark).count() == 1;
        cells.iter().any(|(_, cell)| is(cell))
    };
    let doubtful = cells.iter().find(|(_, cell)| cell.contains(',') && grid.delimiter != ',');
    let Some(&(line, cell)) = doubtful else { return Ok('.') };
    let why = match (decimals(','), decimals('.')) {
        (true, false) => return Ok(','),
        (false, true) => return Ok('.'),
        (true, true) => "both , and . stand before decimals in this table",
        (false, false) => "is the comma a decimal mark? Say --decimal , or --decimal .",
    };
    Err((line, format!("{cell:?}: {why}")))
}

/// The table's head: columns, headings, and what its words say of it.
fn described(grid: &Grid, plan: &ColumnPlan) -> PublishedTable {
    let mut table = PublishedTable { not_read: plan.not_read.clone(), ..PublishedTable::default() };
    if let Some(column) = plan.across {
        let values: BTreeSet<&str> = plan.values.iter().flatten().map(String::as_str).collect();
        let values = values.into_iter().collect::<Vec<_>>().join(", ");
        table.understood.push(format!("{} in the headings: {values}", column.title()));
    }
    let filled = |at: usize| grid.rows.iter().any(|row| !cell::is_empty(&row.cells[at]));
    let mut ignored = Vec::new();
    for (at, (heading, of)) in grid.headings.cells.iter().zip(&plan.uses).enumerate() {
        let (column, unit) = match of {
            ColumnUse::Read(of) if of.quality == Quality::Mean => (of.column, of.unit.as_ref()),
            ColumnUse::Apart => (Variant, None),
            ColumnUse::Read(of) if of.quality != Quality::Again => {
                table.understood.push(format!("{heading:?} is the scatter of {}", of.column.title()));
                continue;
            }
            ColumnUse::Ignored if filled(at) => {
                ignored.push(format!("{heading:?}"));
                continue;
            }
            _ => continue,
        };
        if column == Threads {
            table.parallel = dictionary::parallel(heading);
        }
        if column == MessageBytes {
            (table.messages, table.fields) = dictionary::of_messages(heading);
        }
        let unit = unit.map_or(String::new(), |(_, text)| text.clone());
        table.headings.push(ReadColumn { column, heading: heading.clone(), unit });
        if !table.columns.contains(&column) {
            table.columns.push(column);
        }
    }
    table.columns.extend(plan.across);
    if !ignored.is_empty() {
        table.understood.push(format!("no use is made of {}", ignored.join(", ")));
    }
    if !grid.titles.is_empty() {
        table.not_read.push(format!("beside the table: {}", grid.titles.join("; ")));
    }
    if grid.again > 0 {
        table.understood.push(format!("headings repeated on {} left out", count(grid.again, "line")));
    }
    table
}

/// Why a line is no row: its name sums up others, or a column of its own says that the run came to no end.
fn no_row(line: &GridLine, plan: &ColumnPlan) -> Option<String> {
    line.cells.iter().zip(&plan.uses).find_map(|(cell, of)| {
        let tells = |of: &ReadAs| matches!(of.column, Mechanism | Variant) || of.column.is_place();
        let is_name = *of == ColumnUse::Apart || of.read().is_some_and(tells);
        let is_status = matches!(of, ColumnUse::Ignored | ColumnUse::Apart);
        if is_name && dictionary::is_summary(cell) {
            return Some(format!("{cell:?}) sums up others and is no row"));
        }
        let failed = is_status && dictionary::is_word("failed", &cell.to_lowercase());
        failed.then(|| format!("{cell}) is left out"))
    })
}

struct RowReading<'g> {
    grid: &'g Grid,
    plan: &'g ColumnPlan,
    mark: char,
    line: &'g GridLine,
    /// Of a wide layout, the value in the headings that it is at.
    value: Option<&'g str>,
}

impl RowReading<'_> {
    /// The row of a line at one of its values; `None`: nothing is measured there.
    fn row(&self, differ: &mut Vec<String>) -> Result<Option<PublishedRow>, String> {
        let mut row = PublishedRow { line: self.line.line, ..PublishedRow::default() };
        let (mut units, mut variants, mut ends, mut measured) = (Vec::new(), Vec::new(), Vec::new(), false);
        for ((text, heading), of) in
            self.line.cells.iter().zip(&self.grid.headings.cells).zip(&self.plan.uses)
        {
            let of = match of {
                ColumnUse::Apart => {
                    variants.push(format!("{heading} {text}"));
                    continue;
                }
                ColumnUse::Read(of) if of.value.is_none() || of.value.as_deref() == self.value => of,
                _ => continue,
            };
            let (column, empty) = (of.column, cell::is_empty(text));
            match column {
                column if column.is_text() && of.quality == Quality::Again => continue,
                Variant if text.is_empty() => continue,
                Variant => variants.push(text.clone()),
                Unit if empty => continue,
                column if column.is_text() && text.is_empty() || column.is_place() && empty => {
                    return Err(format!("it has no {}: fill merged cells in", column.title()));
                }
                column if column.is_text() => _ = row.texts.insert(column, text.trim().into()),
                _ => {}
            }
            if column.is_text() || empty {
                continue;
            }
            let (figure, spread) = cell::figure(column, text, of.scale(), self.mark)?;
            if column.is_of_operations() && of.quality != Quality::Again {
                let own = cell::number(text, self.mark).and_then(|(.., own)| unit::parse(own?).ok());
                units.extend(own.or(of.scale()));
            }
            match of.quality {
                Quality::Mean => {
                    measured |= column.is_measure() && (of.value.is_some() || self.value.is_none());
                    row.figures.insert(column, figure);
                    row.scatter.extend(spread.map(|spread| (column, spread)));
                }
                Quality::Deviation | Quality::Half => _ = row.scatter.insert(column, figure.value),
                Quality::Error => _ = row.scatter.insert(column, ERRORS * figure.value),
                Quality::Low | Quality::High => ends.push((column, figure.value)),
                Quality::Again if differ.is_empty() => {
                    differ.extend(row.figure(column).and_then(|known| self.differ(column, known, figure)));
                }
                Quality::Again | Quality::Tail => {}
            }
        }
        for (column, ends) in grouped(ends) {
            if let [low, high] = ends[..] {
                row.scatter.entry(column).or_insert((high - low).abs() / 2.0);
            }
        }
        unit_of_operation(&mut row, &units)?;
        let variant = Some(variants.join(", ")).filter(|_| !variants.is_empty());
        row.texts.extend(variant.map(|variant| (Variant, variant)));
        if let Some((across, value)) = self.plan.across.zip(self.value) {
            cell::tell(&mut row, across, value)?;
        }
        Ok(measured.then_some(row))
    }

    /// A second column of one quantity has to say what the first does.
    fn differ(&self, column: TableColumn, known: PublishedFigure, other: PublishedFigure) -> Option<String> {
        let slack = known.rounding + other.rounding + ALIKE * known.value.abs();
        let [one, two] = [known, other].map(|figure| column.unit().format(figure.value));
        let (title, line) = (column.title(), self.line.line);
        let text = format!("Two columns of {title} differ: line {line} says {one} and {two}.");
        ((known.value - other.value).abs() > slack).then_some(text)
    }
}

/// The figures of an operation are of one kind: in the base unit of their column's unit, or in that of its cell.
fn unit_of_operation(row: &mut PublishedRow, units: &[UnitScale]) -> Result<(), String> {
    let of_operation = row.figures.keys().filter(|column| column.is_of_operations()).count();
    let bases: BTreeSet<&str> = units.iter().map(|unit| unit.base.symbol()).collect();
    let told = row.text(Unit).and_then(|told| Some(dictionary::totalled(unit::parse(told).ok()?, told)));
    let unit = match (units.first(), told) {
        _ if of_operation == 0 => return Ok(()),
        (None, told) => told,
        _ if bases.len() > 1 => return Err("its figures are in units of different kinds".into()),
        (Some(unit), _) if units.len() >= of_operation => Some(UnitScale { factor: 1.0, ..*unit }),
        _ => return Err("some of its figures have a unit and some have none: give each heading one".into()),
    };
    let Some(UnitScale { base, factor }) = unit else { return Ok(()) };
    for (_, figure) in row.figures.iter_mut().filter(|(column, _)| column.is_of_operations()) {
        (figure.value, figure.rounding) = (figure.value * factor, figure.rounding * factor)
    }
    row.scatter.values_mut().for_each(|spread| *spread *= factor);
    let plain = matches!(base, CoreUnit::Count | CoreUnit::Ratio);
    if !units.is_empty() || !plain {
        row.texts.insert(Unit, if plain { "" } else { base.symbol() }.into());
    }
    Ok(())
}

/// What is called a number of runs and counts up among rows of one case is which run a row is.
fn indexes_of_runs(table: &mut PublishedTable) {
    let cases = grouped(table.rows.iter().filter_map(|row| Some((row.key(), row.count(Runs)?))));
    let counts_up = |runs: &Vec<u64>| runs.iter().any(|run| *run != runs[0]);
    if cases.values().any(counts_up) && !table.has(Repetition) {
        for row in &mut table.rows {
            let index = row.figures.remove(&Runs);
            row.figures.extend(index.map(|index| (Repetition, index)));
        }
        table.columns.iter_mut().filter(|column| **column == Runs).for_each(|column| *column = Repetition);
    }
}

/// Rows of one key that differ in a column which is not read may be of several cases: that column is asked for.
fn told_apart(grid: &Grid, plan: &ColumnPlan, table: &PublishedTable) -> Result<(), AtLine> {
    let cells: BTreeMap<usize, &GridLine> = grid.rows.iter().map(|line| (line.line, line)).collect();
    let mut seen: BTreeMap<RowKey, &PublishedRow> = BTreeMap::new();
    for row in &table.rows {
        let Some(first) = seen.insert(row.key(), row) else { continue };
        let (one, other) = (cells[&first.line], cells[&row.line]);
        let left = |at: &usize| plan.uses[*at] == ColumnUse::Left && one.cells[*at] != other.cells[*at];
        if let Some(at) = (0..plan.uses.len()).filter(|_| first.line != row.line).find(left) {
            let heading = &grid.headings.cells[at];
            let [variant, ignored] = ["variant", "ignored"].map(|role| ask(role, heading, ""));
            let why = format!(
                "what tells it from line {} is not known: is it {heading:?}? Say {variant} (or run, size, threads, mechanism), or {ignored}",
                first.line
            );
            return Err((row.line, why));
        }
    }
    Ok(())
}
