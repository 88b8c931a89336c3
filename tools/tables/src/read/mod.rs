//! From a file's bytes to tables: a tool's own form by its reader, else a plain table by its headings.

mod cell;
mod columns;
mod expand;
mod plan;

mod rows;

use crate::dictionary::{DICTIONARY, RefusedForm};
use crate::grid;
use crate::{BadTable, PublishedFigure, PublishedTable, ReadingOptions, RowSource, TableColumn, tool};
use std::collections::BTreeMap;
use std::path::Path;

/// Text of a file: UTF-8, UTF-16 with its mark, else Latin-1.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, BadTable> {
    let wide = |from_bytes: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| from_bytes([pair[0], pair[1]])).collect();
        String::from_utf16(&units)
            .map_err(|_| BadTable::whole(name, "this is not text (UTF-16 that is broken)"))
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => wide(u16::from_le_bytes),
        Some([0xfe, 0xff]) => wide(u16::from_be_bytes),
        _ if bytes.contains(&0) => Err(BadTable::whole(name, "this is not text: export the sheet as CSV")),
        _ => Ok(String::from_utf8(bytes)
            .unwrap_or_else(|e| e.as_bytes().iter().map(|byte| char::from(*byte)).collect())),
    }
}

/// Reads the tables of a file: one, but of Markdown each by itself. `name` is the file's, for messages.
pub fn read(name: &str, text: &str, options: &ReadingOptions) -> Vec<Result<PublishedTable, BadTable>> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let tables = match tool::read(name, &text) {
        Some(table) => vec![table],
        None => match refused(&text) {
            Some(why) => vec![Err(BadTable::whole(name, why))],
            None => plain(name, &text, options),
        },
    };
    let above = text.lines().map_while(|line| line.strip_prefix('#'));
    let comments: Vec<String> = above.map(|line| line.trim().to_string()).collect();
    let table = |table: Result<_, _>| Ok(PublishedTable { comments: comments.clone(), ..table? });
    tables.into_iter().map(|one| finished(table(one)?, options)).collect()
}

/// Another tool's output, by its name, with the form that is read.
fn refused(text: &str) -> Option<String> {
    let shows = |form: &&RefusedForm| form.markers.iter().any(|mark| text.contains(mark.as_str()));
    if let Some(form) = DICTIONARY.refused.iter().find(shows) {
        return Some(format!("{} is not read. Give {}", form.tool, form.instead));
    }
    let tools = tool::TOOLS.join(", ");
    let json = text.trim_start().starts_with(['{', '[']);
    json.then(|| format!("this JSON is of no tool that is read ({tools}): write a CSV with jq's @csv"))
}

fn plain(name: &str, text: &str, options: &ReadingOptions) -> Vec<Result<PublishedTable, BadTable>> {
    let piped = grid::piped(name, text);
    if piped.is_empty() {
        return vec![grid::separated(name, text).and_then(|grid| rows::table(name, &grid, options))];
    }
    let several = piped.len() > 1;
    let read = |grid: Result<grid::Grid, BadTable>| {
        let grid = grid?;
        let table = rows::table(name, &grid, options)?;
        let name = if several { format!("{name}:{}", grid.headings.line) } else { name.into() };
        Ok(PublishedTable { name, ..table })
    };
    piped.into_iter().map(read).collect()
}

