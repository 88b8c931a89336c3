//! How many rows of `run os` cost what was predicted of them within a factor of two, by the state of the machine.
//!
//! `cargo xtask predictions FOLDER` measures the conditions that the folder lacks and keeps what was measured and predicted. A
//! run of another machine (a guest, another host) that lies in the folder is one more condition, by its folder's name.

use crate::beside::BesideRun;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use syscost_analyze::cells::Cells;
use syscost_analyze::operations::accuracy::FACTOR;
use syscost_analyze::operations::operations;
use syscost_experiment::run::RunDir;

pub const RECORD: &str = "docs/runs/predictions.csv";

const CONDITIONS: [(&str, BesideRun); 5] = [
    ("undisturbed", BesideRun::Nothing),
    ("one_cpu", BesideRun::OneCpu),
    ("quota", BesideRun::Quota),
    ("load", BesideRun::Load),
    ("pressure", BesideRun::Pressure(1)),
];

/// The run of every condition.
const STUDY: &str = "run os --quiet --time-limit 62s";
/// The share of rows within the factor that is asked for.
const ASKED: f64 = 0.9;

/// One predicted row of one condition.
#[derive(Serialize, Deserialize)]
struct PredictedRow {
    condition: String,
    probe: String,
    row: String,
    unit: String,
    measured: f64,
    low: f64,
    high: f64,
    predicted: f64,
}

impl PredictedRow {
    fn ratio(&self) -> f64 {
        self.measured / self.predicted
    }

    fn holds(&self) -> bool {
        (1.0 / FACTOR..=FACTOR).contains(&self.ratio())
    }
}

/// Measures the conditions that the folder lacks, and keeps the predicted rows of all runs in it.
pub fn record(program: &Path, folder: &Path, record: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, beside) in CONDITIONS {
        let out = folder.join(name);
        if !out.exists() {
            beside.run(program, STUDY.split(' '), &out)?;
        }
    }
    let known = CONDITIONS.iter().map(|(name, _)| name.to_string());
    let mut others: Vec<String> = Vec::new();
    for entry in folder.read_dir()? {
        let name = entry?.file_name().into_string().ok().context("a name in UTF-8")?;
        if folder.join(&name).join("run.json").exists() && !CONDITIONS.iter().any(|(known, _)| *known == name)
        {
            others.push(name);
        }
    }
    others.sort_unstable();
    let mut writer = csv::Writer::from_path(record)?;
    for condition in known.chain(others) {
        let run = RunDir::load(&folder.join(&condition)).with_context(|| condition.clone())?;
        for operation in operations(&run, &Cells::of(&run)) {
            let (name, predicted) = (operation.name(), operation.predicted());
            let Some((measured, predicted)) = operation.measured.zip(predicted) else { continue };
            writer.serialize(PredictedRow {
                condition: condition.clone(),
                probe: operation.probe.into(),
                row: name,
                unit: operation.metric.unit.symbol().into(),
                measured: rounded(measured.value),
                low: rounded(measured.low),
                high: rounded(measured.high),
                predicted: rounded(predicted),
            })?;
        }
    }
    Ok(writer.flush()?)
}

/// Four digits are enough for a ratio.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A row a condition, then the rows that miss.
pub fn page(record: &Path) -> Result<String> {
    let rows: Vec<PredictedRow> = csv::Reader::from_path(record)?.deserialize().collect::<Result<_, _>>()?;
    let mut conditions: Vec<&str> = Vec::new();
    for row in &rows {
        if !conditions.contains(&row.condition.as_str()) {
            conditions.push(&row.condition);
        }
    }
    let mut text = String::from(
        "| condition | how it was run | rows predicted | within a factor of two | share |\n|---|---|---|---|---|\n",
    );
    for condition in &conditions {
        let of: Vec<&PredictedRow> = rows.iter().filter(|row| row.condition == *condition).collect();
        let held = of.iter().filter(|row| row.holds()).count();
        let share = held as f64 / of.len() as f64;
        let beside = CONDITIONS.iter().find(|(name, _)| name == condition);
        let how = beside.map_or("a run of another machine".into(), |(_, beside)| {
            format!("`{}`{}", STUDY.replace(" --quiet", ""), beside.how())
        });
        let met = if share >= ASKED { "" } else { ", not met" };
        let name = condition.replace('_', " ");
        text += &format!("| {name} | {how} | {} | {held} | {:.0} %{met} |\n", of.len(), 100.0 * share);
    }
    text += "\nRows that miss, with measured over predicted:\n\n";
    text += &misses(&rows, &conditions);
    Ok(text)
}

fn misses(rows: &[PredictedRow], conditions: &[&str]) -> String {
    let mut missed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for condition in conditions {
        for row in rows.iter().filter(|row| row.condition == *condition && !row.holds()) {
            let said = format!("{} {:.2}", condition.replace('_', " "), row.ratio());
            missed.entry(&row.row).or_default().push(said);
        }
    }
    let mut text = String::from("| row | where | the part that is missing |\n|---|---|---|\n");
    for (row, said) in missed {
        let part = MISSING
            .iter()
            .find(|(title, _)| row.to_lowercase().starts_with(&title.to_lowercase()))
            .map_or("not known", |(_, part)| part);
        text += &format!("| {row} | {} | {part} |\n", said.join(", "));
    }
    text
}

/// What predictions of a row leave out, by the beginning of its name. Where the kernel does it, `syscost profile` of the row
/// shows the class and functions named here.
const MISSING: &[(&str, &str)] = &[
    (
        "cache line",
        "lines of the other program in the shared cache: the part was measured among them, the row's line stays in the cores",
    ),
    (
        "reading 4 KiB of a file",
        "the disk; and where a read waits, the turn of another program that wants the CPU",
    ),
    ("reading a file again", "memory that another program uses at the same time"),
    (
        "memory bandwidth",
        "memory that another program uses at the same time; stores past the caches are predicted from loads",
    ),
    (
        "memory latency",
        "lines of others in the shared cache, and sets of a full cache: a part and its row are measured seconds apart",
    ),
    ("page fault", "a huge page is filled from memory, not at the rate of stores"),
    (
        "peak",
        "lines that the other core wrote: the copy rate is of one core's own (profile: data copy on both sides)",
    ),
    (
        "process creation",
        "page descriptors that no cache holds (profile: memory management, in copy_page_range and unmap_page_range)",
    ),
    ("TCP connection", "the other side's turn on the same CPU (profile: sockets, on the server's side)"),
    (
        "TCP round trip",
        "segments of a large message, each of which the stack handles; under load, the turn of others on the CPU",
    ),
    ("reading the time", "a read of the coarse clock is shorter than what its parts add up to"),
];
