//! Reads what the steps of a fleet have left: ordinary run directories, by what of them is an interface.
//!
//! A step counts once, however often it was submitted or collected: by the run that has its name. What an attempt that
//! was stopped had measured stays in its directory and counts for nothing.

use crate::figures::{FleetFigure, FleetTables, HostFact, StepOutcome, StepState};
use crate::folder::FleetFolder;
use crate::plan::FleetStep;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syscost_analyze::sides::compared_metric;
use syscost_core::sample::Metric;
use syscost_experiment::run::Record;
use syscost_experiment::run::files::RunDir;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::PATH;
use syscost_report::csv::{AFTER, BEFORE};

const RESULTS: &str = "results.csv";
/// What a network's speed shows in, where a probe has it.
const THROUGHPUT: &str = "throughput";

/// Everything that is there by now.
pub fn collect(folder: &FleetFolder) -> Result<FleetTables> {
    let mut tables = FleetTables::default();
    let mut known = BTreeSet::new();
    for step in folder.plan.steps()? {
        let mut outcome = StepOutcome {
            step: step.number,
            host: step.host.clone(),
            receiver: step.receiver.clone().unwrap_or_default(),
            state: StepState::Open,
            run: String::new(),
            syscost: String::new(),
            attempts: folder.attempts(&step),
            reason: String::new(),
        };
        if folder.is_done(&step) {
            match read(&folder.run_of(&step), &step) {
                Ok((record, figures)) => {
                    let sha = &record.tool.binary_sha256;
                    outcome.state = StepState::Done;
                    outcome.syscost = format!("{} {}", record.tool.version, sha.get(..12).unwrap_or(sha));
                    outcome.run = record.id;
                    tables.figures.extend(figures);
                    if known.insert(step.host.clone()) {
                        tables.facts.extend(record.host.into_iter().filter_map(|fact| {
                            let host = step.host.clone();
                            Some(HostFact { host, value: fact.value?, id: fact.id, title: fact.title })
                        }));
                    }
                }
                Err(error) => (outcome.state, outcome.reason) = (StepState::Failed, format!("{error:#}")),
            }
        } else {
            let words = folder.last_words(&step);
            if words.is_some() || outcome.attempts > 0 {
                outcome.state = StepState::Failed;
                let silent = "it was stopped without a word: killed, or out of time";
                outcome.reason = words.unwrap_or_else(|| silent.into());
            }
        }
        tables.steps.push(outcome);
    }
    Ok(tables)
}

fn read(run: &Path, step: &FleetStep) -> Result<(Record, Vec<FleetFigure>)> {
    let record = RunDir::record(run)?;
    let path = run.join(RESULTS);
    let figures = figures(&path, step).with_context(|| format!("cannot read {}", path.display()))?;
    if figures.is_empty() {
        bail!("it has no figure to compare");
    }
    Ok((record, figures))
}

fn figures(path: &Path, step: &FleetStep) -> Result<Vec<FleetFigure>> {
    let mut reader = csv::Reader::from_path(path)?;
    let header = reader.headers()?.clone();
    let place = |name: &str| header.iter().position(|known| known == name);
    let column = |name: &str| place(name).with_context(|| format!("it has no column {name}"));
    let (probe, metric, unit, value) =
        (column("probe")?, column("metric")?, column("unit")?, column("value")?);
    let is_axis = |at: &usize| BEFORE.iter().chain(AFTER).all(|known| known.id != &header[*at]);
    let axes: Vec<usize> = (0..metric).filter(is_axis).filter(|at| &header[*at] != PATH.id).collect();
    let mut compared: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    let mut found = Vec::new();
    for row in reader.records() {
        let row = row?;
        let field = |at: usize| row.get(at).unwrap_or_default();
        let metrics = compared
            .entry(field(probe).into())
            .or_insert_with(|| metrics(field(probe)).iter().map(|metric| metric.id).collect());
        let number = field(value).parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        let Some(value) = number.filter(|_| metrics.contains(&field(metric))) else { continue };
        let point = axes.iter().filter(|at| !field(**at).is_empty());
        let point: Vec<String> = point.map(|at| format!("{}={}", &header[*at], field(*at))).collect();
        found.push(FleetFigure {
            step: step.number,
            host: step.host.clone(),
            receiver: step.receiver.clone().unwrap_or_default(),
            repeat: step.repeat,
            probe: field(probe).into(),
            point: point.join(" "),
            metric: field(metric).into(),
            unit: field(unit).into(),
            value,
        });
    }
    Ok(found)
}

/// What hosts are compared by: the cost of an operation, and how fast it went where the network decides.
pub fn metrics(probe: &str) -> Vec<Metric> {
    let Some(probe) = probe::find(probe) else { return Vec::new() };
    let speed = probe.metrics().into_iter().find(|metric| metric.id == THROUGHPUT);
    let mut all: Vec<Metric> = compared_metric(probe).into_iter().chain(speed).collect();
    all.dedup_by_key(|metric| metric.id);
    all
}
