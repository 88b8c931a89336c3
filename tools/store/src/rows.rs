//! What a store keeps of a run: one row of `runs`, and rows of results and samples.
//!
//! The columns are the same for every run, so that files of many runs are one table: what varies between probes is in
//! `point`, every coordinate as `axis=value`.

use crate::table::{ColumnValues, StoreTable};
use std::path::Path;
use syscost_analyze::cells::Cells;
use syscost_analyze::sides::coordinates;
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Record, Run, State};
use syscost_host::fingerprint::{BOOT, MACHINE};
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, RECEIVER, THREADS};

const KERNEL: &str = "kernel_release";
const PROCESSOR: &str = "cpu_model";
const CLOUD: &str = "cloud_instance_type";

fn text(value: Option<impl Into<String>>) -> Option<String> {
    value.map(Into::into)
}

fn moment(record: &Record) -> Option<i64> {
    i64::try_from(record.started_unix_ns).ok()
}

fn column<T, U>(
    name: &str,
    kind: fn(Vec<U>) -> ColumnValues,
    rows: &[T],
    of: impl Fn(&T) -> U,
) -> (String, ColumnValues) {
    (name.into(), kind(rows.iter().map(of).collect()))
}

/// The row of `runs.parquet`.
pub fn of_run(run: &Run, directory: &Path) -> StoreTable {
    let record = &run.record;
    let fact = |id| text(record.fact(id));
    let of = |name: &str, value: Option<String>| (name.to_string(), ColumnValues::Text(vec![value]));
    let names = &record.names;
    let state = match record.state {
        State::Running => "running",
        State::Complete => "complete",
        State::TimeLimit => "time_limit",
        State::Interrupted => "interrupted",
    };
    let count =
        |name: &str, value: usize| (name.to_string(), ColumnValues::Count(vec![i64::try_from(value).ok()]));
    let columns = vec![
        of("run", Some(record.id.clone())),
        ("started".into(), ColumnValues::Moment(vec![moment(record)])),
        ("elapsed_s".into(), ColumnValues::Number(vec![Some(record.elapsed_ns as f64 / 1e9)])),
        of("state", text(Some(state))),
        of("experiment", Some(record.spec.name.clone())),
        of("label", names.label.clone()),
        of("run_group", names.group.clone()),
        of("revision", names.revision.clone()),
        of("turn", names.turn.clone()),
        of("machine", fact(MACHINE)),
        of("boot", fact(BOOT)),
        of("kernel", fact(KERNEL)),
        of("cpu_model", fact(PROCESSOR)),
        of("instance_type", fact(CLOUD)),
        of("tool_version", Some(record.tool.version.clone())),
        of("tool_binary", Some(record.tool.binary_sha256.clone())),
        count("cases", record.plan.cases.len()),
        count("warnings", record.warnings.len()),
        // A name that is no UTF-8 finds nothing again.
        of("directory", directory.to_str().map(str::to_string)),
    ];
    StoreTable { columns }
}

/// A row per case and metric; a twin has none, as in `results.csv`.
pub fn of_results(run: &Run) -> StoreTable {
    let cells = Cells::of(run);
    let cases: Vec<&Case> = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()).collect();
    let rows: Vec<_> = cases
        .iter()
        .flat_map(|case| cells.of_case(case.index).iter().map(move |cell| (*case, cell)))
        .collect();
    let (names, boot, started) = (&run.record.names, run.record.fact(BOOT), moment(&run.record));
    let count = |value: u64| i64::try_from(value).ok();
    let columns = vec![
        column("run", ColumnValues::Text, &rows, |_| Some(run.record.id.clone())),
        column("started", ColumnValues::Moment, &rows, |_| started),
        column("boot", ColumnValues::Text, &rows, |_| text(boot)),
        column("run_group", ColumnValues::Text, &rows, |_| names.group.clone()),
        column("label", ColumnValues::Text, &rows, |_| names.label.clone()),
        column("revision", ColumnValues::Text, &rows, |_| names.revision.clone()),
        column("case_index", ColumnValues::Count, &rows, |(case, _)| i64::try_from(case.index).ok()),
        column("probe", ColumnValues::Text, &rows, |(case, _)| Some(case.probe.to_string())),
        column("point", ColumnValues::Text, &rows, |(case, _)| Some(coordinates(&case.point))),
        column(MECHANISM.id, ColumnValues::Text, &rows, |(case, _)| text(case.point.text(MECHANISM))),
        column(RECEIVER.id, ColumnValues::Text, &rows, |(case, _)| text(case.point.text(RECEIVER))),
        column(PATH.id, ColumnValues::Text, &rows, |(case, _)| text(case.point.text(PATH))),
        column(MESSAGE_BYTES.id, ColumnValues::Count, &rows, |(case, _)| {
            case.point.int(MESSAGE_BYTES).and_then(count)
        }),
        column(THREADS.id, ColumnValues::Count, &rows, |(case, _)| case.point.int(THREADS).and_then(count)),
        column("metric", ColumnValues::Text, &rows, |(_, cell)| Some(cell.metric.to_string())),
        column("unit", ColumnValues::Text, &rows, |(_, cell)| Some(cell.estimate.unit.symbol().to_string())),
        column("value", ColumnValues::Number, &rows, |(_, cell)| Some(cell.estimate.value)),
        column("ci_low", ColumnValues::Number, &rows, |(_, cell)| Some(cell.estimate.low)),
        column("ci_high", ColumnValues::Number, &rows, |(_, cell)| Some(cell.estimate.high)),
        column("ci_level", ColumnValues::Number, &rows, |(_, cell)| Some(cell.estimate.level)),
        column("rounds", ColumnValues::Count, &rows, |(_, cell)| Some(i64::from(cell.estimate.n))),
    ];
    StoreTable { columns }
}

/// A row a sample; quantities that a probe has not are empty.
pub fn of_samples(run: &Run) -> StoreTable {
    let samples: Vec<_> = run.samples.iter().collect();
    let mut columns = vec![
        column("run", ColumnValues::Text, &samples, |_| Some(run.record.id.clone())),
        column("case_index", ColumnValues::Count, &samples, |s| i64::try_from(s.case).ok()),
        column("round", ColumnValues::Count, &samples, |s| Some(i64::from(s.round))),
        column("sample", ColumnValues::Count, &samples, |s| Some(i64::from(s.index))),
        column("start_ns", ColumnValues::Count, &samples, |s| {
            s.start_ns.and_then(|ns| i64::try_from(ns).ok())
        }),
        column("elapsed_ns", ColumnValues::Number, &samples, |s| Some(s.elapsed_ns)),
        column("ops", ColumnValues::Number, &samples, |s| Some(s.ops)),
        column("bytes", ColumnValues::Number, &samples, |s| Some(s.bytes)),
        column("verified", ColumnValues::Count, &samples, |s| Some(i64::from(s.verified))),
        column("marks", ColumnValues::Text, &samples, |s| Some(s.marks.join(" "))),
    ];
    for id in syscost_experiment::run::rows::quantity_columns(&run.record.plan) {
        columns.push(column(&id, ColumnValues::Number, &samples, |s| s.get(&id)));
    }
    StoreTable { columns }
}
