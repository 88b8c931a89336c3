//! The JSON of hyperfine and of Google Benchmark: a benchmark is an operation. Sources: hyperfine(1), `--export-json`; the
//! book of Google Benchmark, "Output formats".

use super::{ToolRows, number};
use crate::unit;
use crate::{PublishedRow, TableColumn};
use serde_json::Value;

fn text<'v>(of: &'v Value, key: &str) -> Option<&'v str> {
    of.get(key).and_then(Value::as_str)
}

fn all<'v>(json: &'v Value, key: &str, fields: [&str; 2]) -> Option<&'v Vec<Value>> {
    let all = json.get(key)?.as_array().filter(|all| !all.is_empty())?;
    all.iter().all(|one| fields.iter().all(|field| one.get(field).is_some())).then_some(all)
}

pub fn google(json: &Value) -> ToolRows {
    let one = |(at, of): (usize, &Value)| {
        // Means and deviations of repetitions stand beside them.
        let run = text(of, "run_type").is_none_or(|kind| kind == "iteration");
        let ns = number(of, "real_time")? * unit::parse(text(of, "time_unit")?).ok()?.factor;
        let mut row = PublishedRow::of_operation(at + 1, text(of, "name")?, "ns", ns);
        row.set(number(of, "repetition_index").map(|run| (TableColumn::Repetition, run)));
        run.then_some(row)
    };
    let rows: Vec<PublishedRow> =
        all(json, "benchmarks", ["real_time", "time_unit"])?.iter().enumerate().filter_map(one).collect();
    Some(Ok((
        rows,
        "Google Benchmark: a benchmark is an operation, its figure the real time of an iteration".into(),
    )))
}

pub fn hyperfine(json: &Value) -> ToolRows {
    let one = |(at, of): (usize, &Value)| {
        let mut row =
            PublishedRow::of_operation(at + 1, text(of, "command")?, "ns", number(of, "mean")? * 1e9);
        row.scatter.extend(number(of, "stddev").map(|s| (TableColumn::Measured, s * 1e9)));
        let runs = of.get("times").and_then(Value::as_array).map(|times| times.len() as f64);
        row.set(runs.map(|runs| (TableColumn::Runs, runs)));
        Some(row)
    };
    let rows: Vec<PublishedRow> =
        all(json, "results", ["command", "mean"])?.iter().enumerate().filter_map(one).collect();
    Some(Ok((rows, "hyperfine: a command is an operation, its figure the mean of its runs".into())))
}
