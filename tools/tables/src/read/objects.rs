//! Rows as JSON: an array of objects, as scripts write their results.

use super::layout::TableRecord;
use serde_json::Value;

/// An object a line; `None`: other text.
pub fn lines(text: &str) -> Option<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let rows: Option<Vec<Value>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    rows.filter(|rows| rows.iter().all(Value::is_object)).map(Value::Array)
}

/// The records of an array of flat objects, alone or as the one array of an object; `None`: another document.
pub fn records(json: &Value) -> Option<Vec<TableRecord>> {
    let is_rows = |value: &&Value| {
        value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_object))
    };
    let rows = match json {
        Value::Array(_) => Some(json).filter(is_rows)?,
        Value::Object(of) => {
            let mut arrays = of.values().filter(is_rows);
            arrays.next().filter(|_| arrays.next().is_none())?
        }
        _ => return None,
    };
    let flat: Vec<Vec<(String, String)>> = rows.as_array()?.iter().map(|row| flattened(row, "")).collect();
    let mut headings: Vec<String> = Vec::new();
    for (key, _) in flat.iter().flatten() {
        if !headings.contains(key) {
            headings.push(key.clone());
        }
    }
    let cells = |row: &Vec<(String, String)>| {
        let cell =
            |heading: &String| row.iter().find(|(key, _)| key == heading).map(|(_, text)| text.clone());
        headings.iter().map(|heading| cell(heading).unwrap_or_default()).collect()
    };
    let rows: Vec<TableRecord> = flat
        .iter()
        .enumerate()
        .map(|(index, row)| TableRecord { line: index + 1, cells: cells(row) })
        .collect();
    (headings.len() > 1)
        .then(|| std::iter::once(TableRecord { line: 1, cells: headings }).chain(rows).collect())
}

/// What is nested one below the other has both names.
fn flattened(row: &Value, before: &str) -> Vec<(String, String)> {
    let of = row.as_object().into_iter().flatten();
    of.flat_map(|(key, value)| {
        let name = if before.is_empty() { key.clone() } else { format!("{before}_{key}") };
        match value {
            Value::Object(_) => flattened(value, &name),
            Value::String(text) => vec![(name, text.clone())],
            Value::Null | Value::Array(_) => Vec::new(),
            other => vec![(name, other.to_string())],
        }
    })
    .collect()
}
