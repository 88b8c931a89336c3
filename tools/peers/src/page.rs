//! The comparison as text: for the terminal, and for the page. Pure.

use crate::cell::Cell;
use crate::compare::{self, AGREEMENT, BEHIND, CellResult, ContestResult, LEVEL, ProgramResult, Verdict};
use crate::contest::Page;
use crate::record::{self, Record, table};
use std::collections::BTreeSet;
use syscost_core::decide::Decision;
use syscost_core::units::{short_bytes, significant};

const POOLED: [&str; 6] = ["contest", "program", "times as fast", "cells", "quads", "behind in"];

const OPERATIONS: [&str; 8] =
    ["row", "syscost", "program", "its figure", "times as fast", "our spread", "its spread", "within 10 %"];

/// What stands between the page's markers.
pub fn markdown(page: Page, record: &Record, results: &[ContestResult]) -> String {
    let operations = page == Page::Os;
    let mut text = match operations {
        true => table(&OPERATIONS, operation_rows(results)),
        false => table(&POOLED, pooled_rows(results)),
    };
    text += "\n";
    let read = std::iter::once(reading(operations));
    let said = if operations { agreement(results) } else { Vec::new() };
    let sentences = read.chain(said).chain(failures(record));
    text += &sentences.map(|sentence| format!("{sentence}\n\n")).collect::<String>();
    match operations {
        true => text += &differences(results),
        false => text += &results.iter().map(section).collect::<String>(),
    }
    text + &record::measured_with(&record.facts)
}

fn section(result: &ContestResult) -> String {
    let terms = &result.contest.terms;
    format!("### {}\n\nEqual and not: {terms}.\n\n{}\n", result.contest.id, cells_table(result))
}

/// Every program beside ours, where each contest has one cell.
fn compared(
    results: &[ContestResult],
) -> impl Iterator<Item = (&ContestResult, &ProgramResult, &CellResult)> {
    results.iter().flat_map(|result| {
        let programs = result.programs.iter();
        programs.flat_map(move |one| one.cells.values().map(move |cell| (result, one, cell)))
    })
}

fn operation_rows(results: &[ContestResult]) -> impl Iterator<Item = Vec<String>> {
    let percent = |share: Option<f64>| share.map_or("n/a".into(), |share| format!("{:.1} %", 100.0 * share));
    compared(results).map(move |(result, one, cell)| {
        let verdict = match cell.verdict() {
            Verdict::Agrees => "yes",
            Verdict::Undecided => "cannot be told",
            Verdict::Differs => "no",
        };
        vec![
            result.contest.name().into(),
            result.contest.show(cell.ours.median),
            one.program.clone(),
            result.contest.show(cell.theirs.median),
            ratio(&cell.decision),
            percent(cell.ours.spread),
            percent(cell.theirs.spread),
            verdict.into(),
        ]
    })
}

/// How often programs agree with ours, and how steady both are.
fn agreement(results: &[ContestResult]) -> Vec<String> {
    let all: Vec<&CellResult> = compared(results).map(|(.., cell)| cell).collect();
    let count = |verdict: Verdict| all.iter().filter(|cell| cell.verdict() == verdict).count();
    let spreads: Vec<(f64, f64)> =
        all.iter().filter_map(|cell| cell.ours.spread.zip(cell.theirs.spread)).collect();
    vec![
        format!(
            "`syscost` and a program agree within {:.0} % in {} of {} comparisons; in {} more the interval reaches that far; \
             in {} they differ.",
            100.0 * (AGREEMENT - 1.0),
            count(Verdict::Agrees),
            all.len(),
            count(Verdict::Undecided),
            count(Verdict::Differs)
        ),
        format!(
            "From visit to visit, `syscost` spreads no more than the program in {} of {} comparisons.",
            spreads.iter().filter(|(ours, theirs)| ours <= theirs).count(),
            spreads.len()
        ),
    ]
}

/// What each command does otherwise than ours: the known reason where both do not agree.
fn differences(results: &[ContestResult]) -> String {
    let item = |(result, one, cell): (&ContestResult, &ProgramResult, &CellResult)| {
        let rival = result.contest.rivals().find(|rival| rival.id == one.program)?;
        let measure = rival.measures(&result.contest.id)?;
        let apart = match cell.verdict() {
            Verdict::Agrees => String::new(),
            _ => format!(", {:.2} times as fast", cell.decision.ratio),
        };
        let (name, command) = (result.contest.name(), &measure.command);
        Some(format!("- {name}, {}{apart} (`{command}`): {}.\n", one.program, measure.differs))
    };
    let items: String = compared(results).filter_map(item).collect();
    format!("### What each command does otherwise\n\n{items}\n")
}

