//! What each column of a grid is: by the options, else by the dictionary. A column that is not known is left out where
//! nothing depends on it, and asked for where something does.

use super::cell;
use super::expand;
use crate::TableColumn::*;
use crate::dictionary::{self, Doubt, Quality, ReadAs};
use crate::grid::Grid;
use crate::{ReadingOptions, TableColumn, role, unit};
use std::collections::BTreeSet;
use syscost_core::units::Unit as CoreUnit;
use syscost_host::remote::transport::words::quote;

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnUse {
    Read(ReadAs),
    /// Names that nothing knows: they keep rows apart.
    Apart,
    /// Known, and judged by nothing.
    Ignored,
    /// Not read, with the option that says what it is.
    Left,
}

impl ColumnUse {
    /// What it is read as, where its headings are no values.
    pub fn read(&self) -> Option<&ReadAs> {
        if let ColumnUse::Read(of) = self { Some(of).filter(|of| of.value.is_none()) } else { None }
    }

    /// Of the figures themselves, and not of their scatter.
    pub fn mean(&self) -> Option<&ReadAs> {
        if let ColumnUse::Read(of) = self { Some(of).filter(|of| of.quality == Quality::Mean) } else { None }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnPlan {
    pub uses: Vec<ColumnUse>,
    /// What stands across in a wide layout, and its values; one of nothing in another.
    pub across: Option<TableColumn>,
    pub values: Vec<Option<String>>,
    pub operations: bool,
    pub not_read: Vec<String>,
}

/// What is asked of the reader, with the headings as they are written.
pub fn ask(role: &str, heading: &str, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(":{unit}") };
    format!("--column {}", quote(&format!("{role}={heading}{unit}")))
}

/// Of which the whole table is asked for: it says little without.
const FIRST: [TableColumn; 5] = [Mechanism, MessageBytes, Threads, Throughput, Latency];

type Meanings = Vec<Result<ReadAs, Doubt>>;

pub fn plan(grid: &Grid, options: &ReadingOptions, mark: char) -> Result<ColumnPlan, String> {
    let headings = &grid.headings.cells;
    let (mut meanings, operations) = meanings(headings, options);
    let is_name = |of: &Result<ReadAs, Doubt>| is_read(of, &[Mechanism, Operation]);
    // Without a column of names, one whose every cell is a name of a known role: `A1`, `two copy`.
    if !meanings.iter().any(is_name) {
        let free = |at: &usize| meanings[*at].is_err() || is_read(&meanings[*at], &[Variant]);
        if let Some(at) = (0..meanings.len()).find(|at| free(at) && are_roles(grid, *at)) {
            meanings[at] = Ok(ReadAs::mean(Mechanism, None));
        }
    }
    if meanings.iter().all(Result::is_err) && options.wide.is_none() {
        let all: Vec<usize> = (0..headings.len()).collect();
        return Err(format!("no heading is known here: {}", listed(headings, &all)));
    }
    let cells = |at: usize| {
        grid.rows.iter().map(move |row| row.cells[at].as_str()).filter(|cell| !cell::is_empty(cell))
    };
    let is_numeric =
        |at: usize| cells(at).next().is_some() && cells(at).all(|cell| cell::number(cell, mark).is_some());
    let varies = |at: usize| cells(at).collect::<BTreeSet<_>>().len() > 1;
    let numeric: Vec<usize> =
        (0..headings.len()).filter(|at| meanings[*at].is_err() && is_numeric(*at)).collect();
    let is_part = |at: usize| operations && dictionary::words(&headings[at]) == ["variant"];
    let named = meanings.iter().any(is_name);
    let (across, wide) = expand::across(headings, &numeric, options.wide.as_ref(), named)?.unzip();
    let single: Vec<ReadAs> = wide.iter().flat_map(|wide| wide.values().cloned()).collect();
    wide.into_iter().flatten().for_each(|(at, of)| meanings[at] = Ok(of));
    // The single runs come before their mean and its spread.
    let is_over_runs = |of: &ReadAs| of.value.is_none() && single.iter().any(|one| one.column == of.column);
    let mut plan = ColumnPlan { operations, across, ..ColumnPlan::default() };
    for (at, meaning) in meanings.iter().enumerate() {
        plan.uses.push(match meaning {
            Ok(of) if of.column == Ignored || of.quality == Quality::Tail => ColumnUse::Ignored,
            Ok(of) if is_over_runs(of) => ColumnUse::Ignored,
            // One name for all rows tells none apart; that of an operation belongs to its name.
            Ok(of) if of.column == Variant && !varies(at) && !is_part(at) => ColumnUse::Ignored,
            Ok(of) => ColumnUse::Read(of.clone()),
            _ if cells(at).next().is_none() => ColumnUse::Ignored,
            _ if !is_numeric(at) && varies(at) => ColumnUse::Apart,
            Err(Doubt { why, column }) => {
                let why = why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
                let (role, unit) = column.map_or(("ROLE".into(), ""), |column| (column.id(), "UNIT"));
                plan.not_read.push(format!("{:?}{why}: {}", headings[at], ask(&role, &headings[at], unit)));
                ColumnUse::Left
            }
        });
    }
    without_units(&mut plan, grid, mark);
    spreads(&mut plan, &meanings);
    let mut seen = BTreeSet::new();
    let values = single.into_iter().map(|of| of.value).filter(|value| seen.insert(value.clone()));
    plan.values = values.chain(plan.across.is_none().then_some(None)).collect();
    twice(&mut plan, grid, &varies)?;
    apart(&mut plan, headings, named)?;
    has_figures(&plan, headings, &numeric)?;
    Ok(plan)
}

fn is_read(of: &Result<ReadAs, Doubt>, columns: &[TableColumn]) -> bool {
    of.as_ref().is_ok_and(|of| columns.contains(&of.column))
}

/// By the options, else by the dictionary; and is it a table of operations?
fn meanings(headings: &[String], options: &ReadingOptions) -> (Meanings, bool) {
    let of = |operations: bool| -> Meanings {
        let meaning = |heading: &String| {
            let own = dictionary::heading(heading, operations);
            let Some(given) = options.column(heading) else { return own };
            let unit = given.unit.clone().or_else(|| own.ok()?.unit);
            Ok(ReadAs::mean(given.column, unit))
        };
        headings.iter().map(meaning).collect()
    };
    let (mut plain, operations) = (of(false), of(true));
    let has = |all: &[TableColumn]| plain.iter().any(|of| is_read(of, all));
    let sure = has(&[BaseHardware, SoftwareOverhead, Predicted, Measured]);
    let mean = |of: &&ReadAs| of.column == Measured && of.quality == Quality::Mean;
    let one = operations.iter().flatten().filter(mean).count() == 1;
    let is_of_operations = sure && has(&[Operation, Mechanism])
        || has(&[Operation]) && !has(&[Mechanism, MessageBytes, Threads]) && one;
    // `case, predicted, measured`; and a table of transfers whose names stand below `test`.
    let (wanted, other) = if is_of_operations { (Operation, Mechanism) } else { (Mechanism, Operation) };
    if is_of_operations && one {
        plain = operations;
    }
    if !plain.iter().any(|of| is_read(of, &[wanted])) {
        if let Some(of) = plain.iter_mut().flatten().find(|of| of.column == other) {
            of.column = wanted;
        }
    }
    (plain, is_of_operations)
}

fn are_roles(grid: &Grid, at: usize) -> bool {
    grid.rows.iter().all(|row| role::of(&row.cells[at]).is_some())
}

/// What needs a unit and has none, neither in its heading nor in its cells, is not read.
fn without_units(plan: &mut ColumnPlan, grid: &Grid, mark: char) {
    for (at, of) in plan.uses.iter_mut().enumerate() {
        let Some(ReadAs { column, unit: None, .. }) = of.read() else { continue };
        let own = |cell: &str| cell::is_empty(cell) || cell::figure(*column, cell, None, mark).is_ok();
        if !column.needs_unit() || grid.rows.iter().all(|row| own(&row.cells[at])) {
            continue;
        }
        let examples = [(Throughput, "Gbit/s"), (Elapsed, "s")];
        let example = examples.iter().find(|(of, _)| of == column).map_or("us", |(_, unit)| unit);
        let heading = &grid.headings.cells[at];
        let asked = ask(&column.id(), heading, example);
        plan.not_read.push(format!("{heading:?} has no unit: {asked} (or another unit)"));
        *of = ColumnUse::Left;
    }
}

/// A spread that names no quantity is of the one that has its unit, or of the only one.
fn spreads(plan: &mut ColumnPlan, meanings: &Meanings) {
    let means = plan.uses.iter().filter_map(ColumnUse::mean);
    let measures: Vec<TableColumn> =
        means.filter(|of| of.value.is_none() && of.column.is_measure()).map(|of| of.column).collect();
    for (at, meaning) in meanings.iter().enumerate() {
        let Ok(of) = meaning else { continue };
        if of.column != Ignored || matches!(of.quality, Quality::Mean | Quality::Tail) {
            continue;
        }
        let suits = |column: &&TableColumn| {
            let same = |unit: unit::UnitScale| column.unit() == unit.base && unit.base != CoreUnit::Count;
            of.scale().is_none_or(|unit| same(unit) || column.is_of_operations())
        };
        let mut found = measures.iter().filter(suits);
        if let (Some(column), None) = (found.next(), found.next()) {
            // Without a unit of its own it has that of its quantity.
            let quantity = || meanings.iter().flatten().find(|m| m.column == *column)?.unit.clone();
            let unit = of.unit.clone().or_else(quantity);
            plan.uses[at] = ColumnUse::Read(ReadAs { column: *column, unit, ..of.clone() });
        }
    }
}

/// Several columns of one quantity: the same in two units, a rate that names its words, or a question.
fn twice(plan: &mut ColumnPlan, grid: &Grid, varies: &dyn Fn(usize) -> bool) -> Result<(), String> {
    let headings = &grid.headings.cells;
    for at in 0..plan.uses.len() {
        let Some(of) = plan.uses[at].read().cloned() else { continue };
        let has = |quality| plan.uses.iter().flat_map(ColumnUse::read).any(|one| one.is(of.column, quality));
        // One end of a range alone is no scatter.
        if matches!(of.quality, Quality::Low | Quality::High) && !(has(Quality::Low) && has(Quality::High)) {
            plan.uses[at] = ColumnUse::Ignored;
            continue;
        }
        let same = |earlier: &ColumnUse| earlier.read().is_some_and(|one| one.is(of.column, of.quality));
        let first = plan.uses[..at].iter().position(same);
        let Some(first) = first.filter(|_| of.column != Variant) else { continue };
        if of.quality != Quality::Mean {
            plan.uses[at] = ColumnUse::Ignored;
            continue;
        }
        if matches!(of.column, Mechanism | Operation) {
            let other = if are_roles(grid, at) && !are_roles(grid, first) { first } else { at };
            plan.uses[other] = if varies(other) { ColumnUse::Apart } else { ColumnUse::Ignored };
            continue;
        }
        let bytes =
            |at: &usize| ["byte", "octet"].contains(&dictionary::words(&headings[*at]).concat().as_str());
        let total = [at, first].into_iter().find(bytes).filter(|_| of.column == MessageBytes);
        let both = format!("{:?} and {:?} both mean {}", headings[first], headings[at], of.column.title());
        let ignored = ask("ignored", &headings[at], "");
        if let Some(total) = total {
            plan.uses[total] = ColumnUse::Read(ReadAs::mean(Bytes, None));
        } else if same_words(&headings[first], &headings[at]) {
            plan.uses[at] = ColumnUse::Read(ReadAs { quality: Quality::Again, ..of });
        } else if !varies(at) && of.column != MessageBytes {
            plan.uses[at] = ColumnUse::Ignored;
        } else if FIRST.contains(&of.column) || of.column.is_of_operations() {
            return Err(format!("{both}: say which does not, with {ignored} (or another role)"));
        } else {
            // Of two, nothing says which goes with the other figures.
            plan.not_read.push(format!("{both}: {ignored}"));
            (plan.uses[first], plan.uses[at]) = (ColumnUse::Ignored, ColumnUse::Ignored);
        }
    }
    Ok(())
}

/// But for their units.
fn same_words(one: &str, other: &str) -> bool {
    let own = |heading: &str| {
        let mut words = dictionary::tokens(heading);
        words.retain(|word| unit::parse(word).is_err() && !dictionary::is_word("units", word));
        words
    };
    own(one) == own(other)
}

/// Names that nothing knows keep rows apart; without other names they are asked for.
fn apart(plan: &mut ColumnPlan, headings: &[String], named: bool) -> Result<(), String> {
    let unknown = headings.iter().zip(&plan.uses).filter(|(_, of)| **of == ColumnUse::Apart);
    let unknown: Vec<&String> = unknown.map(|(heading, _)| heading).collect();
    let named = named || plan.operations || matches!(plan.across, Some(Mechanism | Operation));
    if !named && unknown.iter().any(|heading| heading.is_empty()) {
        return Err("a column of names has no heading: write one above it".into());
    }
    for heading in unknown {
        let (name, none) = (ask("mechanism", heading, ""), ask("ignored", heading, ""));
        if !named {
            return Err(format!("no heading of names is known: is it {heading:?}? Say {name}, or {none}"));
        }
        plan.not_read.push(format!(
            "{heading:?} keeps rows apart; if it names what competes, {name}; if it tells nothing, {none}"
        ));
    }
    Ok(())
}

/// A table without a figure is refused with all that could be asked.
fn has_figures(plan: &ColumnPlan, headings: &[String], numeric: &[usize]) -> Result<(), String> {
    let sizes = plan.uses.iter().filter_map(ColumnUse::read).any(|of| of.column == MessageBytes);
    if let Some(wide) = expand::suggested(headings, numeric, sizes).filter(|_| plan.across.is_none()) {
        let values = listed(headings, numeric);
        return Err(format!("its headings {values} are values, not quantities: say of what, with {wide}"));
    }
    if plan.uses.iter().filter_map(ColumnUse::mean).any(|of| of.column.is_measure()) {
        return Ok(());
    }
    let asked: Vec<String> = plan.not_read.iter().take(4).cloned().collect();
    let none = "no heading names a figure that is known here";
    Err(if asked.is_empty() { none.into() } else { format!("{none}. {}", asked.join("; ")) })
}

fn listed(headings: &[String], of: &[usize]) -> String {
    of.iter().take(4).map(|at| format!("{:?}", headings[*at])).collect::<Vec<_>>().join(", ")
}
