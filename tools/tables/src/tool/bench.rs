//! The JSON of hyperfine and of Google Benchmark: a benchmark is an operation. Sources: hyperfine(1), `--export-json`; the
//! book of Google Benchmark, "Output formats".

use super::{ToolRows, number, text};
use crate::{PublishedRow, TableColumn::*, unit};
use serde_json::Value;

/// A row for each entry of a list, whose entries all have a time and another key.
fn of_all(json: &Value, keys: [&str; 3], ns: fn(&Value) -> Option<f64>, understood: &str) -> ToolRows {
    let [list, time, other] = keys;
    let all = json.get(list)?.as_array().filter(|all| !all.is_empty())?;
    let whole = all.iter().all(|one| one.get(time).is_some() && one.get(other).is_some());
    let row = |(at, of): (usize, &Value)| {
        let name = text(of, "/name").or(text(of, "/command"))?;
        let mut row = PublishedRow::of_tool(at + 1, &[(Operation, name), (Unit, "ns")]);
        row.set([(Measured, ns(of)?)]);
        row.scatter.extend(number(of, "/stddev").map(|seconds| (Measured, seconds * 1e9)));
        let times = of.get("times").and_then(Value::as_array);
        row.set(times.map(|times| (Runs, times.len() as f64)));
        // Means and deviations of repetitions stand beside them.
        let run = text(of, "/run_type").is_none_or(|kind| kind == "iteration");
        run.then(|| row.read(Some(of), &[("/repetition_index", Repetition, 1.0)]))
    };
    let rows = all.iter().enumerate().filter_map(row).collect();
    whole.then_some(Ok((rows, understood.into())))
}

pub fn google(json: &Value) -> ToolRows {
    let ns = |of: &Value| Some(number(of, "/real_time")? * unit::parse(text(of, "/time_unit")?).ok()?.factor);
    let understood =
        "Google Benchmark: a benchmark is an operation, its figure the real time of an iteration";
    of_all(json, ["benchmarks", "real_time", "time_unit"], ns, understood)
}

pub fn hyperfine(json: &Value) -> ToolRows {
    let ns = |of: &Value| Some(number(of, "/mean")? * 1e9);
    let understood = "hyperfine: a command is an operation, its figure the mean of its runs";
    of_all(json, ["results", "mean", "command"], ns, understood)
}
