//! `syscost run --operation` beside criterion: two functions of which one is longer by a planted share.
//!
//! The functions are those of `spin.c`, compiled once: both programs load the same object. criterion is used as its users do:
//! `--save-baseline` for the first, `--baseline` for the second, all settings at their defaults.

use crate::ours;
use crate::planted::{self, Contender, Pair, PlantedOptions, Told, finished};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const USUAL: [Duration; 3] = [Duration::from_nanos(10), Duration::from_micros(1), Duration::from_millis(1)];
/// A step lasts a cycle.
const STEPS_A_NANOSECOND: f64 = 4.0;
const CRITERION: &str = "0.5.1";
/// criterion's default: a change is told where its whole interval is beyond.
const NOISE_THRESHOLD: f64 = 0.01;
/// Where criterion is built, once, and stays built.
const BUILT: &str = "target/peers/criterion";

pub fn run(options: &PlantedOptions) -> Result<()> {
    planted::run(options, "functions", &USUAL, |scratch, pairs| {
        let (object, bench) = (compiled(&scratch, pairs)?, built()?);
        let (own, out, home) = (object.clone(), scratch.join("run"), scratch.join("criterion"));
        Ok(vec![
            Contender {
                name: "syscost run",
                version: ours::find()?,
                compare: Box::new(move |pair| by_syscost(options, pair, &own, &out)),
            },
            Contender {
                name: "criterion",
                version: CRITERION.into(),
                compare: Box::new(move |pair| by_criterion(&bench, pair, &object, &home)),
            },
        ])
    })
}

/// The shared object with the functions of all pairs.
fn compiled(scratch: &Path, pairs: &[Pair]) -> Result<PathBuf> {
    let (source, object) = (scratch.join("spin.c"), scratch.join("spin.so"));
    fs::write(&source, include_str!("spin.c"))?;
    fs::write(scratch.join("syscost.h"), include_str!("../../../../crates/sys/include/syscost.h"))?;
    let steps: BTreeSet<u64> = pairs.iter().flat_map(|pair| pair.steps(STEPS_A_NANOSECOND)).collect();
    let each: Vec<String> = steps.iter().map(|steps| format!("F({steps})")).collect();
    let each = format!("-DEACH(F)={}", each.join(" "));
    finished(Command::new("cc").args(["-O2", "-shared", "-fPIC", &each, "-o"]).args([&object, &source]))?;
    Ok(object)
}

/// A bench of criterion's, in a workspace of its own: this one has no dependency more.
fn built() -> Result<PathBuf> {
    let folder = std::path::absolute(BUILT)?;
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"spin\"\nedition = \"2024\"\n\n[dependencies]\ncriterion = \"={CRITERION}\"\n\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), include_str!("criterion.rs"))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(&folder).args(["build", "--release", "--target-dir", "target"]);
    finished(&mut cargo).context("criterion is built with cargo, which gets it from its registry")?;
    Ok(folder.join("target/release/spin"))
}

/// What the run decided of the cost.
fn by_syscost(options: &PlantedOptions, pair: &Pair, object: &Path, out: &Path) -> Result<Told> {
    let mut command = Command::new(syscost_sys::program::path());
    command.arg("run");
    for (label, steps) in ["first", "second"].iter().zip(pair.steps(STEPS_A_NANOSECOND)) {
        command.args(["--operation", &format!("{label}={}:spin_{steps}", object.display())]);
    }
    command.args(["--time-limit", &format!("{}ms", options.limit.as_millis()), "--out"]).arg(out);
    finished(&mut command)?;
    let mut rows = csv::Reader::from_path(out.join("comparisons.csv"))?;
    let (mut told, headers) = (Told::Undecided, rows.headers()?.clone());
    for row in rows.records() {
        let row = row?;
        let of = |name| headers.iter().position(|header| header == name).and_then(|at| row.get(at));
        let end = |name| of(name).and_then(|text| text.parse::<f64>().ok()).map(f64::ln);
        told = match of("verdict").filter(|_| of("metric") == Some("cost")) {
            Some("same") => Told::Same,
            Some("faster" | "slower") => {
                let (low, high) = end("ci_low").zip(end("ci_high")).context("a decision has an interval")?;
                // The record has the ratio of a to b.
                let to_second = of("a_is").is_some_and(|a| a.ends_with("first"));
                Told::Ratio(if to_second { [-high, -low] } else { [low, high] })
            }
            _ => continue,
        };
    }
    fs::remove_dir_all(out)?;
    Ok(told)
}

fn by_criterion(bench: &Path, pair: &Pair, object: &Path, home: &Path) -> Result<Told> {
    for (baseline, steps) in ["--save-baseline", "--baseline"].iter().zip(pair.steps(STEPS_A_NANOSECOND)) {
        let mut command = Command::new(bench);
        command.env("SPIN_OBJECT", object).env("SPIN_NAME", format!("spin_{steps}"));
        finished(command.env("CRITERION_HOME", home).args(["--bench", baseline, "first"]))?;
    }
    let change = fs::read(home.join("spin/change/estimates.json"))?;
    let change: serde_json::Value = serde_json::from_slice(&change)?;
    let interval = &change["mean"]["confidence_interval"];
    let end = |key: &str| interval[key].as_f64().with_context(|| format!("criterion exported no {key}"));
    let (low, high) = (end("lower_bound")?, end("upper_bound")?);
    fs::remove_dir_all(home)?;
    Ok(match low > NOISE_THRESHOLD || high < -NOISE_THRESHOLD {
        true => Told::Ratio([low.ln_1p(), high.ln_1p()]),
        false => Told::NoChange,
    })
}
