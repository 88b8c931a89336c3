//! `cmp` beside hyperfine: two commands of which one is longer by a planted share.
//!
//! The commands are the same loop of a shell with more turns. hyperfine decides nothing: it is granted the interval that its
//! exported times give (Welch), which a careful reader would compute.

use crate::compare::mean;
use crate::ours;
use crate::planted::{self, Contender, Pair, PlantedOptions, Told, finished};
use crate::program::said;
use anyhow::{Context, Error, Result};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const USUAL: [Duration; 1] = [Duration::from_millis(20)];
/// Turns of the shell's loop, about.
const TURNS_A_NANOSECOND: f64 = 1e-3;
/// Of a normal distribution: 95 % two-sided.
const SURE: f64 = 1.96;

pub fn run(options: &PlantedOptions) -> Result<()> {
    planted::run(options, "commands", &USUAL, |scratch, _| {
        let (cmp, hyperfine) = (scratch.join("cmp.json"), scratch.join("hyperfine.json"));
        Ok(vec![
            Contender {
                name: "syscost cmp",
                version: ours::find()?,
                compare: Box::new(move |pair| by_cmp(options, pair, &cmp)),
            },
            Contender {
                name: "hyperfine",
                version: said("hyperfine --version").map_err(Error::msg)?,
                compare: Box::new(move |pair| by_hyperfine(pair, &hyperfine)),
            },
        ])
    })
}

fn commands(pair: &Pair) -> [String; 2] {
    // Two numbers of one length: the text of a command must not tell which is longer.
    pair.steps(TURNS_A_NANOSECOND)
        .map(|turns| format!("sh -c 'i=0; while [ $i -lt {turns:09} ]; do i=$((i+1)); done'"))
}

/// What `cmp` decided.
fn by_cmp(options: &PlantedOptions, pair: &Pair, out: &Path) -> Result<Told> {
    let mut command = Command::new(syscost_sys::program::path());
    command.args(["cmp", "--shell", "none", "--time-limit", &format!("{}ms", options.limit.as_millis())]);
    let answer = exported(command.arg("--export-json").arg(out).args(commands(pair)), out)?;
    let wall = answer["comparisons"].as_array().into_iter().flatten().find(|one| one["metric"] == "wall");
    let wall = wall.context("cmp compared no wall times")?;
    let end = |key: &str| wall[key].as_f64().map(f64::ln).with_context(|| format!("cmp exported no {key}"));
    Ok(match wall["verdict"].as_str() {
        Some("same") => Told::Same,
        Some("more" | "less") => Told::Ratio([end("ci_low")?, end("ci_high")?]),
        _ => Told::Undecided,
    })
}

fn by_hyperfine(pair: &Pair, out: &Path) -> Result<Told> {
    let mut command = Command::new("hyperfine");
    command.args(["--shell", "none", "--warmup", "2", "--export-json"]).arg(out).args(commands(pair));
    let answer = exported(&mut command, out)?;
    let of = |at: usize| -> Result<(f64, f64)> {
        let times = answer["results"][at]["times"].as_array().context("hyperfine exported no times")?;
        let times: Vec<f64> = times.iter().filter_map(Value::as_f64).collect();
        let middle = mean(&times);
        let squares: f64 = times.iter().map(|time| (time / middle - 1.0).powi(2)).sum();
        let n = times.len() as f64;
        // Of the log of a mean, nearly.
        Ok((middle.ln(), squares / (n - 1.0) / n))
    };
    let ((first, a), (second, b)) = (of(0)?, of(1)?);
    let half = SURE * (a + b).sqrt();
    Ok(Told::Ratio([second - first - half, second - first + half]))
}

fn exported(command: &mut Command, out: &Path) -> Result<Value> {
    finished(command)?;
    Ok(serde_json::from_slice(&fs::read(out)?)?)
}