/// With what the file's name and the options say, and what follows from the figures.
fn finished(mut table: PublishedTable, options: &ReadingOptions) -> Result<PublishedTable, BadTable> {
    let name = table.name.clone();
    if table.rows.is_empty() {
        return Err(BadTable::whole(&name, "no row of figures stands in it"));
    }
    if let Some(pattern) = &options.name {
        let file = Path::new(&name).file_name().and_then(|file| file.to_str()).unwrap_or(&name);
        let parts = pattern.parts_of(file).ok_or_else(|| {
            BadTable::whole(&name, format!("its name is not of the pattern --name '{}'", pattern.text))
        })?;
        for (column, text) in parts.into_iter().filter(|(column, _)| *column != TableColumn::Ignored) {
            tell(&mut table, column, &text)?;
        }
    }
    if let Some(threads) = options.threads.filter(|_| !table.has(TableColumn::Threads)) {
        tell(&mut table, TableColumn::Threads, &threads.to_string())?;
    }
    if let Some(seconds) = options.seconds.filter(|_| !table.has(TableColumn::Elapsed)) {
        table.rows.iter_mut().for_each(|row| row.set([(TableColumn::Elapsed, seconds * 1e9)]));
        table.columns.push(TableColumn::Elapsed);
    }
    derive(&mut table);
    Ok(table)
}

/// What the name of a file says of each of its rows.
fn tell(table: &mut PublishedTable, column: TableColumn, text: &str) -> Result<(), BadTable> {
    // The name of a tool is no way to send.
    let own = table.has(column) && !(table.tool && column == TableColumn::Mechanism);
    if own {
        let why =
            format!("--name tells its {}, and so does a column of its own: leave one away", column.title());
        return Err(BadTable::whole(&table.name, why));
    }
    for row in &mut table.rows {
        cell::tell(row, column, text).map_err(|why| BadTable::whole(&table.name, why))?;
    }
    if !table.has(column) {
        table.columns.push(column);
    }
    Ok(())
}

/// Cycles per byte where cycles and bytes are counted, or cycles, a throughput and its duration.
fn derive(table: &mut PublishedTable) {
    use TableColumn::{Bytes, Cycles, CyclesPerByte, Elapsed, Throughput};
    if table.has(CyclesPerByte) || !table.has(Cycles) {
        return;
    }
    let counted = table.has(Bytes);
    let mut derived = false;
    for row in table.rows.iter_mut().filter(|row| !crate::remark::contradicted(row)) {
        let streamed = || Some(row.value(Throughput)? * row.value(Elapsed)? * 1e-9 / 8.0);
        let bytes = row.value(Bytes).or_else(|| streamed().filter(|_| !counted));
        let (Some(cycles), Some(bytes)) = (row.figure(Cycles), bytes.filter(|bytes| *bytes > 0.0)) else {
            continue;
        };
        let rounding = row.figure(Throughput).filter(|_| !counted).map_or(0.0, |f| f.share());
        let value = cycles.value / bytes;
        row.figures.insert(
            CyclesPerByte,
            PublishedFigure { value, rounding: value * (rounding + cycles.rounding / cycles.value.max(1.0)) },
        );
        derived = true;
    }
    if derived {
        table.columns.push(CyclesPerByte);
        let bytes = if counted { "total bytes" } else { "(throughput x duration)" };
        table.understood.push(format!("cycles per byte = cycles / {bytes}"));
    }
}

/// With `--name`, files of the same columns are one table.
pub fn together(tables: Vec<PublishedTable>, options: &ReadingOptions) -> Vec<PublishedTable> {
    let Some(pattern) = &options.name else { return tables };
    let mut all: BTreeMap<Vec<TableColumn>, PublishedTable> = BTreeMap::new();
    for mut table in tables {
        let mut columns = table.columns.clone();
        columns.sort_unstable();
        let file = table.name.clone();
        let whole = all.entry(columns).or_insert_with(|| PublishedTable {
            name: pattern.text.clone(),
            rows: Vec::new(),
            ..table.clone()
        });
        for mut row in std::mem::take(&mut table.rows) {
            whole.sources.push(RowSource { file: file.clone(), line: row.line });
            row.line = whole.sources.len();
            whole.rows.push(row);
        }
        for (known, more) in [
            (&mut whole.understood, table.understood),
            (&mut whole.not_read, table.not_read),
            (&mut whole.differ, table.differ),
        ] {
            let new: Vec<String> = more.into_iter().filter(|text| !known.contains(text)).collect();
            known.extend(new);
        }
    }
    all.into_values().collect()
}
