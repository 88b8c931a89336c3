//! From a grid and its plan to rows of figures: what cannot be read is refused at its line, and rows that nothing known tells
//! apart are asked about.

use super::cell;
use super::columns::{self, ask};
use super::plan::{ColumnPlan, ColumnUse};
use crate::dictionary::{self, Quality};
use crate::grid::{Grid, GridLine};
use crate::options::number_in;
use crate::unit::{self, DecimalMark, Dimension, UnitScale};
use crate::{
    BadTable, PublishedFigure, PublishedRow, PublishedTable, ReadColumn, ReadingOptions, RowKey, TableColumn,
    tool,
};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::count;

/// A standard error is that of a mean: twice it spans what an interval does.
const ERRORS: f64 = 2.0;
/// Two columns of one quantity may differ so far by rounding.
const ALIKE: f64 = 0.01;

pub fn table(name: &str, grid: &Grid, options: &ReadingOptions) -> Result<PublishedTable, BadTable> {
    if let Some(own) = tool::own(name, grid) {
        return own;
    }
    let mark = decimal(name, grid, options)?;
    let plan = columns::plan(name, grid, options, mark)?;
    let mut table = PublishedTable { name: name.into(), ..described(grid, &plan) };
    for line in &grid.rows {
        if let Some(summary) = summary(line, &plan) {
            table.understood.push(format!("line {} ({summary:?}) sums up others and is no row", line.line));
            continue;
        }
        if let Some(failed) = failed(line, &plan) {
            table.understood.push(format!("line {} ({failed}) is left out", line.line));
            continue;
        }
        let reading = RowReading { grid, plan: &plan, options, mark, line };
        let rows = reading.rows(&mut table).map_err(|why| BadTable::at(name, line.line, why))?;
        table.rows.extend(rows);
    }
    indexes_of_runs(&mut table);
    told_apart(name, grid, &plan, &table)?;
    Ok(table)
}

/// The mark between whole and decimal digits: a comma only where it separates no cells, and never by a guess.
fn decimal(name: &str, grid: &Grid, options: &ReadingOptions) -> Result<DecimalMark, BadTable> {
    if let Some(mark) = options.decimal {
        return Ok(mark);
    }
    let numbers = |cell: &&String| {
        cell.chars().all(|c| c.is_ascii_digit() || ".,-+ ".contains(c))
            && cell.contains(|c: char| c.is_ascii_digit())
    };
    let cells: Vec<(usize, &String)> = grid
        .rows
        .iter()
        .flat_map(|row| row.cells.iter().filter(numbers).map(|cell| (row.line, cell)))
        .collect();
    let decimals = |cell: &str, mark: char| {
        cell.rsplit_once(mark).is_some_and(|(_, behind)| behind.len() != 3) && cell.matches(mark).count() == 1
    };
    let comma = cells.iter().any(|(_, cell)| decimals(cell, ',')) && grid.delimiter != ',';
    let point = cells.iter().any(|(_, cell)| decimals(cell, '.'));
    let doubtful = cells.iter().find(|(_, cell)| cell.contains(',') && grid.delimiter != ',');
    match (comma, point, doubtful) {
        (true, true, Some((line, cell))) => Err(BadTable::at(
            name,
            *line,
            format!("{cell:?}: both , and . stand before decimals in this table"),
        )),
        (true, ..) => Ok(DecimalMark::Comma),
        (false, false, Some((line, cell))) => Err(BadTable::at(
            name,
            *line,
            format!("{cell:?}: is the comma a decimal mark? Say --decimal , or --decimal ."),
        )),
        _ => Ok(DecimalMark::Point),
    }
}

