//! Tables of the registries: every column, axis, quantity and metric.

use syscost_core::axis::Axis;
use syscost_core::sample::{Metric, Quantity};
use syscost_course::{cse221, pa02};
use syscost_experiment::run::rows::{CsvColumn, FIXED};
use syscost_experiment::run::{histograms, slices};
use syscost_measure::probe::{self, Probe};
use syscost_report::{comparisons, csv, profile_files};

/// The table of a name; `None`: there is no such table.
pub fn of(name: &str) -> Option<String> {
    Some(match name {
        "samples columns" => columns(FIXED),
        "slices columns" => columns(slices::COLUMNS),
        "histograms columns" => columns(histograms::COLUMNS),
        "results columns before" => columns(csv::BEFORE),
        "results columns after" => columns(csv::AFTER),
        "comparisons columns" => columns(comparisons::COLUMNS),
        "profile columns" => columns(profile_files::COLUMNS),
        "axes" => axes(),
        "quantities" => quantities(),
        "metrics" => metrics(),
        "pa02 columns" => columns(&pa02::columns()),
        "cse221 columns" => columns(cse221::COLUMNS),
        _ => return None,
    })
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn columns(columns: &[CsvColumn]) -> String {
    let rows = columns.iter().map(|column| format!("`{}` | {}", column.id, cell(column.help)));
    table("column | meaning", rows)
}

fn axes() -> String {
    let row = |probe: &str, axis: Axis| {
        let (unit, help) = (axis.unit.symbol(), cell(axis.help));
        format!("`{}` | {probe} | {unit} | `--{}` | {help}", axis.id, axis.flag)
    };
    table("axis | probe | unit | flag | meaning", of_probes(|probe| probe.axes(), row))
}

fn quantities() -> String {
    let row =
        |probe: &str, q: Quantity| format!("`{}` | {probe} | {} | {}", q.id, q.unit.symbol(), cell(q.help));
    table("quantity | probe | unit | meaning", of_probes(|probe| probe.quantities(), row))
}

fn metrics() -> String {
    let row = |probe: &str, m: Metric| {
        let better = format!("{:?}", m.better).to_lowercase();
        format!("`{}` | {probe} | {} | {better} | {}", m.id, m.unit.symbol(), cell(m.help))
    };
    table("metric | probe | unit | better | meaning", of_probes(|probe| probe.metrics(), row))
}

fn of_probes<T>(
    declared: fn(&dyn Probe) -> Vec<T>,
    row: impl Fn(&str, T) -> String,
) -> impl Iterator<Item = String> {
    let rows = move |probe: &&dyn Probe| {
        declared(*probe).into_iter().map(|one| row(probe.about().id, one)).collect::<Vec<_>>()
    };
    probe::ALL.iter().flat_map(rows)
}

fn table(heading: &str, rows: impl Iterator<Item = String>) -> String {
    let rule = "---|".repeat(heading.split('|').count());
    let rows: String = rows.map(|row| format!("| {row} |\n")).collect();
    format!("| {heading} |\n|{rule}\n{rows}")
}
