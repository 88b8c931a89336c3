//! The JSON of hyperfine and of Google Benchmark: a benchmark is an operation. Sources: hyperfine(1), `--export-json`; the
//! book of Google Benchmark, "Output formats".

use super::{ToolRows, number, text};
use crate::{PublishedRow, TableColumn::*, unit};
use serde_json::Value;

/// A row for each entry of a list, whose entries all have these fields.
fn of_all(
    json: &Value,
    list: &str,
    fields: [&str; 2],
    row: impl Fn(usize, &Value) -> Option<PublishedRow>,
    understood: &str,
) -> ToolRows {
    let all = json.get(list)?.as_array().filter(|all| !all.is_empty())?;
    let whole = all.iter().all(|one| fields.iter().all(|field| one.get(field).is_some()));
    let rows = all.iter().enumerate().filter_map(|(at, of)| row(at + 1, of)).collect();
    whole.then_some(Ok((rows, understood.into())))
}

pub fn google(json: &Value) -> ToolRows {
    let row = |line: usize, of: &Value| {
        // Means and deviations of repetitions stand beside them.
        let run = text(of, "/run_type").is_none_or(|kind| kind == "iteration");
        let ns = number(of, "/real_time")? * unit::parse(text(of, "/time_unit")?).ok()?.factor;
        let row = PublishedRow::of_operation(line, text(of, "/name")?, "ns", ns);
        run.then(|| row.read(Some(of), &[("/repetition_index", Repetition, 1.0)]))
    };
    let understood =
        "Google Benchmark: a benchmark is an operation, its figure the real time of an iteration";
    of_all(json, "benchmarks", ["real_time", "time_unit"], row, understood)
}

pub fn hyperfine(json: &Value) -> ToolRows {
    let row = |line: usize, of: &Value| {
        let (name, ns) = (text(of, "/command")?, number(of, "/mean")? * 1e9);
        let mut row = PublishedRow::of_operation(line, name, "ns", ns);
        row.scatter.extend(number(of, "/stddev").map(|s| (Measured, s * 1e9)));
        let runs = of.get("times").and_then(Value::as_array).map(|times| times.len() as f64);
        row.set(runs.map(|runs| (Runs, runs)));
        Some(row)
    };
    let understood = "hyperfine: a command is an operation, its figure the mean of its runs";
    of_all(json, "results", ["command", "mean"], row, understood)
}
