//! From a file's bytes to tables: a tool's own form by its reader, else a plain table by its headings.

mod cell;
mod columns;
mod expand;
mod rows;

use crate::TableColumn::*;
use crate::dictionary::{DICTIONARY, RefusedForm};
use crate::{AtLine, BadTable, PublishedFigure, PublishedRow, PublishedTable, ReadingOptions, RowSource};
use crate::{grid, grouped, tool};
use std::collections::BTreeSet;
use std::path::Path;

/// Text of a file: UTF-8, UTF-16 with its mark, else Latin-1.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, BadTable> {
    let bad = |why: &str| BadTable::at(name, (0, why.into()));
    let wide = |from_bytes: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| from_bytes([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| bad("this is not text (UTF-16 that is broken)"))
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => wide(u16::from_le_bytes),
        Some([0xfe, 0xff]) => wide(u16::from_be_bytes),
        _ if bytes.contains(&0) => Err(bad("this is not text: export the sheet as CSV")),
        _ => Ok(String::from_utf8(bytes)
            .unwrap_or_else(|e| e.as_bytes().iter().map(|byte| char::from(*byte)).collect())),
    }
}

/// Reads the tables of a file: one, but of Markdown each by itself. `name` is the file's, for messages.
pub fn read(name: &str, text: &str, options: &ReadingOptions) -> Vec<Result<PublishedTable, BadTable>> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let above = text.lines().map_while(|line| line.strip_prefix('#'));
    let comments: Vec<String> = above.map(|line| line.trim().to_string()).collect();
    let tables = tables(&text, options);
    let several = tables.len() > 1;
    let whole = |(line, table): (usize, Result<PublishedTable, AtLine>)| {
        let table = table.map_err(|why| BadTable::at(name, why))?;
        let name = if several { format!("{name}:{line}") } else { name.to_string() };
        let table = PublishedTable { name: name.clone(), comments: comments.clone(), ..table };
        finished(table, options).map_err(|why| BadTable::at(&name, (0, why)))
    };
    tables.into_iter().map(whole).collect()
}

/// Each with the line of its headings.
fn tables(text: &str, options: &ReadingOptions) -> Vec<(usize, Result<PublishedTable, AtLine>)> {
    if let Some(whole) = tool::read(text).or_else(|| refused(text).map(Err)) {
        return vec![(0, whole.map_err(|why| (0, why)))];
    }
    let piped = grid::piped(text);
    let grids = if piped.is_empty() { vec![grid::separated(text)] } else { piped };
    let table = |grid: Result<grid::Grid, AtLine>| match grid {
        Ok(grid) => (grid.headings.line, rows::table(&grid, options)),
        Err(why) => (0, Err(why)),
    };
    grids.into_iter().map(table).collect()
}

/// Another tool's output, by its name, with the form that is read.
fn refused(text: &str) -> Option<String> {
    let shows = |form: &&RefusedForm| form.markers.iter().any(|mark| text.contains(mark.as_str()));
    if let Some(form) = DICTIONARY.refused.iter().find(shows) {
        return Some(format!("{} is not read. Give {}", form.tool, form.instead));
    }
    let tools = tool::tools().join(", ");
    let json = text.trim_start().starts_with(['{', '[']);
    json.then(|| format!("this JSON is of no tool that is read ({tools}): write a CSV with jq's @csv"))
}

/// With what the file's name and the options say, and what follows from the figures.
fn finished(mut table: PublishedTable, options: &ReadingOptions) -> Result<PublishedTable, String> {
    if table.rows.is_empty() {
        return Err("no row of figures stands in it".into());
    }
    if let Some(pattern) = &options.name {
        let file = Path::new(&table.name).file_name().and_then(|file| file.to_str()).unwrap_or(&table.name);
        let unlike = || format!("its name is not of the pattern --name '{}'", pattern.text);
        let parts = pattern.parts_of(file).ok_or_else(unlike)?;
        for (column, text) in parts.into_iter().filter(|(column, _)| *column != Ignored) {
            // The name of a tool is no way to send.
            if table.has(column) && !(table.tool && column == Mechanism) {
                let own = "and so does a column of its own: leave one away";
                return Err(format!("--name tells its {}, {own}", column.title()));
            }
            table.rows.iter_mut().try_for_each(|row| cell::tell(row, column, &text))?;
            table.columns.extend((!table.has(column)).then_some(column));
        }
    }
    let given = [(Threads, options.threads.map(|n| n as f64)), (Elapsed, options.seconds.map(|s| s * 1e9))];
    for (column, value) in given.into_iter().filter_map(|(column, given)| Some((column, given?))) {
        if !table.has(column) {
            table.rows.iter_mut().for_each(|row| row.set([(column, value)]));
            table.columns.push(column);
        }
    }
    derive(&mut table);
    Ok(table)
}

/// Cycles per byte where cycles and bytes are counted, or cycles, a throughput and its duration.
fn derive(table: &mut PublishedTable) {
    if table.has(CyclesPerByte) || !table.has(Cycles) {
        return;
    }
    let counted = table.has(Bytes);
    let per_byte = |row: &PublishedRow| {
        let streamed =
            |rate: PublishedFigure| Some((rate.value * row.value(Elapsed)? * 1e-9 / 8.0, rate.share()));
        let streamed = || row.figure(Throughput).filter(|_| !counted).and_then(streamed);
        let (bytes, share) = row.value(Bytes).map(|bytes| (bytes, 0.0)).or_else(streamed)?;
        let cycles = row.figure(Cycles).filter(|_| bytes > 0.0)?;
        let value = cycles.value / bytes;
        let rounding = value * (share + cycles.rounding / cycles.value.max(1.0));
        Some((CyclesPerByte, PublishedFigure { value, rounding }))
    };
    for row in table.rows.iter_mut().filter(|row| !crate::remark::contradicted(row)) {
        row.figures.extend(per_byte(row));
    }
    if table.rows.iter().any(|row| row.figure(CyclesPerByte).is_some()) {
        table.columns.push(CyclesPerByte);
        let bytes = if counted { "total bytes" } else { "(throughput x duration)" };
        table.understood.push(format!("cycles per byte = cycles / {bytes}"));
    }
}

/// With `--name`, files of the same columns are one table.
pub fn together(tables: Vec<PublishedTable>, options: &ReadingOptions) -> Vec<PublishedTable> {
    let Some(pattern) = &options.name else { return tables };
    let columns = |table: &PublishedTable| table.columns.iter().copied().collect::<BTreeSet<_>>();
    let alike = grouped(tables.into_iter().map(|table| (columns(&table), table)));
    alike.into_values().map(|tables| joined(&pattern.text, tables)).collect()
}

fn joined(name: &str, tables: Vec<PublishedTable>) -> PublishedTable {
    let mut whole = PublishedTable { name: name.into(), rows: Vec::new(), ..tables[0].clone() };
    let add = |known: &mut Vec<String>, more: Vec<String>| {
        more.into_iter().for_each(|text| {
            if !known.contains(&text) {
                known.push(text)
            }
        });
    };
    for table in tables {
        for row in table.rows {
            whole.sources.push(RowSource { file: table.name.clone(), line: row.line });
            whole.rows.push(PublishedRow { line: whole.sources.len(), ..row });
        }
        add(&mut whole.understood, table.understood);
        add(&mut whole.not_read, table.not_read);
        add(&mut whole.differ, table.differ);
    }
    whole
}
