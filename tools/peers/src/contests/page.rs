//! The comparison as text: for the terminal, and for the page. Pure.

use super::compare::{self, BEHIND, CellResult, ContestResult, LEVEL, ProgramResult};
use super::visited::Visited;
use crate::cell::Cell;
use crate::record::{Record, table};
use std::collections::BTreeSet;
use syscost_core::units::{short_bytes, significant};

const POOLED: [&str; 6] = ["contest", "program", "times as fast", "cells", "quads", "behind in"];

/// What stands between the page's markers.
pub fn markdown(record: &Record<Visited>, results: &[ContestResult]) -> String {
    let mut text = table(&POOLED, pooled_rows(results).map(|row| row.to_vec()));
    text += "\n";
    let sentences = std::iter::once(reading()).chain(sentences(record, results));
    text += &sentences.map(|sentence| format!("{sentence}\n\n")).collect::<String>();
    for result in results {
        text += &format!("### {}\n\nEqual and not: {}.\n\n", result.contest.id, result.contest.terms);
        text += &cells_table(result);
        text += "\n";
    }
    let facts = record.facts.iter().map(|(label, value)| vec![label.clone(), value.replace('|', "/")]);
    text += &table(&["measured with", ""], facts);
    text
}

fn pooled_rows(results: &[ContestResult]) -> impl Iterator<Item = [String; 6]> {
    let row = |result: &ContestResult, one: &ProgramResult| {
        let pooled = one.pooled?;
        Some([
            result.contest.id.to_string(),
            one.program.clone(),
            ratio(pooled.ratio, pooled.low, pooled.high),
            pooled.cells.to_string(),
            pooled.quads.to_string(),
            one.cells.values().filter(|cell| cell.behind()).count().to_string(),
        ])
    };
    results.iter().flat_map(move |result| result.programs.iter().filter_map(move |one| row(result, one)))
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
        let ours =
            result.programs.iter().filter_map(|one| Some(one.cells.get(cell)?.ours)).collect::<Vec<_>>();
        let ours = syscost_core::stats::median(&ours).map(|figure| result.contest.unit().format(figure));
        row.push(ours.unwrap_or_default());
        row.extend(result.programs.iter().map(|one| one.cells.get(cell).map_or(String::new(), shown)));
        row
    };
    table(&headers, cells.into_iter().map(row))
}

/// `1.02 [0.97-1.08]`, in bold where it is behind.
fn shown(cell: &CellResult) -> String {
    let text = ratio(cell.decision.ratio, cell.decision.low, cell.decision.high);
    if cell.behind() { format!("**{text}**") } else { text }
}

/// An interval that is wider tells nothing.
const WIDEST: f64 = 10.0;

/// `1.02 [0.97-1.08]`; alone where next to nothing is known of its error.
fn ratio(value: f64, low: f64, high: f64) -> String {
    match high < WIDEST * low {
        true => format!("{value:.2} [{low:.2}-{high:.2}]"),
        false => format!("{value:.2}"),
    }
}

/// How to read the tables.
fn reading() -> String {
    format!(
        "Times as fast: of throughputs ours over the program's, of times the program's over ours. The mean over cells, each \
         of which counts alike; in brackets its interval at {level} %. A quad is four visits: one, the other, the other, \
         one. Behind: the cell's whole interval, held over all cells of its contest, is below {BEHIND}. A ratio without \
         brackets is one whose interval would span a factor of {WIDEST} or more.",
        level = significant(LEVEL * 100.0)
    )
}

/// What is behind, and what is missing.
fn sentences(record: &Record<Visited>, results: &[ContestResult]) -> Vec<String> {
    let mut sentences = Vec::new();
    let behind: Vec<String> = results.iter().flat_map(behind).collect();
    if !behind.is_empty() {
        sentences.push(format!("Behind: {}.", behind.join("; ")));
    }
    for (contest, program, count, reason) in compare::failures(record) {
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let visits = if count == 1 { "visit" } else { "visits" };
        sentences
            .push(format!("{contest}, {program}: {count} {visits} without a figure; the first: {reason}."));
    }
    sentences
}

fn behind(result: &ContestResult) -> Vec<String> {
    let of = |one: &ProgramResult| {
        let cells = one.cells.iter().filter(|(_, cell)| cell.behind());
        cells
            .map(|(cell, of)| format!("{}, {cell} ({:.2})", one.program, of.decision.ratio))
            .collect::<Vec<_>>()
    };
    result.programs.iter().flat_map(of).collect()
}
