//! `analyse FILE...`: what people's tables of results say, contradict and cannot support.

mod many;
mod one;

use crate::args::{AnalyseArgs, Global, ReadingArgs};
use crate::output::{self, Paint};
use crate::text_file;
use anyhow::{Result, anyhow, bail};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_experiment::run::group::is_run;
use syscost_tables::compare::{TableComparisons, compare, sentences};
use syscost_tables::remark::{Remark, remarks};
use syscost_tables::summary::TableSummary;
use syscost_tables::{self as table, PublishedRow, PublishedTable, ReadingOptions};

/// Beyond this a file is no table of results.
const MOST_BYTES: u64 = 16 << 20;
/// A table contradicts itself.
const CONTRADICTIONS: u8 = 1;
/// A file could not be read; the others were.
const BAD_FILE: u8 = 2;

/// A table, and all that is to be said about it.
struct AnalysedTable {
    table: PublishedTable,
    remarks: Vec<Remark>,
    comparisons: TableComparisons,
    summary: TableSummary,
}

/// A file that is no table, and why.
pub struct BadFile {
    name: String,
    pub error: String,
}

impl AnalysedTable {
    fn of(table: PublishedTable) -> AnalysedTable {
        let remarks = remarks(&table);
        let comparisons = compare(&table, &remarks);
        let summary = TableSummary::of(&table, &remarks, &comparisons);
        AnalysedTable { table, remarks, comparisons, summary }
    }
}

pub fn run(args: &AnalyseArgs, global: &Global) -> Result<ExitCode> {
    let (tables, bad) = tables(&args.files, &args.reading)?;
    let analysed: Vec<AnalysedTable> = tables.into_iter().map(AnalysedTable::of).collect();
    if global.json {
        let good = analysed.iter().map(document);
        let bad = bad.iter().map(|bad| json!({ "file": bad.name, "error": bad.error }));
        output::print_json(&good.chain(bad).collect::<Vec<_>>())?;
    } else if let [one] = &analysed[..] {
        output::print(&one::told(one, args.rows, global.color))?;
    } else if !analysed.is_empty() {
        output::print(&many::told(&analysed, &bad, Paint::stdout(global.color)))?;
    }
    for BadFile { error, .. } in &bad {
        output::complain(&format!("{} {error}", Paint::stderr(global.color).red("error:")));
    }
    let contradictions = analysed.iter().any(|one| !one.summary.contradictions.is_empty());
    Ok(match (bad.is_empty(), contradictions) {
        (false, _) => ExitCode::from(BAD_FILE),
        (true, true) => ExitCode::from(CONTRADICTIONS),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Translates the options of the command line into those of the reader.
fn options(args: &ReadingArgs) -> Result<ReadingOptions> {
    let mut options = ReadingOptions::default();
    (options.threads, options.seconds) = (args.threads, args.seconds);
    options.decimal = args.decimal.as_ref().and_then(|mark| mark.chars().next());
    let mut give = |option: &str, text: &String| {
        let given = match option {
            "--column" => options.give_column(text),
            "--wide" => options.give_wide(text),
            _ => options.give_name(text),
        };
        given.map_err(|why| anyhow!("{option} {why}"))
    };
    args.column.iter().try_for_each(|text| give("--column", text))?;
    args.wide.iter().try_for_each(|text| give("--wide", text))?;
    args.name.iter().try_for_each(|text| give("--name", text))?;
    Ok(options)
}

/// The tables of each file; with `--name`, those of the same columns are one.
pub fn tables(files: &[PathBuf], args: &ReadingArgs) -> Result<(Vec<PublishedTable>, Vec<BadFile>)> {
    let (options, mut tables, mut bad) = (options(args)?, Vec::new(), Vec::new());
    for path in files.iter().flat_map(|path| files_of(path)) {
        let name = path.display().to_string();
        for one in read(&path, &options).unwrap_or_else(|error| vec![Err(error)]) {
            match one {
                Ok(table) => tables.push(table),
                Err(error) => bad.push(BadFile { name: name.clone(), error: format!("{error:#}") }),
            }
        }
    }
    Ok((table::together(tables, &options), bad))
}

/// What people name files of results.
const ENDINGS: [&str; 8] = ["csv", "tsv", "txt", "log", "json", "md", "dat", "out"];

/// The files of a folder and of those in it; a file, or a recorded run, is itself.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let itself = || vec![path.to_path_buf()];
    if !path.is_dir() || is_run(path) {
        return itself();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let ending = |path: &Path| {
        path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end.eq_ignore_ascii_case(known)))
    };
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.is_dir() && !path.is_symlink() || ending(path)).collect();
    found.sort();
    let inside: Vec<PathBuf> =
        found.iter().flat_map(|path| files_of(path)).filter(|path| path.is_file()).collect();
    if inside.is_empty() { itself() } else { inside }
}

