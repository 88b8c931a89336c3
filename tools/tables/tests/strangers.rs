//! Tables of many hands: what each holds is known, and read at first try.

use serde::Deserialize;
use std::collections::BTreeMap;
use syscost_tables::remark::{RemarkKind, remarks};
use syscost_tables::{self as table, ColumnMapping, PublishedRow, PublishedTable, TableColumn};

#[derive(Deserialize)]
struct StrangersTables {
    table: Vec<StrangersTable>,
}

#[derive(Deserialize)]
struct StrangersTable {
    name: String,
    rows: usize,
    columns: Vec<TableColumn>,
    #[serde(default)]
    figures: Vec<KnownFigures>,
    text: String,
}

/// Of the row at these names, sizes and threads.
#[derive(Deserialize)]
struct KnownFigures {
    at: BTreeMap<TableColumn, toml::Value>,
    are: BTreeMap<TableColumn, f64>,
}

fn is_at(row: &PublishedRow, at: &BTreeMap<TableColumn, toml::Value>) -> bool {
    at.iter().all(|(column, value)| match value {
        toml::Value::String(text) => row.text(*column) == Some(text),
        number => row.count(*column) == number.as_integer().map(|n| n as u64),
    })
}

fn wrong(known: &StrangersTable, table: &PublishedTable) -> Vec<String> {
    let mut wrong = Vec::new();
    let lacking: Vec<_> = known.columns.iter().filter(|column| !table.has(**column)).collect();
    if !lacking.is_empty() || table.rows.len() != known.rows {
        wrong.push(format!("lacks {lacking:?}, {} rows for {}", table.rows.len(), known.rows));
    }
    for KnownFigures { at, are } in &known.figures {
        let row =
            table.rows.iter().find(|row| is_at(row, at) && are.keys().all(|c| row.figure(*c).is_some()));
        let near = |row: &PublishedRow| {
            are.iter().all(|(c, v)| (row.value(*c).unwrap_or(0.0) / v - 1.0).abs() < 1e-3)
        };
        if !row.is_some_and(near) {
            wrong.push(format!("{are:?} at {at:?}: {row:?}"));
        }
    }
    let accused = remarks(table).into_iter().filter(|remark| remark.kind == RemarkKind::Contradiction);
    wrong.extend(accused.map(|remark| remark.text).filter(|text| !text.contains("better than its hardware")));
    wrong
}

#[test]
fn tables_of_many_hands_are_read_at_first_try() {
    let all = [
        include_str!("strangers-a.toml"),
        include_str!("strangers-b.toml"),
        include_str!("strangers-c.toml"),
    ];
    let tables = all.map(|text| toml::from_str::<StrangersTables>(text).expect("TOML").table);
    let mut told = Vec::new();
    for known in tables.iter().flatten() {
        match table::read(&known.name, &known.text, &ColumnMapping::default()) {
            Ok(table) => {
                told.extend(wrong(known, &table).into_iter().map(|why| format!("{}: {why}", known.name)))
            }
            Err(error) => told.push(error.to_string()),
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}
