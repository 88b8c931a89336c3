//! `analyse FILE`: what somebody's table of results says, contradicts and cannot support.

use crate::args::{AnalyseArgs, Global};
use crate::output::{self, Paint, entry};
use crate::text_file;
use anyhow::{Result, bail};
use serde_json::json;
use std::path::Path;
use syscost_core::units::count;
use syscost_tables::overtakes::{Overtake, overtakes};
use syscost_tables::remark::{Remark, RemarkKind, remarks};
use syscost_tables::{self as table, ColumnMapping, PublishedTable, TableColumn};

const INDENT: usize = 15;
/// Beyond this a file is no table of results.
const MOST_BYTES: u64 = 16 << 20;
/// Line numbers that one sentence shows.
const LINES: usize = 8;

pub fn run(args: &AnalyseArgs, global: &Global) -> Result<()> {
    let mapping = match &args.mapping {
        Some(path) => ColumnMapping::from_toml(&text(path)?, &path.display().to_string())?,
        None => ColumnMapping::default(),
    };
    let mut documents = Vec::new();
    for table in tables(&args.files, &mapping)? {
        let (remarks, overtakes) = (remarks(&table), overtakes(&table));
        if global.json {
            let told: Vec<String> = overtakes.iter().map(Overtake::sentence).collect();
            documents.push(json!({
                "file": table.name, "rows": table.rows.len(), "columns": table.columns,
                "understood": table.understood, "empty_cells": table.empty, "remarks": remarks,
                "overtakes": overtakes, "answers": told,
            }));
        } else {
            output::print(&told(&table, &remarks, &overtakes, Paint::stdout(global.color)))?;
        }
    }
    if global.json {
        output::print_json(&documents)?;
    }
    Ok(())
}

/// One table a file; the single runs of other tools (one row each) are one table together.
fn tables(files: &[std::path::PathBuf], mapping: &ColumnMapping) -> Result<Vec<PublishedTable>> {
    let mut tables: Vec<PublishedTable> = Vec::new();
    let mut single = PublishedTable::default();
    for path in files {
        let name = path.display().to_string();
        let mut table = table::read(&name, &text(path)?, mapping)?;
        if table.rows.len() > 1 || files.len() == 1 {
            tables.push(table);
            continue;
        }
        single.name = if single.name.is_empty() { name } else { format!("{}, {name}", single.name) };
        table.columns.retain(|column| !single.columns.contains(column));
        single.columns.append(&mut table.columns);
        table.understood.retain(|note| !single.understood.contains(note));
        single.understood.append(&mut table.understood);
        for row in &mut table.rows {
            row.line = single.rows.len() + 1;
        }
        single.rows.append(&mut table.rows);
    }
    if !single.rows.is_empty() {
        tables.push(single);
    }
    Ok(tables)
}

fn text(path: &Path) -> Result<String> {
    if path.is_dir() {
        bail!("{} is a directory: for a recorded run, `syscost report {0}`", path.display());
    }
    text_file::read(path, MOST_BYTES, "table of results", "name a smaller part of it")
}

fn told(table: &PublishedTable, remarks: &[Remark], overtakes: &[Overtake], paint: Paint) -> String {
    let titles: Vec<String> = table.columns.iter().map(|c| c.title()).collect();
    let rows = count(table.rows.len(), "row");
    let mut out = format!("{}\n", paint.bold(&table.name));
    out += &entry("Table", INDENT, &format!("{rows} of {}", titles.join(", ")));
    for (i, note) in table.understood.iter().enumerate() {
        out += &entry(if i == 0 { "Read as" } else { "" }, INDENT, note);
    }
    if table.empty > 0 {
        out += &entry("Not given", INDENT, &format!("{} figures are empty", table.empty));
    }
    for remark in remarks {
        out +=
            &entry(&label(remark.kind, paint), INDENT, &format!("{}{}", remark.text, lines(&remark.lines)));
    }
    if remarks.is_empty() {
        out += &entry("Contradictions", INDENT, "none found among the columns that it has");
    }
    for (i, overtake) in overtakes.iter().enumerate() {
        out += &entry(if i == 0 { "Who beats whom" } else { "" }, INDENT, &overtake.sentence());
    }
    if overtakes.is_empty() && table.has(TableColumn::MessageBytes) {
        out += &entry(
            "Who beats whom",
            INDENT,
            "cannot be answered: no two ways of which one is two-copy have figures at one size and thread count",
        );
    }
    out += &entry("Not answered", INDENT, &unanswered(table));
    out + "\n"
}

/// The questions for which the table has no column, and what would answer them.
fn unanswered(table: &PublishedTable) -> String {
    let mut lacking =
        vec!["where the copies happen and what zero-copy really did (`syscost audit` counts them)"];
    if !table.has(TableColumn::CacheMisses) {
        lacking.push("which cache misses fall (no such column)");
    }
    if !table.has(TableColumn::ContextSwitches) {
        lacking.push("what threads do to context switches (no such column)");
    }
    if table.has(TableColumn::MessageBytes) {
        lacking.push("which difference is real (`syscost run` repeats and interleaves its cells)");
    }
    format!("from this table: {}", lacking.join("; "))
}

fn label(kind: RemarkKind, paint: Paint) -> String {
    match kind {
        RemarkKind::Contradiction => paint.red("Contradiction"),
        RemarkKind::Caution => paint.yellow("Caution"),
        RemarkKind::Unexpected => paint.yellow("Unexpected"),
    }
}

/// ` (lines 4, 5 and 7)`
fn lines(lines: &[usize]) -> String {
    match lines {
        [] => String::new(),
        [one] => format!(" (line {one})"),
        many => {
            let shown: Vec<String> = many.iter().take(LINES).map(usize::to_string).collect();
            let more = if many.len() > LINES { ", ..." } else { "" };
            format!(" (lines {}{more})", shown.join(", "))
        }
    }
}