fn read(path: &Path, options: &ReadingOptions) -> Result<Vec<Result<PublishedTable>>> {
    if path.is_dir() {
        bail!("{} is a directory without tables: for a recorded run, `syscost report {0}`", path.display());
    }
    let name = path.display().to_string();
    let bytes = text_file::bytes(path, MOST_BYTES, "table of results", "name a smaller part of it")?;
    let tables = table::read(&name, &table::decode(&name, bytes)?, options);
    Ok(tables.into_iter().map(|table| Ok(table?)).collect())
}

fn document(one: &AnalysedTable) -> serde_json::Value {
    let AnalysedTable { table, remarks, comparisons, summary } = one;
    let rows: Vec<serde_json::Value> = table.rows.iter().map(row).collect();
    let comparisons = comparisons.as_deref().unwrap_or_default();
    json!({
        "file": table.name, "columns": table.columns, "headings": table.headings, "rows": rows, "understood": table.understood,
        "not_read": table.not_read, "empty_cells": table.empty, "sources": table.sources, "summary": summary,
        "remarks": remarks, "comparisons": comparisons, "answers": sentences(table, comparisons),
    })
}

/// A row as it was read, in base units.
fn row(row: &PublishedRow) -> serde_json::Value {
    let mut of: serde_json::Map<String, serde_json::Value> =
        row.texts.iter().map(|(column, text)| (column.id(), json!(text))).collect();
    of.extend(row.figures.iter().map(|(column, figure)| (column.id(), json!(figure.value))));
    of.insert("line".into(), json!(row.line));
    of.into()
}

/// Files that one remark names.
const FILES: usize = 3;

/// `(lines 4-7 and 9)`; of several files, `(a1.csv line 4; a3.csv lines 2-3)`
fn places(table: &PublishedTable, lines: &[usize]) -> String {
    let mut by_file: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for line in lines {
        // Of a table of several files a line is a row of it.
        let source = line.checked_sub(1).and_then(|row| table.sources.get(row));
        let (file, line) = source.map_or(("", *line), |source| (source.file.as_str(), source.line));
        by_file.entry(file).or_default().insert(line);
    }
    let place =
        |(file, lines): (&&str, &BTreeSet<usize>)| format!("{file} {}", ranges(lines)).trim().to_string();
    let more = by_file.len().saturating_sub(FILES);
    let mut told: Vec<String> = by_file.iter().take(FILES).map(place).collect();
    if more > 0 {
        told.push(format!("and {} more", syscost_core::units::count(more, "file")));
    }
    if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) }
}

fn ranges(lines: &BTreeSet<usize>) -> String {
    let lines: Vec<usize> = lines.iter().copied().collect();
    let range = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(usize::to_string).collect(),
    };
    let ranges: Vec<String> = lines.chunk_by(|a, b| a + 1 == *b).map(range).collect();
    format!("{} {}", if lines.len() == 1 { "line" } else { "lines" }, ranges.join(", "))
}