/// The table's head: columns, headings, and what its words say of it.
fn described(grid: &Grid, plan: &ColumnPlan) -> PublishedTable {
    let headings = &grid.headings.cells;
    let mut table = PublishedTable { not_read: plan.not_read.clone(), ..PublishedTable::default() };
    for (heading, of) in headings.iter().zip(&plan.uses) {
        let (column, unit) = match of {
            ColumnUse::Read { column, quality: Quality::Mean, unit_text, .. } => (*column, unit_text.clone()),
            ColumnUse::Across { column, unit_text, .. } => (*column, unit_text.clone()),
            ColumnUse::Apart => (TableColumn::Variant, String::new()),
            _ => continue,
        };
        if column == TableColumn::Threads {
            table.parallel = dictionary::parallel(heading);
        }
        if column == TableColumn::MessageBytes {
            let (messages, fields) = dictionary::of_messages(heading);
            (table.messages, table.fields) = (messages, fields);
        }
        table.headings.push(ReadColumn { column, heading: heading.clone(), unit });
        if !table.columns.contains(&column) {
            table.columns.push(column);
        }
    }
    if let Some(column) = plan.across {
        table.columns.push(column);
        let values = plan.uses.iter().filter_map(|of| {
            if let ColumnUse::Across { value, .. } = of { Some(value.as_str()) } else { None }
        });
        let values: BTreeSet<&str> = values.collect();
        let values = values.into_iter().collect::<Vec<_>>().join(", ");
        table.understood.push(format!("{} in the headings: {values}", column.title()));
    }
    for (heading, of) in headings.iter().zip(&plan.uses) {
        if let ColumnUse::Read { column, quality, .. } = of
            && *quality != Quality::Mean
        {
            table.understood.push(format!("{heading:?} is the scatter of {}", column.title()));
        }
    }
    let filled = |at: usize| grid.rows.iter().any(|row| !cell::is_empty(&row.cells[at]));
    let ignored: Vec<String> = (0..headings.len())
        .filter(|at| plan.uses[*at] == ColumnUse::Ignored && filled(*at))
        .map(|at| format!("{:?}", headings[at]))
        .collect();
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
    let of_name = |of: &ColumnUse| {
        matches!(
            of,
            ColumnUse::Apart | ColumnUse::Read { column: TableColumn::Mechanism | TableColumn::Variant, .. }
        )
    };
    let place = |of: &ColumnUse| matches!(of, ColumnUse::Read { column, .. } if column.is_place());
    let cells = line.cells.iter().zip(&plan.uses);
    let word = |(cell, of): (&'l String, &ColumnUse)| {
        ((of_name(of) || place(of)) && dictionary::is_summary(cell)).then_some(cell.as_str())
    };
    cells.clone().find_map(word)
}

/// A run that came to no end, by a column of its own that says so.
fn failed<'l>(line: &'l GridLine, plan: &ColumnPlan) -> Option<&'l str> {
    const WORDS: [&str; 8] = ["fail", "failed", "failure", "error", "timeout", "crash", "crashed", "aborted"];
    let status = line
        .cells
        .iter()
        .zip(&plan.uses)
        .filter(|(_, of)| matches!(of, ColumnUse::Ignored | ColumnUse::Apart));
    status.map(|(cell, _)| cell.as_str()).find(|cell| WORDS.contains(&cell.to_lowercase().as_str()))
}

struct RowReading<'g> {
    grid: &'g Grid,
    plan: &'g ColumnPlan,
    options: &'g ReadingOptions,
    mark: DecimalMark,
    line: &'g GridLine,
}

