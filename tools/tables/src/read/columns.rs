//! What each column of a grid is: by the options, else by the dictionary. A column that is not known is left out where
//! nothing depends on it, and asked for where something does.

use super::cell;
use super::expand;
use super::plan::{ColumnPlan, ColumnUse};
use crate::dictionary::{self, HeadingMeaning, Quality};
use crate::grid::Grid;
use crate::unit::{DecimalMark, Dimension};
use crate::{BadTable, ReadingOptions, TableColumn, role};
use std::collections::BTreeSet;
use syscost_host::remote::transport::words::quote;

/// What is asked of the reader, with the headings as they are written.
pub fn ask(role: &str, heading: &str, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(":{unit}") };
    format!("--column {}", quote(&format!("{role}={heading}{unit}")))
}

/// Of which the whole table is asked for: it says little without.
const FIRST: [TableColumn; 5] = [
    TableColumn::Mechanism,
    TableColumn::MessageBytes,
    TableColumn::Threads,
    TableColumn::Throughput,
    TableColumn::Latency,
];

pub fn plan(
    name: &str,
    grid: &Grid,
    options: &ReadingOptions,
    mark: DecimalMark,
) -> Result<ColumnPlan, BadTable> {
    let headings = &grid.headings.cells;
    let bad = |why: String| BadTable::at(name, grid.headings.line, why);
    let (mut meanings, operations) = meanings(headings, options);
    names_by_their_roles(&mut meanings, grid);
    if meanings.iter().all(|of| of.column.is_none()) && options.wide.is_none() {
        return Err(bad(format!(
            "no heading is known here: {}",
            listed(headings, &(0..headings.len()).collect::<Vec<_>>())
        )));
    }
    let cells = |at: usize| {
        grid.rows.iter().map(move |row| row.cells[at].as_str()).filter(|cell| !cell::is_empty(cell))
    };
    let is_numeric =
        |at: usize| cells(at).next().is_some() && cells(at).all(|cell| cell::number(cell, mark).is_some());
    let varies = |at: usize| cells(at).collect::<BTreeSet<_>>().len() > 1;
    let unknown: Vec<usize> = (0..headings.len()).filter(|at| meanings[*at].column.is_none()).collect();
    let numeric: Vec<usize> = unknown.iter().copied().filter(|at| is_numeric(*at)).collect();
    let mut plan = ColumnPlan { operations, ..ColumnPlan::default() };
    let named =
        meanings.iter().any(|of| matches!(of.column, Some(TableColumn::Mechanism | TableColumn::Operation)));
    let across = expand::across(headings, &numeric, options, named).map_err(bad)?;
    plan.across = across.as_ref().map(|across| across.column);
    for at in 0..headings.len() {
        let heading = &headings[at];
        let found = across.as_ref().and_then(|across| across.of.get(&at)).cloned();
        let of = match (found, &meanings[at]) {
            (Some(of), _) => of,
            (
                None,
                HeadingMeaning { column: Some(TableColumn::Ignored), .. }
                | HeadingMeaning { quality: Quality::Tail, .. },
            ) => ColumnUse::Ignored,
            // One name for all rows tells none apart.
            (None, HeadingMeaning { column: Some(TableColumn::Variant), .. }) if !varies(at) => {
                ColumnUse::Ignored
            }
            (None, HeadingMeaning { column: Some(column), quality, unit, unit_text, .. }) => {
                ColumnUse::Read {
                    column: *column,
                    quality: *quality,
                    unit: *unit,
                    unit_text: unit_text.clone(),
                }
            }
            (None, _) if cells(at).next().is_none() => ColumnUse::Ignored,
            (None, _) if !is_numeric(at) && varies(at) => ColumnUse::Apart,
            (None, meaning) => {
                let doubt = meaning.doubt.as_ref().map_or(String::new(), |doubt| format!(" ({doubt})"));
                let role = meaning.doubted.map_or_else(|| "ROLE".into(), TableColumn::id);
                let unit = if meaning.doubted.is_some() { "UNIT" } else { "" };
                plan.not_read.push(format!("{heading:?}{doubt}: {}", ask(&role, heading, unit)));
                ColumnUse::Left
            }
        };
        plan.uses.push(of);
    }
    without_units(&mut plan, grid, mark);
    spreads(&mut plan, &meanings);
    expand::only_runs_or_mean(&mut plan);
    twice(&mut plan, grid, &varies).map_err(bad)?;
    apart(&mut plan, headings, named).map_err(bad)?;
    has_figures(&plan, headings, &numeric, across.is_some()).map_err(bad)?;
    Ok(plan)
}