fn pooled_rows(results: &[ContestResult]) -> impl Iterator<Item = Vec<String>> {
    let row = |(result, one): (&ContestResult, &ProgramResult)| {
        vec![
            result.contest.id.to_string(),
            one.program.clone(),
            ratio(&one.pooled),
            one.cells.len().to_string(),
            one.quads.to_string(),
            one.cells.values().filter(|cell| cell.behind()).count().to_string(),
        ]
    };
    results.iter().flat_map(|result| result.programs.iter().map(move |one| (result, one))).map(row)
}

/// One row for each cell, one column for each program.
fn cells_table(result: &ContestResult) -> String {
    let of_all = result.programs.iter().flat_map(|one| one.cells.keys());
    let several = |of: fn(&Cell) -> u64| of_all.clone().map(of).collect::<BTreeSet<_>>().len() > 1;
    let (nodelay, streams) = (several(|cell| cell.nodelay.into()), several(|cell| cell.streams.into()));
    let cells: BTreeSet<&Cell> = of_all.clone().collect();
    let mut headers = vec!["path"];
    headers.extend(nodelay.then_some("NODELAY"));
    headers.extend(streams.then_some("streams"));
    headers.extend(["size", "syscost"]);
    headers.extend(result.programs.iter().map(|one| one.program.as_str()));
    let row = |cell: &Cell| {
        let mut row = vec![cell.path.to_string()];
        row.extend(nodelay.then(|| cell.nodelay_text().to_string()));
        row.extend(streams.then(|| cell.streams.to_string()));
        row.push(short_bytes(cell.message_bytes));
        let ours = result
            .programs
            .iter()
            .filter_map(|one| Some(one.cells.get(cell)?.ours.median))
            .collect::<Vec<_>>();
        let ours = syscost_core::stats::median(&ours).map(|figure| result.contest.show(figure));
        row.push(ours.unwrap_or_default());
        row.extend(result.programs.iter().map(|one| one.cells.get(cell).map_or(String::new(), shown)));
        row
    };
    table(&headers, cells.into_iter().map(row))
}

/// `1.02 [0.97-1.08]`, in bold where it is behind.
fn shown(cell: &CellResult) -> String {
    let text = ratio(&cell.decision);
    if cell.behind() { format!("**{text}**") } else { text }
}

/// An interval that is wider tells nothing.
const WIDEST: f64 = 10.0;

/// `1.02 [0.97-1.08]`; alone where next to nothing is known of its error.
fn ratio(of: &Decision) -> String {
    match of.high < WIDEST * of.low {
        true => format!("{:.2} [{:.2}-{:.2}]", of.ratio, of.low, of.high),
        false => format!("{:.2}", of.ratio),
    }
}

/// How to read the tables.
fn reading(operations: bool) -> String {
    let level = significant(LEVEL * 100.0);
    let held = if operations {
        format!(
            "in brackets its interval at {level} %, held over all programs of the row. Figures are medians over visits; spread is \
             the interquartile range over the median."
        )
    } else {
        format!(
            "The mean over cells, each of which counts alike; in brackets its interval at {level} %, by what cells differ by. A quad is four visits: one, \
             the other, the other, one. Behind, and in bold below: the cell's whole interval, held over all cells of its contest, is below {BEHIND}."
        )
    };
    let comma = if operations { ";" } else { "." };
    format!(
        "Times as fast: of throughputs ours over the program's, of times the program's over ours{comma} {held} A ratio without \
         brackets is one whose interval would span a factor of {WIDEST} or more."
    )
}

/// What is missing.
fn failures(record: &Record) -> Vec<String> {
    let sentence = |(contest, program, count, reason): (&str, &str, usize, &str)| {
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let visits = if count == 1 { "visit" } else { "visits" };
        format!("{contest}, {program}: {count} {visits} without a figure; the first: {reason}.")
    };
    compare::failures(record).into_iter().map(sentence).collect()
}