impl RowReading<'_> {
    /// A line is a row; of a wide layout, one for each value in the headings.
    fn rows(&self, table: &mut PublishedTable) -> Result<Vec<PublishedRow>, String> {
        let mut base = PublishedRow { line: self.line.line, ..PublishedRow::default() };
        let mut bounds: BTreeMap<TableColumn, [Option<f64>; 2]> = BTreeMap::new();
        let mut values: Vec<(String, PublishedRow)> = Vec::new();
        let mut units: Vec<(TableColumn, UnitScale)> = Vec::new();
        for (at, of) in self.plan.uses.iter().enumerate() {
            let text = self.line.cells[at].as_str();
            let empty = cell::is_empty(text);
            match of {
                ColumnUse::Read { column, .. } if column.is_text() => {
                    self.text(&mut base, table, at, *column)?
                }
                ColumnUse::Apart => {
                    let told = format!("{} {text}", self.grid.headings.cells[at]);
                    add_variant(&mut base, &told);
                }
                ColumnUse::Read { column, .. } if empty && column.is_place() => {
                    return Err(format!("it has no {}: fill merged cells in", column.title()));
                }
                ColumnUse::Read { quality: Quality::Mean, .. } | ColumnUse::Across { .. } if empty => {
                    table.empty += 1
                }
                ColumnUse::Read { column, quality, unit, .. } if !empty => {
                    let (figure, spread) = cell::figure(*column, text, *unit, self.mark)?;
                    let own = cell::number(text, self.mark).and_then(|(.., own)| unit::parse(own?).ok());
                    units.extend(
                        own.or(*unit).filter(|_| column.is_of_operations()).map(|unit| (*column, unit)),
                    );
                    match quality {
                        Quality::Mean => {
                            base.figures.insert(*column, figure);
                            base.scatter.extend(spread.map(|spread| (*column, spread)));
                        }
                        Quality::Deviation | Quality::Half => _ = base.scatter.insert(*column, figure.value),
                        Quality::Error => _ = base.scatter.insert(*column, ERRORS * figure.value),
                        Quality::Low => bounds.entry(*column).or_default()[0] = Some(figure.value),
                        Quality::High => bounds.entry(*column).or_default()[1] = Some(figure.value),
                        Quality::Tail => {}
                    }
                }
                ColumnUse::Across { value, column, unit, .. } => {
                    let (figure, spread) = cell::figure(*column, text, *unit, self.mark)?;
                    let known = values.iter().position(|(known, _)| known == value);
                    let at = known.unwrap_or_else(|| {
                        values.push((value.clone(), PublishedRow::default()));
                        values.len() - 1
                    });
                    values[at].1.figures.insert(*column, figure);
                    values[at].1.scatter.extend(spread.map(|spread| (*column, spread)));
                }
                ColumnUse::Twice { first, unit } if !empty => {
                    self.compared(&base, table, *first, text, *unit)?
                }
                _ => {}
            }
        }
        for (column, bounds) in bounds {
            if let ([Some(low), Some(high)], false) = (bounds, base.scatter.contains_key(&column)) {
                base.scatter.insert(column, (high - low).abs() / 2.0);
            }
        }
        unit_of_operation(&mut base, &units)?;
        let Some(across) = self.plan.across else {
            return Ok(if base.figures.keys().any(|column| column.is_measure()) {
                vec![base]
            } else {
                Vec::new()
            });
        };
        let row = |(value, own): (String, PublishedRow)| {
            let mut row = base.clone();
            row.figures.extend(own.figures);
            row.scatter.extend(own.scatter);
            if across.is_text() {
                self.named(&mut row, table, across, &value);
            } else {
                let number = number_in(&value).unwrap_or(value);
                let (figure, _) = cell::figure(across, &number, None, DecimalMark::Point)?;
                row.figures.insert(across, figure);
            }
            Ok(row)
        };
        values.into_iter().map(row).collect()
    }

    fn text(
        &self,
        row: &mut PublishedRow,
        table: &mut PublishedTable,
        at: usize,
        column: TableColumn,
    ) -> Result<(), String> {
        let text = self.line.cells[at].as_str();
        match column {
            TableColumn::Variant if text.is_empty() => {}
            TableColumn::Variant => add_variant(row, text),
            TableColumn::Unit if cell::is_empty(text) => {}
            _ if text.is_empty() => {
                return Err(format!("it has no {}: fill merged cells in", column.title()));
            }
            _ => self.named(row, table, column, text),
        }
        Ok(())
    }

    fn named(&self, row: &mut PublishedRow, table: &mut PublishedTable, column: TableColumn, text: &str) {
        let (called, class) = self.options.named(text);
        table.roles.extend(class.map(|class| (called.clone(), class)));
        row.texts.insert(column, called);
    }

    /// A second column of one quantity has to say what the first does.
    fn compared(
        &self,
        row: &PublishedRow,
        table: &mut PublishedTable,
        first: usize,
        text: &str,
        unit: Option<UnitScale>,
    ) -> Result<(), String> {
        let ColumnUse::Read { column, .. } = &self.plan.uses[first] else { return Ok(()) };
        let Some(known) = row.figure(*column) else { return Ok(()) };
        let (other, _) = cell::figure(*column, text, unit, self.mark)?;
        let slack = known.rounding + other.rounding + ALIKE * known.value.abs();
        if (known.value - other.value).abs() > slack && table.differ.is_empty() {
            let format = |value| column.unit().format(value);
            table.differ.push(format!(
                "Two columns of {} differ: line {} says {} and {}.",
                column.title(),
                self.line.line,
                format(known.value),
                format(other.value)
            ));
        }
        Ok(())
    }
}

