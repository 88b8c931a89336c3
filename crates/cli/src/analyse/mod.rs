//! `analyse FILE...`: what people's tables of results say, contradict and cannot support.

mod many;
mod one;

use crate::args::{AnalyseArgs, Global};
use crate::output::{self, Paint};
use crate::text_file;
use anyhow::{Result, anyhow, bail};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_tables::overtakes::{Overtake, overtakes, sentences};
use syscost_tables::remark::{Remark, remarks};
use syscost_tables::summary::TableSummary;
use syscost_tables::{self as table, ColumnMapping, PublishedTable, TableColumn};

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
    overtakes: Vec<Overtake>,
    summary: TableSummary,
}

/// A file that is no table, and why.
struct BadFile {
    name: String,
    error: String,
}

impl AnalysedTable {
    fn of(table: PublishedTable) -> AnalysedTable {
        let (remarks, overtakes) = (remarks(&table), overtakes(&table));
        let summary = TableSummary::of(&table, &remarks, &overtakes);
        AnalysedTable { table, remarks, overtakes, summary }
    }
}

pub fn run(args: &AnalyseArgs, global: &Global) -> Result<ExitCode> {
    let mapping = mapping(args)?;
    let (tables, bad) = tables(&args.files, &mapping);
    let analysed: Vec<AnalysedTable> = tables.into_iter().map(AnalysedTable::of).collect();
    if global.json {
        let good = analysed.iter().map(document);
        let bad = bad.iter().map(|bad| json!({ "file": bad.name, "error": bad.error }));
        output::print_json(&good.chain(bad).collect::<Vec<_>>())?;
    } else if args.csv {
        output::print(&many::csv(&analysed, &bad))?;
    } else if let [one] = &analysed[..] {
        output::print(&one::told(one, Paint::stdout(global.color)))?;
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

/// What headings and names mean, and what the assignment fixes for every file.
fn mapping(args: &AnalyseArgs) -> Result<ColumnMapping> {
    let mut mapping = match &args.mapping {
        Some(path) => {
            let text = text_file::read(path, MOST_BYTES, "mapping file", "name a smaller part of it")?;
            ColumnMapping::from_toml(&text, &path.display().to_string())?
        }
        None => ColumnMapping::default(),
    };
    if let Some(threads) = args.threads {
        mapping.give(TableColumn::Threads, threads);
    }
    if let Some(seconds) = args.seconds {
        mapping.give(TableColumn::Elapsed, format!("{seconds} s"));
    }
    for meaning in &args.means {
        mapping.give_meaning(meaning).map_err(|why| anyhow!("--means {why}"))?;
    }
    for unit in &args.unit {
        mapping.give_unit(unit).map_err(|why| anyhow!("--unit {why}: Gbit/s, MB/s, us, ms are some"))?;
    }
    Ok(mapping)
}

/// One table a file; files of one kind, each of another case, are one table together.
fn tables(files: &[PathBuf], mapping: &ColumnMapping) -> (Vec<PublishedTable>, Vec<BadFile>) {
    let (mut tables, mut bad) = (Vec::new(), Vec::new());
    for path in files.iter().flat_map(|path| files_of(path)) {
        match read(&path, mapping) {
            Ok(table) => tables.push(table),
            Err(error) => bad.push(BadFile { name: path.display().to_string(), error: format!("{error:#}") }),
        }
    }
    (table::together(tables), bad)
}

/// What people name files of results.
const ENDINGS: [&str; 8] = ["csv", "tsv", "txt", "log", "json", "md", "dat", "out"];

/// The files of a folder and of those in it; a file, or a recorded run, is itself.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let itself = || vec![path.to_path_buf()];
    if !path.is_dir() || path.join("run.json").exists() {
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

fn read(path: &Path, mapping: &ColumnMapping) -> Result<PublishedTable> {
    if path.is_dir() {
        bail!("{} is a directory without tables: for a recorded run, `syscost report {0}`", path.display());
    }
    let name = path.display().to_string();
    let bytes = text_file::bytes(path, MOST_BYTES, "table of results", "name a smaller part of it")?;
    Ok(table::read(&name, &table::decode(&name, bytes)?, mapping)?)
}

fn document(one: &AnalysedTable) -> serde_json::Value {
    let AnalysedTable { table, remarks, overtakes, summary } = one;
    json!({
        "file": table.name, "rows": table.rows.len(), "columns": table.columns, "understood": table.understood,
        "left_out": table.left_out, "unknown_names": table.unknown, "empty_cells": table.empty,
        "sources": table.sources, "summary": summary, "remarks": remarks, "overtakes": overtakes, "answers": sentences(overtakes),
    })
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
    let ranges: Vec<String> = lines
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    format!("{} {}", if lines.len() == 1 { "line" } else { "lines" }, ranges.join(", "))
}
