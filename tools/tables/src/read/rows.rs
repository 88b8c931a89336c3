//! From a grid and its plan to rows of figures: what cannot be read is refused at its line, and rows that nothing known tells
//! apart are asked about.

use super::cell;
use super::columns::{self, ask, values_of};
use super::plan::{ColumnPlan, ColumnUse};
use crate::dictionary::{self, Quality, ReadAs};
use crate::grid::{Grid, GridLine};
use crate::unit::{self, Dimension, UnitScale};
use crate::{
    BadTable, PublishedFigure, PublishedRow, PublishedTable, ReadColumn, ReadingOptions, RowKey, TableColumn,
    TableColumn::*,
};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::count;

/// A standard error is that of a mean: twice it spans what an interval does.
const ERRORS: f64 = 2.0;
/// Two columns of one quantity may differ so far by rounding.
const ALIKE: f64 = 0.01;

pub fn table(name: &str, grid: &Grid, options: &ReadingOptions) -> Result<PublishedTable, BadTable> {
    let mark = options.decimal.map_or_else(|| decimal(name, grid), Ok)?;
    let plan = columns::plan(name, grid, options, mark)?;
    let mut table = PublishedTable { name: name.into(), ..described(grid, &plan) };
    for line in &grid.rows {
        if let Some(summary) = summary(line, &plan) {
            table.understood.push(format!("line {} ({summary:?}) sums up others and is no row", line.line));
        } else if let Some(failed) = failed(line, &plan) {
            table.understood.push(format!("line {} ({failed}) is left out", line.line));
        } else {
            let reading = RowReading { grid, plan: &plan, mark, line };
            let rows = reading.rows(&mut table).map_err(|why| BadTable::at(name, line.line, why))?;
            table.rows.extend(rows);
        }
    }
    indexes_of_runs(&mut table);
    told_apart(name, grid, &plan, &table)?;
    Ok(table)
}

/// The mark between whole and decimal digits: a comma only where it separates no cells, and never by a guess.
fn decimal<'g>(name: &str, grid: &'g Grid) -> Result<char, BadTable> {
    let is_number = |cell: &&String| {
        cell.chars().all(|c| c.is_ascii_digit() || ".,-+ ".contains(c))
            && cell.contains(|c: char| c.is_ascii_digit())
    };
    let of_row =
        |row: &'g GridLine| row.cells.iter().filter(is_number).map(move |cell| (row.line, cell.as_str()));
    let cells: Vec<(usize, &str)> = grid.rows.iter().flat_map(of_row).collect();
    let decimals = |mark: char| {
        let behind = |cell: &str| Some(cell.rsplit_once(mark)?.1.len());
        let is = |cell: &str| behind(cell).is_some_and(|n| n != 3) && cell.matches(mark).count() == 1;
        cells.iter().any(|(_, cell)| is(cell))
    };
    let doubtful = cells.iter().find(|(_, cell)| cell.contains(',') && grid.delimiter != ',');
    let Some((line, cell)) = doubtful else { return Ok('.') };
    match (decimals(','), decimals('.')) {
        (true, true) => {
            let why = format!("{cell:?}: both , and . stand before decimals in this table");
            Err(BadTable::at(name, *line, why))
        }
        (true, false) => Ok(','),
        (false, true) => Ok('.'),
        (false, false) => {
            let why = format!("{cell:?}: is the comma a decimal mark? Say --decimal , or --decimal .");
            Err(BadTable::at(name, *line, why))
        }
    }
}

/// The table's head: columns, headings, and what its words say of it.
fn described(grid: &Grid, plan: &ColumnPlan) -> PublishedTable {
    let headings = &grid.headings.cells;
    let mut table = PublishedTable { not_read: plan.not_read.clone(), ..PublishedTable::default() };
    for (heading, of) in headings.iter().zip(&plan.uses) {
        let (column, unit) = match (of.mean(), of) {
            (Some(of), _) => (of.column, of.unit.as_ref().map_or(String::new(), |(_, text)| text.clone())),
            (None, ColumnUse::Apart) => (Variant, String::new()),
            _ => continue,
        };
        if column == Threads {
            table.parallel = dictionary::parallel(heading);
        }
        if column == MessageBytes {
            (table.messages, table.fields) = dictionary::of_messages(heading);
        }
        table.headings.push(ReadColumn { column, heading: heading.clone(), unit });
        if !table.columns.contains(&column) {
            table.columns.push(column);
        }
    }
    if let Some(column) = plan.across {
        table.columns.push(column);
        let values: BTreeSet<&str> = values_of(plan).filter_map(|of| of.value.as_deref()).collect();
        let values = values.into_iter().collect::<Vec<_>>().join(", ");
        table.understood.push(format!("{} in the headings: {values}", column.title()));
    }
    let filled = |at: usize| grid.rows.iter().any(|row| !cell::is_empty(&row.cells[at]));
    let mut ignored = Vec::new();
    for (at, (heading, of)) in headings.iter().zip(&plan.uses).enumerate() {
        match of {
            ColumnUse::Read(of) if !matches!(of.quality, Quality::Mean | Quality::Again) => {
                table.understood.push(format!("{heading:?} is the scatter of {}", of.column.title()));
            }
            ColumnUse::Ignored if filled(at) => ignored.push(format!("{heading:?}")),
            _ => {}
        }
    }
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

/// The name of a row that sums up others.
fn summary<'l>(line: &'l GridLine, plan: &ColumnPlan) -> Option<&'l str> {
    let tells = |of: &ReadAs| matches!(of.column, Mechanism | Variant) || of.column.is_place();
    let named = |of: &ColumnUse| *of == ColumnUse::Apart || of.read().is_some_and(tells);
    let cells = line.cells.iter().zip(&plan.uses).filter(|(_, of)| named(of)).map(|(cell, _)| cell.as_str());
    cells.into_iter().find(|cell| dictionary::is_summary(cell))
}