fn add_variant(row: &mut PublishedRow, text: &str) {
    let variant = row.texts.entry(TableColumn::Variant).or_default();
    if !variant.is_empty() {
        *variant += ", ";
    }
    *variant += text;
}

/// The figures of an operation are of one kind: in the base unit of their column's unit, or in that of its cell.
fn unit_of_operation(row: &mut PublishedRow, units: &[(TableColumn, UnitScale)]) -> Result<(), String> {
    let of_operation = row.figures.keys().filter(|column| column.is_of_operations()).count();
    if of_operation == 0 {
        return Ok(());
    }
    let base = |dimension| match dimension {
        Dimension::Time => "ns",
        Dimension::Rate => "bit/s",
        Dimension::Size => "B",
        Dimension::Cycles => "cycles",
        Dimension::Calls => "/s",
        _ => "",
    };
    let dimensions: BTreeSet<Dimension> = units.iter().map(|(_, unit)| unit.dimension).collect();
    match (dimensions.len(), row.text(TableColumn::Unit).map(str::to_string)) {
        (0, Some(told)) => {
            let Ok(unit) = unit::parse(&told) else { return Ok(()) };
            let factor = unit.factor;
            let scale = |figure: &mut PublishedFigure| {
                (figure.value, figure.rounding) = (figure.value * factor, figure.rounding * factor)
            };
            row.figures
                .iter_mut()
                .filter(|(column, _)| column.is_of_operations())
                .for_each(|(_, figure)| scale(figure));
            row.scatter.iter_mut().for_each(|(_, spread)| *spread *= factor);
            if !base(unit.dimension).is_empty() {
                row.texts.insert(TableColumn::Unit, base(unit.dimension).into());
            }
        }
        (0, None) => {}
        (1, _) if units.len() >= of_operation => {
            let unit = dimensions.first().map_or("", |dimension| base(*dimension));
            row.texts.insert(TableColumn::Unit, unit.into());
        }
        (1, _) => {
            return Err("some of its figures have a unit and some have none: give each heading one".into());
        }
        _ => return Err("its figures are in units of different kinds".into()),
    }
    Ok(())
}

/// What is called a number of runs and counts up among rows of one case is which run a row is.
fn indexes_of_runs(table: &mut PublishedTable) {
    let mut cases: BTreeMap<RowKey, BTreeSet<u64>> = BTreeMap::new();
    for row in &table.rows {
        cases.entry(row.key()).or_default().extend(row.count(TableColumn::Runs));
    }
    if cases.values().any(|runs| runs.len() > 1) && !table.has(TableColumn::Repetition) {
        for row in &mut table.rows {
            let index = row.figures.remove(&TableColumn::Runs);
            row.figures.extend(index.map(|index| (TableColumn::Repetition, index)));
        }
        table
            .columns
            .iter_mut()
            .filter(|c| **c == TableColumn::Runs)
            .for_each(|c| *c = TableColumn::Repetition);
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