/// By the options, else by the dictionary; and is it a table of operations?
fn meanings(headings: &[String], options: &ReadingOptions) -> (Vec<HeadingMeaning>, bool) {
    let of = |operations: bool| -> Vec<HeadingMeaning> {
        let meaning = |heading: &String| {
            let own = dictionary::heading(heading, operations);
            let Some(given) = options.column(heading) else { return own };
            let (unit, text) =
                given.unit.clone().map_or((own.unit, own.unit_text), |(unit, text)| (Some(unit), text));
            HeadingMeaning { column: Some(given.column), unit, unit_text: text, ..HeadingMeaning::default() }
        };
        headings.iter().map(meaning).collect()
    };
    use TableColumn::{Measured, Mechanism, MessageBytes, Operation, Threads};
    let mut plain = of(false);
    let has =
        |all: &[TableColumn]| plain.iter().any(|of| of.column.is_some_and(|column| all.contains(&column)));
    let sure = plain.iter().any(|of| of.column.is_some_and(TableColumn::is_of_operations));
    let operations = of(true);
    let mean = |of: &&HeadingMeaning| of.column == Some(Measured) && of.quality == Quality::Mean;
    let one = operations.iter().filter(mean).count() == 1;
    let is_of_operations = sure && has(&[Operation, Mechanism])
        || has(&[Operation]) && !has(&[Mechanism, MessageBytes, Threads]) && one;
    if is_of_operations {
        let mut all = if one { operations } else { plain };
        // `case, predicted, measured`
        if !all.iter().any(|of| of.column == Some(Operation)) {
            all.iter_mut()
                .filter(|of| of.column == Some(Mechanism))
                .take(1)
                .for_each(|of| of.column = Some(Operation));
        }
        return (all, true);
    }
    if !has(&[Mechanism]) {
        plain
            .iter_mut()
            .filter(|of| of.column == Some(Operation))
            .take(1)
            .for_each(|of| of.column = Some(Mechanism));
    }
    (plain, false)
}

/// Without a column of names, one whose every cell is a name of a known role: `A1`, `two copy`.
fn names_by_their_roles(meanings: &mut [HeadingMeaning], grid: &Grid) {
    let is_name =
        |of: &HeadingMeaning| matches!(of.column, Some(TableColumn::Mechanism | TableColumn::Operation));
    if meanings.iter().any(is_name) {
        return;
    }
    let roles = |at: usize| grid.rows.iter().all(|row| role::of(&row.cells[at]).is_some());
    let free = |of: &HeadingMeaning| matches!(of.column, None | Some(TableColumn::Variant));
    if let Some(at) = (0..meanings.len()).find(|at| free(&meanings[*at]) && roles(*at)) {
        meanings[at] = HeadingMeaning { column: Some(TableColumn::Mechanism), ..HeadingMeaning::default() };
    }
}

/// What needs a unit and has none, neither in its heading nor in its cells, is not read.
fn without_units(plan: &mut ColumnPlan, grid: &Grid, mark: DecimalMark) {
    for at in 0..plan.uses.len() {
        let ColumnUse::Read { column, unit: None, .. } = plan.uses[at] else { continue };
        let Some((dimension, false)) = cell::dimension(column) else { continue };
        let own = |cell: &str| cell::is_empty(cell) || cell::figure(column, cell, None, mark).is_ok();
        if grid.rows.iter().all(|row| own(&row.cells[at])) {
            continue;
        }
        let example = if dimension == Dimension::Rate {
            "Gbit/s"
        } else if column == TableColumn::Elapsed {
            "s"
        } else {
            "us"
        };
        let heading = &grid.headings.cells[at];
        plan.not_read.push(format!(
            "{heading:?} has no unit: {} (or another unit)",
            ask(&column.id(), heading, example)
        ));
        plan.uses[at] = ColumnUse::Left;
    }
}

/// A spread that names no quantity is of the one that has its unit, or of the only one.
fn spreads(plan: &mut ColumnPlan, meanings: &[HeadingMeaning]) {
    let means = |of: &ColumnUse| match of {
        ColumnUse::Read { column, quality: Quality::Mean, .. } if column.is_measure() => Some(*column),
        _ => None,
    };
    let measures: Vec<TableColumn> = plan.uses.iter().filter_map(means).collect();
    for (at, meaning) in meanings.iter().enumerate() {
        let bare = meaning.column == Some(TableColumn::Ignored)
            && !matches!(meaning.quality, Quality::Mean | Quality::Tail);
        let suits = |column: &&TableColumn| match meaning.unit {
            Some(unit) => {
                cell::dimension(**column).is_some_and(|(of, _)| of == unit.dimension)
                    || column.is_of_operations()
            }
            None => true,
        };
        let mut of = measures.iter().filter(suits);
        if let (true, Some(column), None) = (bare, of.next(), of.next()) {
            // Without a unit of its own it has that of its quantity.
            let unit = meaning.unit.or_else(|| meanings.iter().find(|m| m.column == Some(*column))?.unit);
            let unit_text = meaning.unit_text.clone();
            plan.uses[at] = ColumnUse::Read { column: *column, quality: meaning.quality, unit, unit_text };
        }
    }
}

