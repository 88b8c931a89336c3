//! One table, told whole: what was read, then what it contradicts, then who is ahead.

use super::{AnalysedTable, places};
use crate::output::{Paint, entry};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use syscost_core::units::count;
use syscost_tables::compare::sentences;
use syscost_tables::remark::{Remark, RemarkKind};
use syscost_tables::summary::{GAPS, RIVALS};
use syscost_tables::{PublishedRow, PublishedTable, ReadColumn, TableColumn};

const INDENT: usize = 15;
/// Names and lines that one sentence shows.
const SHOWN: usize = 8;
/// Rows shown of a table that has more; `--rows` shows all.
const FIRST: usize = 3;
const SCREEN: usize = 80;
/// A name in a row of figures.
const CELL: usize = 20;

pub fn told(one: &AnalysedTable, all_rows: bool, paint: Paint) -> String {
    let AnalysedTable { table, remarks, comparisons, summary } = one;
    let mut out = format!("{}\n", paint.bold(&table.name));
    let cells = if summary.cells == summary.rows {
        String::new()
    } else {
        format!(" ({})", count(summary.cells, "cell"))
    };
    let empty =
        if table.empty > 0 { format!(", {}", count(table.empty, "empty cell")) } else { String::new() };
    let mut say = |label: &str, text: &str| out += &entry(label, INDENT, text);
    say("Read", &format!("{}{cells}{empty}", count(summary.rows, "row")));
    for column in &table.columns {
        say("", &described(table, *column));
    }
    if !table.understood.is_empty() {
        say("Understood", &named(&table.understood, "; "));
    }
    if !table.not_read.is_empty() {
        say("Not read", &named(&table.not_read, "; "));
    }
    out += &figures(table, all_rows);
    let tell = |remark: &Remark| {
        entry(&label(remark.kind, paint), INDENT, &format!("{}{}", remark.text, places(table, &remark.lines)))
    };
    let (wrong, others): (Vec<&Remark>, Vec<&Remark>) =
        remarks.iter().partition(|remark| remark.kind == RemarkKind::Contradiction);
    out.extend(wrong.iter().map(|remark| tell(remark)));
    if wrong.is_empty() {
        out += &entry("Contradictions", INDENT, "none found");
    }
    for (i, sentence) in sentences(table, &comparisons.all).iter().enumerate() {
        out += &entry(if i == 0 { "Comparison" } else { "" }, INDENT, sentence);
    }
    let of_operations = table.has(TableColumn::Operation);
    if let Some(why) = comparisons.none.as_ref().filter(|_| !table.is_transfer() && !of_operations) {
        out += &entry("Comparison", INDENT, &format!("none: {why}"));
    }
    for remark in others {
        out += &tell(remark);
    }
    let missing = GAPS.iter().filter(|(id, _)| summary.cannot_say.contains(id));
    for (i, (id, reason)) in missing.enumerate() {
        let why = comparisons.none.as_ref().filter(|_| *id == RIVALS);
        let told = why.map_or(reason.to_string(), |why| format!("{reason}: {why}"));
        out += &entry(if i == 0 { "Cannot say" } else { "" }, INDENT, &told);
    }
    if table.is_transfer() {
        let next = "`syscost run` repeats cells and tests differences; `syscost audit` counts copies";
        out += &entry("Next", INDENT, next);
    }
    out
}

/// `throughput: "Tput (Gbps)", 0.2 Mbit/s to 144 Gbit/s`
fn described(table: &PublishedTable, column: TableColumn) -> String {
    let told = |read: &ReadColumn| {
        let own = read.unit.is_empty() || read.heading.contains(&read.unit);
        let unit = if own { String::new() } else { format!(" in {}", read.unit) };
        format!("{:?}{unit}", read.heading)
    };
    let headings: Vec<String> =
        table.headings.iter().filter(|read| read.column == column).map(told).collect();
    let headings =
        if headings.is_empty() { String::new() } else { format!("{}, ", named(&headings, " and ")) };
    format!("{}: {headings}{}", table.title(column), span(table, column))
}

/// The names of a column, or its least and largest figure.
fn span(table: &PublishedTable, column: TableColumn) -> String {
    let texts: Vec<String> = table.names(column).into_iter().map(String::from).collect();
    let values = table.rows.iter().filter_map(|row| row.value(column));
    let (least, most) = values.fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(value), b.max(value)));
    // The figures of a table of operations are in the unit of their row.
    let units: BTreeSet<Option<&str>> = table.rows.iter().map(|row| row.text(TableColumn::Unit)).collect();
    if column.is_of_operations() && units.len() > 1 {
        return "in the unit of each row".into();
    }
    let unit = units.into_iter().next().flatten();
    match least.total_cmp(&most) {
        _ if !texts.is_empty() => named(&texts, ", "),
        Ordering::Greater => "no figure".into(),
        Ordering::Equal => column.format(least, unit),
        Ordering::Less => format!("{} to {}", column.format(least, unit), column.format(most, unit)),
    }
}

/// The rows as they were read: the first and the last, or all.
fn figures(table: &PublishedTable, all: bool) -> String {
    let known = |column: &&TableColumn| {
        table.rows.iter().any(|row| row.text(**column).is_some() || row.figure(**column).is_some())
    };
    let columns: Vec<TableColumn> = table.columns.iter().filter(known).copied().collect();
    let line = |row: &PublishedRow| -> Vec<String> {
        let cell = |column: &TableColumn| {
            let unit = row.text(TableColumn::Unit);
            let figure = row.value(*column).map(|value| column.format(value, unit));
            row.text(*column)
                .map(|text| text.chars().take(CELL).collect())
                .or(figure)
                .unwrap_or_else(|| "-".into())
        };
        std::iter::once(row.line.to_string()).chain(columns.iter().map(cell)).collect()
    };
    let shown: Vec<&PublishedRow> = match all || table.rows.len() <= FIRST + 2 {
        true => table.rows.iter().collect(),
        false => table.rows.iter().take(FIRST).chain(table.rows.last()).collect(),
    };
    let heads = std::iter::once("line".to_string()).chain(columns.iter().map(|column| table.title(*column)));
    let lines: Vec<Vec<String>> =
        std::iter::once(heads.collect()).chain(shown.iter().map(|row| line(row))).collect();
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=columns.len()).map(width).collect();
    // A screen has so many columns; who asks for all rows gets them whole.
    let fits =
        |columns: &usize| 2 + widths[..*columns].iter().map(|width| width + 2).sum::<usize>() <= SCREEN + 2;
    let whole = widths.len();
    let within = if all { whole } else { (1..=whole).rev().find(fits).unwrap_or(1) };
    let aligned = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths[..within]).map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut out: String = lines.iter().map(aligned).collect();
    let left = [(table.rows.len() - shown.len(), "row"), (whole - within, "column")];
    let left: Vec<String> =
        left.into_iter().filter(|(many, _)| *many > 0).map(|(many, of)| count(many, of)).collect();
    if !left.is_empty() {
        out += &format!("  ({} more: --rows)\n", left.join(" and "));
    }
    out
}

fn named(names: &[String], joint: &str) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(joint);
    let more = names.len().saturating_sub(SHOWN);
    if more > 0 { format!("{shown}{joint}{more} more") } else { shown }
}

fn label(kind: RemarkKind, paint: Paint) -> String {
    match kind {
        RemarkKind::Contradiction => paint.red("Contradiction"),
        RemarkKind::Caution => paint.yellow("Caution"),
        RemarkKind::Unexpected => paint.yellow("Unexpected"),
    }
}
