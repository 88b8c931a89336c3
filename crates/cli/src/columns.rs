//! `columns`: what every column of a run's files means, from the code that writes them.

use crate::args::{ColumnsOf, Global};
use crate::output::{self, Paint, entry};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use syscost_core::axis::Axis;
use syscost_core::sample::rows::{CsvColumn, FIXED};
use syscost_core::sample::{Metric, Quantity};
use syscost_course::{cse221, pa02};
use syscost_experiment::run::{histograms, slices};
use syscost_measure::probe::{self, Probe};
use syscost_report::{comparisons, csv, profile_files};

/// A column, or a row of the column `metric`.
#[derive(Serialize)]
struct Meaning {
    id: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    unit: String,
    help: String,
    /// Probes that have it; none where every file has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    probes: Vec<&'static str>,
}

pub fn run(of: ColumnsOf, global: &Global) -> Result<()> {
    let meanings = meanings(of);
    if global.json {
        return output::print_json(&meanings);
    }
    let paint = Paint::stdout(global.color);
    output::print(&meanings.iter().map(|meaning| text(meaning, paint)).collect::<String>())
}

fn text(Meaning { id, unit, help, probes }: &Meaning, paint: Paint) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let of = if probes.is_empty() { String::new() } else { format!(" [{}]", probes.join(", ")) };
    format!("{}{unit}\n{}", paint.bold(id), entry("", 4, &format!("{help}{of}")))
}

fn meanings(of: ColumnsOf) -> Vec<Meaning> {
    match of {
        ColumnsOf::Samples => fixed(FIXED),
        ColumnsOf::Slices => fixed(slices::COLUMNS),
        ColumnsOf::Histograms => fixed(histograms::COLUMNS),
        ColumnsOf::Results => fixed(csv::BEFORE).into_iter().chain(fixed(csv::AFTER)).collect(),
        ColumnsOf::Comparisons => fixed(comparisons::COLUMNS),
        ColumnsOf::Profile => fixed(profile_files::COLUMNS),
        ColumnsOf::Pa02 => fixed(&pa02::columns()),
        ColumnsOf::Cse221 => fixed(cse221::COLUMNS),
        ColumnsOf::Axes => of_probes(
            |probe| probe.axes(),
            |axis: &Axis| (axis.id, axis.unit.symbol(), format!("{}; --{}", axis.help, axis.flag)),
        ),
        ColumnsOf::Quantities => of_probes(
            |probe| probe.quantities(),
            |quantity: &Quantity| (quantity.id, quantity.unit.symbol(), quantity.help.to_string()),
        ),
        ColumnsOf::Metrics => of_probes(
            |probe| probe.metrics(),
            |metric: &Metric| {
                let better = format!("{:?}", metric.better).to_lowercase();
                (metric.id, metric.unit.symbol(), format!("{}; better: {better}", metric.help))
            },
        ),
    }
}

fn fixed(columns: &[CsvColumn]) -> Vec<Meaning> {
    let meaning = |column: &CsvColumn| Meaning {
        id: column.id,
        unit: String::new(),
        help: column.help.to_string(),
        probes: Vec::new(),
    };
    columns.iter().map(meaning).collect()
}

/// What probes declare. Probes that mean the same by an id share its entry.
fn of_probes<T>(
    declared: fn(&dyn Probe) -> Vec<T>,
    means: impl Fn(&T) -> (&'static str, &'static str, String),
) -> Vec<Meaning> {
    let mut meanings: Vec<Meaning> = Vec::new();
    let mut places: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
    for probe in probe::ALL {
        for one in declared(*probe) {
            let (id, unit, help) = means(&one);
            let place = *places.entry((id, unit, help.clone())).or_insert_with(|| {
                meanings.push(Meaning { id, unit: unit.to_string(), help, probes: Vec::new() });
                meanings.len() - 1
            });
            meanings[place].probes.push(probe.about().id);
        }
    }
    meanings
}