/// A run that came to no end, by a column of its own that says so.
fn failed<'l>(line: &'l GridLine, plan: &ColumnPlan) -> Option<&'l str> {
    let status = |of: &ColumnUse| matches!(of, ColumnUse::Ignored | ColumnUse::Apart);
    let cells = line.cells.iter().zip(&plan.uses).filter(|(_, of)| status(of));
    cells.map(|(cell, _)| cell.as_str()).find(|cell| dictionary::is_word("failed", &cell.to_lowercase()))
}

struct RowReading<'g> {
    grid: &'g Grid,
    plan: &'g ColumnPlan,
    mark: char,
    line: &'g GridLine,
}

impl RowReading<'_> {
    /// A line is a row; of a wide layout, one for each value in the headings.
    fn rows(&self, table: &mut PublishedTable) -> Result<Vec<PublishedRow>, String> {
        let mut base = PublishedRow { line: self.line.line, ..PublishedRow::default() };
        let mut bounds: BTreeMap<TableColumn, [Option<f64>; 2]> = BTreeMap::new();
        let mut values: BTreeMap<&str, PublishedRow> = BTreeMap::new();
        let mut units: Vec<UnitScale> = Vec::new();
        for (at, of) in self.plan.uses.iter().enumerate() {
            let text = self.line.cells[at].as_str();
            let empty = cell::is_empty(text);
            let of = match of {
                ColumnUse::Read(of) if of.column.is_text() && of.quality == Quality::Again => continue,
                ColumnUse::Read(of) if of.column.is_text() => {
                    match of.column {
                        Variant if text.is_empty() => {}
                        Variant => add_variant(&mut base, text),
                        Unit if empty => {}
                        column if text.is_empty() => return Err(missing(column)),
                        column => _ = base.texts.insert(column, text.trim().into()),
                    }
                    continue;
                }
                ColumnUse::Read(of) if empty && of.column.is_place() => return Err(missing(of.column)),
                ColumnUse::Read(of) if !empty => of,
                ColumnUse::Apart => {
                    add_variant(&mut base, &format!("{} {text}", self.grid.headings.cells[at]));
                    continue;
                }
                of => {
                    table.empty += usize::from(of.mean().is_some());
                    continue;
                }
            };
            let column = of.column;
            let (figure, spread) = cell::figure(column, text, of.scale(), self.mark)?;
            let row = match of.value.as_deref() {
                None => &mut base,
                Some(value) => values.entry(value).or_default(),
            };
            if column.is_of_operations() && of.value.is_none() && of.quality != Quality::Again {
                let own = cell::number(text, self.mark).and_then(|(.., own)| unit::parse(own?).ok());
                units.extend(own.or(of.scale()));
            }
            match of.quality {
                Quality::Mean => {
                    row.figures.insert(column, figure);
                    row.scatter.extend(spread.map(|spread| (column, spread)));
                }
                Quality::Deviation | Quality::Half => _ = row.scatter.insert(column, figure.value),
                Quality::Error => _ = row.scatter.insert(column, ERRORS * figure.value),
                Quality::Low => bounds.entry(column).or_default()[0] = Some(figure.value),
                Quality::High => bounds.entry(column).or_default()[1] = Some(figure.value),
                Quality::Again if table.differ.is_empty() => {
                    table
                        .differ
                        .extend(row.figure(column).and_then(|known| self.differ(column, known, figure)));
                }
                Quality::Again | Quality::Tail => {}
            }
        }
        for (column, bounds) in bounds {
            if let [Some(low), Some(high)] = bounds {
                base.scatter.entry(column).or_insert((high - low).abs() / 2.0);
            }
        }
        unit_of_operation(&mut base, &units)?;
        let Some(across) = self.plan.across else {
            let measured = base.figures.keys().any(|column| column.is_measure());
            return Ok(measured.then_some(base).into_iter().collect());
        };
        let row = |(value, own): (&str, PublishedRow)| {
            let mut row = base.clone();
            row.figures.extend(own.figures);
            row.scatter.extend(own.scatter);
            cell::tell(&mut row, across, value).map(|()| row)
        };
        // In the order of the headings.
        let order = |value: &str| values_of(self.plan).position(|of| of.value.as_deref() == Some(value));
        let mut values: Vec<(&str, PublishedRow)> = values.into_iter().collect();
        values.sort_by_key(|(value, _)| order(value));
        values.into_iter().map(row).collect()
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

fn missing(column: TableColumn) -> String {
    format!("it has no {}: fill merged cells in", column.title())
}

fn add_variant(row: &mut PublishedRow, text: &str) {
    let variant = row.texts.entry(Variant).or_default();
    if !variant.is_empty() {
        *variant += ", ";
    }
    *variant += text;
}

/// The figures of an operation are of one kind: in the base unit of their column's unit, or in that of its cell.
fn unit_of_operation(row: &mut PublishedRow, units: &[UnitScale]) -> Result<(), String> {
    let of_operation = row.figures.keys().filter(|column| column.is_of_operations()).count();
    let base = |dimension| match dimension {
        Dimension::Time => "ns",
        Dimension::Rate => "bit/s",
        Dimension::Size => "B",
        Dimension::Cycles => "cycles",
        Dimension::Calls => "/s",
        Dimension::TimePerByte => "ns/B",
        _ => "",
    };
    let dimensions: BTreeSet<Dimension> = units.iter().map(|unit| unit.dimension).collect();
    let unit = |told| Some(dictionary::totalled(unit::parse(told).ok()?, told));
    let told = row.text(Unit).and_then(unit);
    let unit = match (dimensions.first(), told) {
        _ if of_operation == 0 => return Ok(()),
        (None, told) => told,
        _ if dimensions.len() > 1 => return Err("its figures are in units of different kinds".into()),
        (Some(dimension), _) if units.len() >= of_operation => {
            Some(UnitScale { dimension: *dimension, factor: 1.0 })
        }
        _ => return Err("some of its figures have a unit and some have none: give each heading one".into()),
    };
    let Some(UnitScale { dimension, factor }) = unit else { return Ok(()) };
    for (_, figure) in row.figures.iter_mut().filter(|(column, _)| column.is_of_operations()) {
        (figure.value, figure.rounding) = (figure.value * factor, figure.rounding * factor)
    }
    row.scatter.values_mut().for_each(|spread| *spread *= factor);
    if !dimensions.is_empty() || !base(dimension).is_empty() {
        row.texts.insert(Unit, base(dimension).into());
    }
    Ok(())
}

/// What is called a number of runs and counts up among rows of one case is which run a row is.
fn indexes_of_runs(table: &mut PublishedTable) {
    let mut cases: BTreeMap<RowKey, BTreeSet<u64>> = BTreeMap::new();
    for row in &table.rows {
        cases.entry(row.key()).or_default().extend(row.count(Runs));
    }
    if cases.values().any(|runs| runs.len() > 1) && !table.has(Repetition) {
        for row in &mut table.rows {
            let index = row.figures.remove(&Runs);
            row.figures.extend(index.map(|index| (Repetition, index)));
        }
        for column in table.columns.iter_mut().filter(|column| **column == Runs) {
            *column = Repetition;
        }
    }
}

/// Rows of one key that differ in a column which is not read may be of several cases: that column is asked for.
fn told_apart(name: &str, grid: &Grid, plan: &ColumnPlan, table: &PublishedTable) -> Result<(), BadTable> {
    let cells: BTreeMap<usize, &GridLine> = grid.rows.iter().map(|line| (line.line, line)).collect();
    let mut seen: BTreeMap<RowKey, &PublishedRow> = BTreeMap::new();
    for row in &table.rows {
        let Some(first) = seen.insert(row.key(), row) else { continue };
        let (one, other) = (cells[&first.line], cells[&row.line]);
        let left = |at: &usize| plan.uses[*at] == ColumnUse::Left && one.cells[*at] != other.cells[*at];
        if let Some(at) = (0..plan.uses.len()).filter(|_| first.line != row.line).find(left) {
            let heading = &grid.headings.cells[at];
            let why = format!(
                "what tells it from line {} is not known: is it {heading:?}? Say {} (or run, size, threads, mechanism), or {}",
                first.line,
                ask("variant", heading, ""),
                ask("ignored", heading, "")
            );
            return Err(BadTable::at(name, row.line, why));
        }
    }
    Ok(())
}
