//! One table, told whole: what was read, then what it contradicts, then who is ahead.

use super::{AnalysedTable, places};
use crate::output::{self, Color, Paint, entry};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use syscost_core::units::count;
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::text::ending::EndTable;
use syscost_tables::compare::sentences;
use syscost_tables::remark::{Remark, RemarkKind};
use syscost_tables::summary::{GAPS, RIVALS};
use syscost_tables::{PublishedRow, PublishedTable, ReadColumn, TableColumn};

const INDENT: usize = 15;
/// Names and lines that one sentence shows.
const SHOWN: usize = 8;
/// Rows shown of a table that has more; `--rows` shows all.
const FIRST: usize = 3;
/// A name in a row of figures.
const CELL: usize = 20;

pub fn told(one: &AnalysedTable, all_rows: bool, color: Color) -> String {
    let (AnalysedTable { table, remarks, comparisons, summary }, paint) = (one, Paint::stdout(color));
    let cells = (summary.cells != summary.rows).then(|| format!(" ({})", count(summary.cells, "cell")));
    let empty = (table.empty > 0).then(|| format!(", {}", count(table.empty, "empty cell")));
    let read = [Some(count(summary.rows, "row")), cells, empty].into_iter().flatten().collect::<String>();
    let columns = table.columns.iter().map(|column| described(table, *column));
    let list = |texts: &[String]| (!texts.is_empty()).then(|| named(texts, "; "));
    let mut out = format!("{}\n", paint.bold(&table.name));
    out += &entries("Read", std::iter::once(read).chain(columns));
    out += &entries("Understood", list(&table.understood));
    out += &entries("Not read", list(&table.not_read));
    out += &figures(table, all_rows, color);
    let tell = |remark: &&Remark| {
        let text = format!("{}{}", remark.text, places(table, &remark.lines));
        entries(&label(remark.kind, paint), [text])
    };
    let (wrong, others): (Vec<&Remark>, Vec<&Remark>) =
        remarks.iter().partition(|remark| remark.kind == RemarkKind::Contradiction);
    out += &entries("Contradictions", wrong.is_empty().then(|| "none found".into()));
    out.extend(wrong.iter().map(tell));
    out += &entries("Comparison", sentences(table, comparisons.as_deref().unwrap_or_default()));
    let asked = table.is_transfer() || table.has(TableColumn::Operation);
    let none = comparisons.as_ref().err().filter(|_| !asked);
    out += &entries("Comparison", none.map(|why| format!("none: {why}")));
    out.extend(others.iter().map(tell));
    let gap = |(id, reason): &(&str, &str)| {
        let why = comparisons.as_ref().err().filter(|_| *id == RIVALS);
        why.map_or(reason.to_string(), |why| format!("{reason}: {why}"))
    };
    out += &entries("Cannot say", GAPS.iter().filter(|(id, _)| summary.cannot_say.contains(id)).map(gap));
    let next = "`syscost run` repeats cells and tests differences; `syscost audit` counts copies";
    out + &entries("Next", table.is_transfer().then(|| next.into()))
}

/// The label stands before the first.
fn entries(label: &str, texts: impl IntoIterator<Item = String>) -> String {
    let texts = texts.into_iter().enumerate();
    texts.map(|(at, text)| entry(if at == 0 { label } else { "" }, INDENT, &text)).collect()
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

/// The rows as they were read: the first and the last, or all with every column.
fn figures(table: &PublishedTable, all_rows: bool, color: Color) -> String {
    let known = |column: &&TableColumn| {
        table.rows.iter().any(|row| row.text(**column).is_some() || row.figure(**column).is_some())
    };
    let columns: Vec<TableColumn> = table.columns.iter().filter(known).copied().collect();
    let line = |row: &PublishedRow| -> Vec<String> {
        let cell = |column: &TableColumn| {
            let text = row.text(*column).map(|text| text.chars().take(CELL).collect());
            let figure = || Some(column.format(row.value(*column)?, row.text(TableColumn::Unit)));
            text.or_else(figure).unwrap_or_else(|| "-".into())
        };
        std::iter::once(row.line.to_string()).chain(columns.iter().map(cell)).collect()
    };
    let all = all_rows || table.rows.len() <= FIRST + 2;
    let shown: Vec<&PublishedRow> = match all {
        true => table.rows.iter().collect(),
        false => table.rows.iter().take(FIRST).chain(table.rows.last()).collect(),
    };
    let left = table.rows.len() - shown.len();
    let titles = columns.iter().map(|column| table.title(*column));
    let told = EndTable {
        title: None,
        columns: std::iter::once("line".to_string()).chain(titles).collect(),
        rows: shown.into_iter().map(line).collect(),
        note: (left > 0).then(|| format!("({} more: --rows)", count(left, "row"))),
    };
    let look = output::look(color);
    let width = if all_rows { u16::MAX } else { look.width };
    terminal::table(&told, TerminalLook { width, ..look }) + "\n"
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
