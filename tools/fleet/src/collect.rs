//! Reads what the steps of a fleet have left: ordinary run directories, by what of them is an interface.
//!
//! A step counts once, however often it was submitted or collected: by the run that has its name. What an attempt that
//! was stopped had measured stays in its directory and counts for nothing.

use crate::figures::{FleetFigure, FleetTables, HostFact, StepOutcome, StepState};
use crate::folder::FleetFolder;
use crate::plan::FleetStep;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use syscost_analyze::sides::compared_metric;
use syscost_core::sample::Metric;
use syscost_experiment::run::files::RECORD;
use syscost_host::Fact;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::PATH;
use syscost_report::csv::{AFTER, BEFORE};

const RESULTS: &str = "results.csv";
/// A record of a run of one host has some hundred KiB.
const LARGEST: u64 = 256 << 20;
/// What a network's speed shows in, where a probe has it.
const THROUGHPUT: &str = "throughput";

/// What of `run.json` is used.
#[derive(Deserialize)]
struct CollectedRecord {
    id: String,
    host: Vec<Fact>,
    tool: CollectedTool,
}

#[derive(Deserialize)]
struct CollectedTool {
    version: String,
    binary_sha256: String,
}

/// Everything that is there by now.
pub fn collect(folder: &FleetFolder) -> Result<FleetTables> {
    let mut tables = FleetTables::default();
    let mut known = BTreeSet::new();
    for step in folder.plan.steps()? {
        let outcome = match folder.is_done(&step) {
            true => match add(&folder.run_of(&step), &step, &mut tables, &mut known) {
                Ok((run, syscost)) => outcome(folder, &step, StepState::Done, run, syscost, String::new()),
                Err(error) => outcome(
                    folder,
                    &step,
                    StepState::Failed,
                    String::new(),
                    String::new(),
                    format!("{error:#}"),
                ),
            },
            false => unfinished(folder, &step),
        };
        tables.steps.push(outcome);
    }
    Ok(tables)
}

/// The directories of runs that count.
pub fn runs(folder: &FleetFolder) -> Result<Vec<PathBuf>> {
    let steps = folder.plan.steps()?;
    Ok(steps.iter().filter(|step| folder.is_done(step)).map(|step| folder.run_of(step)).collect())
}

fn outcome(
    folder: &FleetFolder,
    step: &FleetStep,
    state: StepState,
    run: String,
    syscost: String,
    reason: String,
) -> StepOutcome {
    StepOutcome {
        step: step.number,
        host: step.host.clone(),
        receiver: step.receiver.clone().unwrap_or_default(),
        state,
        run,
        syscost,
        attempts: folder.attempts(step).len(),
        reason,
    }
}

fn unfinished(folder: &FleetFolder, step: &FleetStep) -> StepOutcome {
    let words = folder.last_words(step);
    let tried = words.is_some() || !folder.attempts(step).is_empty();
    let state = if tried { StepState::Failed } else { StepState::Open };
    let silent = if tried { "it was stopped without a word: killed, or out of time" } else { "" };
    outcome(folder, step, state, String::new(), String::new(), words.unwrap_or_else(|| silent.into()))
}

/// The run's id, and which syscost measured it.
fn add(
    run: &Path,
    step: &FleetStep,
    tables: &mut FleetTables,
    known: &mut BTreeSet<String>,
) -> Result<(String, String)> {
    let record: CollectedRecord = serde_json::from_slice(&bounded(&run.join(RECORD))?)
        .with_context(|| format!("{} is no record of a run", run.join(RECORD).display()))?;
    let figures = figures(&run.join(RESULTS), step)?;
    if figures.is_empty() {
        bail!("it has no figure to compare");
    }
    tables.figures.extend(figures);
    if known.insert(step.host.clone()) {
        let facts = record.host.into_iter().filter_map(|fact| {
            Some(HostFact { host: step.host.clone(), value: fact.value?, id: fact.id, title: fact.title })
        });
        tables.facts.extend(facts);
    }
    let sha = record.tool.binary_sha256;
    Ok((record.id, format!("{} {}", record.tool.version, sha.get(..12).unwrap_or(&sha))))
}

fn bounded(path: &Path) -> Result<Vec<u8>> {
    let about = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(about)?;
    if file.metadata().with_context(about)?.len() > LARGEST {
        bail!("{} is larger than any record", path.display());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).with_context(about)?;
    Ok(bytes)
}

fn figures(path: &Path, step: &FleetStep) -> Result<Vec<FleetFigure>> {
    let about = || format!("cannot read {}", path.display());
    fs::metadata(path).with_context(about)?;
    let mut reader = csv::Reader::from_path(path).with_context(about)?;
    let header = reader.headers().with_context(about)?.clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|known| known == name)
            .with_context(|| format!("{} has no column {name}", path.display()))
    };
    let (of_probe, of_metric, unit, value) =
        (column("probe")?, column("metric")?, column("unit")?, column("value")?);
    let axes: Vec<usize> = (0..of_metric)
        .filter(|at| !BEFORE.iter().chain(AFTER).any(|known| known.id == &header[*at]))
        .collect();
    let mut compared: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    let mut found = Vec::new();
    for row in reader.records() {
        let row = row.with_context(about)?;
        let field = |at: usize| row.get(at).unwrap_or_default();
        let metrics = compared
            .entry(field(of_probe).into())
            .or_insert_with(|| metrics(field(of_probe)).iter().map(|metric| metric.id).collect());
        let value: Option<f64> =
            field(value).parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        let Some(value) = value.filter(|_| metrics.contains(&field(of_metric))) else { continue };
        let point = axes.iter().filter(|at| &header[**at] != PATH.id && !field(**at).is_empty());
        let point: Vec<String> = point.map(|at| format!("{}={}", &header[*at], field(*at))).collect();
        found.push(FleetFigure {
            step: step.number,
            host: step.host.clone(),
            receiver: step.receiver.clone().unwrap_or_default(),
            repeat: step.repeat,
            probe: field(of_probe).into(),
            point: point.join(" "),
            metric: field(of_metric).into(),
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
