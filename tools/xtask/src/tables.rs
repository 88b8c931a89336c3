//! Tables of the registries: every column, axis, quantity and metric.

use std::fmt::Write;
use syscost_course::{cse221, pa02};
use syscost_experiment::run::histograms;
use syscost_experiment::run::rows::{CsvColumn, FIXED};
use syscost_measure::probe;
use syscost_report::csv;

/// The table of a name; `None`: there is no such table.
pub fn of(name: &str) -> Option<String> {
    Some(match name {
        "samples columns" => columns(FIXED),
        "histograms columns" => columns(histograms::COLUMNS),
        "results columns before" => columns(csv::BEFORE),
        "results columns after" => columns(csv::AFTER),
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
    let mut out = String::from("| column | meaning |\n|---|---|\n");
    for column in columns {
        let _ = writeln!(out, "| `{}` | {} |", column.id, cell(column.help));
    }
    out
}

fn axes() -> String {
    let mut out = String::from("| axis | probe | unit | flag | meaning |\n|---|---|---|---|---|\n");
    for probe in probe::ALL {
        for axis in probe.axes() {
            let (id, unit) = (probe.about().id, axis.unit.symbol());
            let _ =
                writeln!(out, "| `{}` | {id} | {unit} | `--{}` | {} |", axis.id, axis.flag, cell(axis.help));
        }
    }
    out
}

fn quantities() -> String {
    let mut out = String::from("| quantity | probe | unit | meaning |\n|---|---|---|---|\n");
    for probe in probe::ALL {
        for q in probe.quantities() {
            let (id, unit) = (probe.about().id, q.unit.symbol());
            let _ = writeln!(out, "| `{}` | {id} | {unit} | {} |", q.id, cell(q.help));
        }
    }
    out
}

fn metrics() -> String {
    let mut out = String::from("| metric | probe | unit | better | meaning |\n|---|---|---|---|---|\n");
    for probe in probe::ALL {
        for m in probe.metrics() {
            let better = format!("{:?}", m.better).to_lowercase();
            let (id, unit) = (probe.about().id, m.unit.symbol());
            let _ = writeln!(out, "| `{}` | {id} | {unit} | {better} | {} |", m.id, cell(m.help));
        }
    }
    out
}
