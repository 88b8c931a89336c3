//! One figure of ours: the median over a few rounds of fresh workers, as `syscost run` reports it
//! after its fewest rounds.

use super::row::Row;
use crate::process::Interrupted;
use anyhow::{Context, Result, anyhow};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syscost_core::sample::{Sample, round_value};
use syscost_core::stats;
use syscost_experiment::plan::Case;
use syscost_harness::worker::path::Paths;
use syscost_harness::worker::{self, RoundError, RoundOptions};
use syscost_host::clock;
use syscost_host::scratch::Scratch;
use syscost_measure::probe::{self, Timing};
use syscost_sys::program;

/// As specs/os.toml has it.
const TIMING: Timing = Timing { warmup_ns: 1_000_000, window_ns: 2_000_000, windows: 3 };
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Ours {
    paths: Paths,
    scratch: Scratch,
    tsc_hz: Option<f64>,
    directory: String,
    rounds: u32,
}

impl Ours {
    /// The version, and what measures.
    pub fn find(directory: &str, rounds: u32) -> Result<(String, Ours)> {
        let binary = crate::ours::beside().map_err(anyhow::Error::msg)?;
        program::set(&binary);
        let hash = program::sha256().with_context(|| binary.display().to_string())?;
        let profile = if cfg!(debug_assertions) { "debug build: compare nothing" } else { "release" };
        let version = format!("{} {profile}, SHA-256 {}", env!("CARGO_PKG_VERSION"), &hash[..12]);
        let (paths, scratch) = (Paths::new("peers"), Scratch::default());
        let tsc_hz = clock::tick_counter().filter(|c| c.invariant != Some(false)).map(|c| c.hertz);
        Ok((version, Ours { paths, scratch, tsc_hz, directory: directory.into(), rounds }))
    }

    /// `instead`: coordinates of a variant.
    pub fn figure(
        &mut self,
        row: &Row,
        instead: &[(&'static str, &'static str)],
        stop: &AtomicBool,
    ) -> Result<f64> {
        let (point, metric) = row.resolve(instead, &self.directory)?;
        let probe = probe::find(row.probe).context("resolved above")?;
        probe.available(&point)?;
        let case = Case { index: 0, probe: row.probe.into(), point, twin_of: None };
        let interrupted = || stop.load(Ordering::Relaxed);
        let terms = RoundOptions { tsc_hz: self.tsc_hz, ..RoundOptions::of(TIMING, PATIENCE, &interrupted) };
        let mut values = Vec::new();
        for _ in 0..self.rounds {
            let round = worker::round(&case, &terms, &mut self.paths, &mut self.scratch).map_err(
                |error| match error {
                    RoundError::Interrupted => anyhow!(Interrupted),
                    other => anyhow!(other),
                },
            )?;
            let samples: Vec<&Sample> = round.samples.iter().collect();
            values.extend(round_value(&samples, &metric, &case.point));
        }
        Ok(row.times * stats::median(&values).context("no usable sample")?)
    }
}
