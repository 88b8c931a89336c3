//! Our side of a comparison: a few rounds of a case, the built binary's own workers in the same
//! namespaces and on the same CPUs as every other tool.
//!
//! Axes that a comparison does not name keep the study's defaults, so that a new axis is picked up
//! here without a change.

use crate::cell::Cell;
use crate::contest::Contest;
use crate::place::{CONGESTION_CONTROL, Place};
use crate::process::Interrupted;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_core::sample::{Sample, round_value};
use syscost_core::stats;
use syscost_experiment::plan::Case;
use syscost_harness::worker::path::Paths;
use syscost_harness::worker::{self, RoundError, RoundOptions};
use syscost_host::clock;
use syscost_host::scratch::Scratch;
use syscost_measure::probe::{self, Timing};
use syscost_sys::program;

/// What a window of ours leaves out at its start; a receiver of ours that serves another tool's
/// sender leaves out the same.
pub const WARM_UP: Duration = Duration::from_millis(100);
/// Beyond its own time: a search takes many windows.
const PATIENCE: Duration = Duration::from_secs(120);
/// Of an operation, as specs/os.toml has it.
const OPERATION: Timing = Timing { warmup_ns: 1_000_000, window_ns: 2_000_000, windows: 3 };
/// Rounds of fresh workers whose median is one figure of an operation: what `syscost run` reports after its fewest.
const OPERATION_ROUNDS: u32 = 6;

/// What a visit gets to work with.
pub struct Visit<'a> {
    /// None: an operation.
    pub place: Option<&'a Place>,
    pub cell: &'a Cell,
    pub seconds: u32,
    /// Where an operation makes its files.
    pub directory: &'a str,
    pub stop: &'a AtomicBool,
}

/// The program that cargo built beside this one, as the comparison records it.
pub fn find() -> Result<String> {
    let binary = std::env::current_exe()?.with_file_name("syscost");
    ensure!(binary.is_file(), "{} is missing: cargo build --release", binary.display());
    program::set(&binary);
    let profile = if cfg!(debug_assertions) { "debug build: compare nothing" } else { "release" };
    let hash = program::sha256().with_context(|| binary.display().to_string())?;
    Ok(format!("{} {profile}, SHA-256 {}", env!("CARGO_PKG_VERSION"), &hash[..12]))
}

/// One figure of ours: the metric as reports compute it, over rounds of fresh workers.
pub fn figure(contest: &Contest, at: &[(String, String)], visit: &Visit<'_>) -> Result<f64> {
    let point = resolved(contest.probe(), at, &common(visit))?;
    let (probe, metric) = (probe::find(contest.probe()).context("resolved above")?, contest.measured()?);
    if let Err(why) = probe.available(&point) {
        bail!("{}: {}", why.reason, why.remedy);
    }
    let mut paths = Paths::new("peers");
    if let Some(place) = visit.place {
        paths.lend(place.settings.clone(), place.lent()?);
    }
    let case = Case { index: 0, probe: contest.probe().into(), point, twin_of: None };
    let interrupted = || visit.stop.load(Ordering::Relaxed);
    let (timing, rounds) = match visit.place {
        Some(_) => (transfer_timing(&case, visit.seconds)?, 1),
        None => (OPERATION, OPERATION_ROUNDS),
    };
    let tsc_hz = clock::tick_counter().filter(|counter| counter.invariant != Some(false)).map(|c| c.hertz);
    let terms = RoundOptions { tsc_hz, ..RoundOptions::of(timing, PATIENCE, &interrupted) };
    let mut scratch = Scratch::default();
    let mut values = Vec::new();
    for _ in 0..rounds {
        let round = worker::round(&case, &terms, &mut paths, &mut scratch).map_err(|error| match error {
            RoundError::Interrupted => anyhow!(Interrupted),
            other => anyhow!(other),
        })?;
        let samples: Vec<&Sample> = round.samples.iter().collect();
        values.extend(round_value(&samples, &metric, &case.point));
    }
    Ok(contest.times.unwrap_or(1.0) * stats::median(&values).context("no usable sample")?)
}

/// What makes the probe's own window as long as a visit: a probe may stretch what it is asked for.
fn transfer_timing(case: &Case, seconds: u32) -> Result<Timing> {
    let window_ns = u64::from(seconds) * 1_000_000_000;
    let plain = Timing { warmup_ns: WARM_UP.as_nanos() as u64, window_ns, windows: 1 };
    let probe = probe::find(&case.probe).with_context(|| format!("no probe {}", case.probe))?;
    let stretched = probe.timing(&case.point, plain).window_ns as f64 / window_ns as f64;
    Ok(Timing { window_ns: (window_ns as f64 / stretched) as u64, ..plain })
}

/// What the place and the cell decide. A loopback is a pair whose ends share a namespace.
fn common(visit: &Visit<'_>) -> Vec<(&'static str, String)> {
    let Some(place) = visit.place else { return vec![("directory", visit.directory.into())] };
    let (sender, receiver) = place.cpus;
    vec![
        ("message_bytes", visit.cell.message_bytes.to_string()),
        ("threads", visit.cell.streams.to_string()),
        ("path", place.settings.layer.to_string()),
        ("nodelay", visit.cell.nodelay_text().to_string()),
        ("congestion_control", CONGESTION_CONTROL.to_string()),
        ("mtu", place.settings.mtu.to_string()),
        ("placement", format!("{sender}:{receiver}")),
    ]
}

/// The coordinates of a case: what was asked, else what is common, else the first default.
pub fn resolved(probe: &str, at: &[(String, String)], common: &[(&str, String)]) -> Result<Point> {
    let found = probe::find(probe).with_context(|| format!("no probe {probe}"))?;
    let mut point = Point::default();
    for axis in &found.axes() {
        if !found.applies(axis.id, &point) {
            continue;
        }
        let asked = at.iter().find(|(id, _)| *id == axis.id).map(|(_, text)| text);
        let named = asked.or(common.iter().find(|(id, _)| *id == axis.id).map(|(_, text)| text));
        let value = match named {
            Some(text) => axis.parse(text)?,
            None => {
                axis.default().into_iter().next().with_context(|| format!("{} has no default", axis.id))?
            }
        };
        point.set(axis.id, value);
    }
    if let Some((id, _)) = at.iter().find(|(id, _)| point.get(id).is_none()) {
        bail!("{probe} has no axis {id} there");
    }
    Ok(point)
}