/// Several columns of one quantity: the same in two units, a rate that names its words, or a question.
fn twice(plan: &mut ColumnPlan, grid: &Grid, varies: &dyn Fn(usize) -> bool) -> Result<(), String> {
    let headings = &grid.headings.cells;
    for at in 0..plan.uses.len() {
        let ColumnUse::Read { column, quality, unit, .. } = plan.uses[at].clone() else { continue };
        let same = |of: &ColumnUse| matches!(of, ColumnUse::Read { column: c, quality: q, .. } if *c == column && *q == quality);
        let Some(first) = (0..at).find(|earlier| same(&plan.uses[*earlier])) else { continue };
        if column == TableColumn::Variant {
            continue;
        }
        if quality != Quality::Mean {
            plan.uses[at] = ColumnUse::Ignored;
            continue;
        }
        if matches!(column, TableColumn::Mechanism | TableColumn::Operation) {
            let known = |at: usize| grid.rows.iter().all(|row| role::of(&row.cells[at]).is_some());
            let other = if known(at) && !known(first) { first } else { at };
            plan.uses[other] = if varies(other) { ColumnUse::Apart } else { ColumnUse::Ignored };
            continue;
        }
        let bytes =
            |at: usize| ["byte", "octet"].contains(&dictionary::words(&headings[at]).concat().as_str());
        if column == TableColumn::MessageBytes && (bytes(at) || bytes(first)) {
            let total = if bytes(at) { at } else { first };
            plan.uses[total] =
                ColumnUse::Read { column: TableColumn::Bytes, quality, unit: None, unit_text: String::new() };
        } else if same_words(&headings[first], &headings[at]) {
            plan.uses[at] = ColumnUse::Twice { first, unit };
        } else if !varies(at) && column != TableColumn::MessageBytes {
            plan.uses[at] = ColumnUse::Ignored;
        } else if FIRST.contains(&column) || column.is_of_operations() {
            return Err(format!(
                "{:?} and {:?} both mean {}: say which does not, with {} (or another role)",
                headings[first],
                headings[at],
                column.title(),
                ask("ignored", &headings[at], "")
            ));
        } else {
            // Of two, nothing says which goes with the other figures.
            let which = ask("ignored", &headings[at], "");
            plan.not_read.push(format!(
                "{:?} and {:?} both mean {}: {which}",
                headings[first],
                headings[at],
                column.title()
            ));
            (plan.uses[first], plan.uses[at]) = (ColumnUse::Ignored, ColumnUse::Ignored);
        }
    }
    Ok(())
}

/// But for their units.
fn same_words(one: &str, other: &str) -> bool {
    let own = |heading: &str| {
        let mut words = dictionary::tokens(heading);
        words.retain(|word| {
            crate::unit::parse(word).is_err()
                && !["gb", "mb", "kb", "bit", "per", "sec"].contains(&word.as_str())
        });
        words
    };
    own(one) == own(other)
}

/// Names that nothing knows keep rows apart; without other names they are asked for.
fn apart(plan: &mut ColumnPlan, headings: &[String], named: bool) -> Result<(), String> {
    let unknown: Vec<usize> = (0..headings.len()).filter(|at| plan.uses[*at] == ColumnUse::Apart).collect();
    let across = matches!(plan.across, Some(TableColumn::Mechanism | TableColumn::Operation));
    let named = named || across || plan.operations;
    if !named && unknown.iter().any(|at| headings[*at].is_empty()) {
        return Err("a column of names has no heading: write one above it".into());
    }
    if !named && let Some(first) = unknown.first() {
        return Err(format!(
            "no heading of names is known: is it {:?}? Say {}, or {}",
            headings[*first],
            ask("mechanism", &headings[*first], ""),
            ask("ignored", &headings[*first], "")
        ));
    }
    for at in unknown {
        let heading = &headings[at];
        plan.not_read.push(format!(
            "{heading:?} keeps rows apart; if it names what competes, {}; if it tells nothing, {}",
            ask("mechanism", heading, ""),
            ask("ignored", heading, "")
        ));
    }
    Ok(())
}

/// A table without a figure is refused with all that could be asked.
fn has_figures(
    plan: &ColumnPlan,
    headings: &[String],
    numeric: &[usize],
    across: bool,
) -> Result<(), String> {
    let measured = |of: &ColumnUse| match of {
        ColumnUse::Read { column, quality: Quality::Mean, .. } => column.is_measure(),
        ColumnUse::Across { .. } => true,
        _ => false,
    };
    let sizes =
        plan.uses.iter().any(|of| matches!(of, ColumnUse::Read { column: TableColumn::MessageBytes, .. }));
    if let Some(wide) = expand::suggested(headings, numeric, sizes).filter(|_| !across) {
        return Err(format!(
            "its headings {} are values, not quantities: say of what, with {wide}",
            listed(headings, numeric)
        ));
    }
    if plan.uses.iter().any(measured) {
        return Ok(());
    }
    let asked: Vec<String> = plan.not_read.iter().take(4).cloned().collect();
    Err(match asked.is_empty() {
        true => "no heading names a figure that is known here".into(),
        false => format!("no heading names a figure that is known here. {}", asked.join("; ")),
    })
}

fn listed(headings: &[String], of: &[usize]) -> String {
    of.iter().take(4).map(|at| format!("{:?}", headings[*at])).collect::<Vec<_>>().join(", ")
}
