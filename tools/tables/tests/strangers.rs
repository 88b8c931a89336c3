//! Tables of many hands: what each holds is known, and read at first try.

use serde::Deserialize;
use std::collections::BTreeMap;
use syscost_tables::overtakes::{overtakes, sentences};
use syscost_tables::remark::{RemarkKind, remarks};
use syscost_tables::{self as table, ColumnMapping, PublishedRow, PublishedTable, TableColumn};

#[derive(Deserialize)]
struct StrangersTables {
    table: Vec<StrangersTable>,
}

#[derive(Deserialize)]
struct StrangersTable {
    name: String,
    /// A word of its refusal; without one it has to be read.
    refused: Option<String>,
    #[serde(default)]
    rows: usize,
    #[serde(default)]
    columns: Vec<String>,
    /// What it has not, and would be a wrong reading.
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    figures: Vec<KnownFigures>,
    /// Words that some sentence about it has to hold.
    #[serde(default)]
    says: Vec<String>,
    /// Words that would be false of it.
    #[serde(default)]
    says_not: Vec<String>,
    #[serde(default)]
    text: String,
    /// Where it is a folder.
    #[serde(default)]
    file: Vec<StrangersFile>,
}

#[derive(Deserialize)]
struct StrangersFile {
    name: String,
    text: String,
}

/// Of the row at these names, sizes and threads.
#[derive(Deserialize)]
struct KnownFigures {
    at: BTreeMap<String, toml::Value>,
    are: BTreeMap<String, f64>,
}

/// Absent where the reader knows no such column.
fn column(id: &str) -> Option<TableColumn> {
    toml::Value::String(id.into()).try_into().ok()
}

fn is_at(row: &PublishedRow, at: &BTreeMap<String, toml::Value>) -> bool {
    at.iter().all(|(id, value)| match (value, column(id)) {
        (_, None) => false,
        (toml::Value::String(text), Some(column)) => row.text(column) == Some(text),
        (number, Some(column)) => row.count(column) == number.as_integer().map(|n| n as u64),
    })
}

fn has(table: &PublishedTable, id: &str) -> bool {
    column(id).is_some_and(|column| table.has(column))
}

fn value(row: &PublishedRow, id: &str) -> Option<f64> {
    row.value(column(id)?)
}

fn wrong(known: &StrangersTable, table: &PublishedTable) -> Vec<String> {
    let mut wrong = Vec::new();
    let lacking: Vec<_> = known.columns.iter().filter(|id| !has(table, id)).collect();
    if !lacking.is_empty() || table.rows.len() != known.rows {
        wrong.push(format!("lacks {lacking:?}, {} rows for {}", table.rows.len(), known.rows));
    }
    wrong.extend(
        known.lacks.iter().filter(|id| has(table, id)).map(|id| format!("reads {id}, which it has not")),
    );
    for KnownFigures { at, are } in &known.figures {
        let row =
            table.rows.iter().find(|row| is_at(row, at) && are.keys().all(|id| value(row, id).is_some()));
        let near = |row: &PublishedRow| {
            are.iter().all(|(id, v)| (value(row, id).unwrap_or(0.0) / v - 1.0).abs() < 1e-3)
        };
        if !row.is_some_and(near) {
            wrong.push(format!("{are:?} at {at:?}: {row:?}"));
        }
    }
    let told = said(table);
    wrong.extend(
        known.says.iter().filter(|words| !told.contains(*words)).map(|w| format!("is silent of: {w}")),
    );
    wrong.extend(known.says_not.iter().filter(|words| told.contains(*words)).map(|w| format!("says: {w}")));
    let accused = remarks(table).into_iter().filter(|remark| remark.kind == RemarkKind::Contradiction);
    wrong.extend(accused.map(|remark| remark.text).filter(|text| !text.contains("better than its hardware")));
    wrong
}

/// All that is said of it, for a reader of the test's output.
fn said(table: &PublishedTable) -> String {
    let remarks = remarks(table).into_iter().map(|remark| remark.text);
    let read = table.understood.iter().chain(&table.left_out).cloned();
    let said = read.chain(remarks).chain(sentences(&overtakes(table)));
    said.map(|sentence| format!("    {sentence}\n")).collect()
}

fn read(known: &StrangersTable) -> anyhow::Result<PublishedTable> {
    let of = |name: &str, text: &str| table::read(name, text, &ColumnMapping::default());
    if known.file.is_empty() {
        return Ok(of(&known.name, &known.text)?);
    }
    let all = known.file.iter().map(|file| of(&file.name, &file.text)).collect::<Result<_, _>>()?;
    let mut tables = table::together(all);
    anyhow::ensure!(tables.len() == 1, "{} tables for one", tables.len());
    Ok(tables.remove(0))
}

/// Why it is not read as it should be; empty: it is.
fn judged(known: &StrangersTable) -> Vec<String> {
    match (read(known), &known.refused) {
        (Ok(table), None) => wrong(known, &table),
        (Ok(table), Some(_)) => vec![format!("read: {table:?}")],
        (Err(error), Some(word)) if error.to_string().contains(word.as_str()) => Vec::new(),
        (Err(error), _) => vec![format!("refused: {error}")],
    }
}

/// Why each of these is not read as it should be, and how many there are.
fn judge(known: &[StrangersTable]) -> Vec<String> {
    let told = known.iter().map(|known| (known, judged(known))).filter(|(_, why)| !why.is_empty());
    told.map(|(known, why)| format!("{}: {}", known.name, why.join("; "))).collect()
}

fn parsed(text: &str) -> Vec<StrangersTable> {
    toml::from_str::<StrangersTables>(text).expect("TOML").table
}

#[test]
fn tables_of_many_hands_are_read_at_first_try() {
    let all = [
        include_str!("strangers-a.toml"),
        include_str!("strangers-b.toml"),
        include_str!("strangers-c.toml"),
        include_str!("strangers-d.toml"),
        include_str!("strangers-e.toml"),
        include_str!("strangers-f.toml"),
        include_str!("strangers-g.toml"),
        include_str!("strangers-h.toml"),
        include_str!("strangers-i.toml"),
        include_str!("strangers-j.toml"),
        include_str!("strangers-k.toml"),
        include_str!("strangers-l.toml"),
        include_str!("strangers-m.toml"),
        include_str!("strangers-n.toml"),
        include_str!("strangers-o.toml"),
        include_str!("strangers-p.toml"),
        include_str!("strangers-q.toml"),
        include_str!("strangers-r.toml"),
        include_str!("strangers-s.toml"),
        include_str!("strangers-t.toml"),
        include_str!("strangers-u.toml"),
        include_str!("strangers-v.toml"),
        include_str!("strangers-w.toml"),
        include_str!("strangers-x.toml"),
        include_str!("strangers-y.toml"),
        include_str!("strangers-z.toml"),
        include_str!("strangers-aa.toml"),
    ];
    let tables: Vec<StrangersTable> = all.into_iter().flat_map(parsed).collect();
    for known in &tables {
        println!("{}:\n{}", known.name, read(known).map_or_else(|why| why.to_string(), |table| said(&table)));
    }
    let told = judge(&tables);
    assert!(told.is_empty(), "{}", told.join("\n"));
}
