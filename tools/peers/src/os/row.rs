//! The rows that are compared, entries of `operations.toml`: each an operation of ours that at least one program measures too.

use crate::ours::resolved;
use crate::process::Interrupted;
use crate::program::{Measure, Program};
use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_core::sample::{Metric, Sample, round_value};
use syscost_core::stats;
use syscost_experiment::plan::Case;
use syscost_harness::worker::path::Paths;
use syscost_harness::worker::{self, RoundError, RoundOptions};
use syscost_host::clock;
use syscost_host::scratch::Scratch;
use syscost_measure::probe::{self, Timing};

/// The name of our side in the record.
pub const OURS: &str = "syscost";
/// As specs/os.toml has it.
const TIMING: Timing = Timing { warmup_ns: 1_000_000, window_ns: 2_000_000, windows: 3 };
const PATIENCE: Duration = Duration::from_secs(20);
/// Rounds of fresh workers whose median is one figure of ours: what `syscost run` reports after its fewest.
pub const OUR_ROUNDS: u32 = 6;

/// One compared operation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub id: String,
    pub title: String,
    pub probe: String,
    /// Axes by id, values as on the command line. Axes that are not named keep their first default.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    pub metric: String,
    /// Our metric counts this often in the row: a round trip is two passes of a token.
    #[serde(default = "once")]
    pub times: f64,
}

fn once() -> f64 {
    1.0
}

#[derive(Deserialize)]
struct Operations {
    row: Vec<Row>,
    program: Vec<Program>,
}

static OPERATIONS: LazyLock<Operations> =
    LazyLock::new(|| toml::from_str(include_str!("../operations.toml")).expect("tests read it"));

/// Every row, in the order of the page.
pub fn all() -> &'static [Row] {
    &OPERATIONS.row
}

/// Every program, in the order of tables.
pub fn programs() -> &'static [Program] {
    &OPERATIONS.program
}

/// One figure of one tool in one round, a line of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visited {
    pub sequence: u64,
    pub round: u32,
    pub row: String,
    pub tool: String,
    /// In the row's unit; none: there is a failure.
    pub value: Option<f64>,
    pub unit: String,
    pub failure: String,
    /// What was run, as a person would type it.
    pub command: String,
}

impl Row {
    /// The commands of a program that measure it.
    pub fn measures<'a>(&'a self, program: &'static Program) -> impl Iterator<Item = &'static Measure> + 'a {
        program.measure.iter().filter(|measure| measure.figures.contains_key(&self.id))
    }

    /// In the unit of its metric.
    pub fn metric(&self) -> Result<Metric> {
        let probe = probe::find(&self.probe).with_context(|| format!("no probe {}", self.probe))?;
        let metric = probe.metrics().into_iter().find(|metric| metric.id == self.metric);
        metric.with_context(|| format!("{} has no metric {}", self.probe, self.metric))
    }

    pub fn show(&self, value: f64) -> String {
        self.metric().map_or_else(|_| value.to_string(), |metric| metric.unit.format(value))
    }

    pub fn point(&self, directory: &str) -> Result<Point> {
        let at: Vec<(String, String)> = self.at.clone().into_iter().collect();
        resolved(&self.probe, &at, &[("directory", directory.to_string())])
    }

    /// Our side as a person would type it.
    pub fn as_typed(&self) -> String {
        let axes = probe::find(&self.probe).map(|probe| probe.axes()).unwrap_or_default();
        let flag = |id: &str| {
            axes.iter().find(|axis| axis.id == id).map_or(id.to_string(), |axis| axis.flag.to_string())
        };
        let flags: Vec<String> =
            self.at.iter().map(|(id, value)| format!(" --{} {value}", flag(id))).collect();
        format!("syscost run {}{}", self.probe, flags.concat())
    }

    /// One figure of ours: the median over a few rounds of fresh workers.
    pub fn figure(&self, directory: &str, stop: &AtomicBool) -> Result<f64> {
        let (point, metric) = (self.point(directory)?, self.metric()?);
        probe::find(&self.probe).context("its metric was found")?.available(&point)?;
        let case = Case { index: 0, probe: self.probe.as_str().into(), point, twin_of: None };
        let interrupted = || stop.load(Ordering::Relaxed);
        let tsc_hz = clock::tick_counter().filter(|c| c.invariant != Some(false)).map(|c| c.hertz);
        let terms = RoundOptions { tsc_hz, ..RoundOptions::of(TIMING, PATIENCE, &interrupted) };
        let (mut paths, mut scratch) = (Paths::new("peers"), Scratch::default());
        let mut values = Vec::new();
        for _ in 0..OUR_ROUNDS {
            let round =
                worker::round(&case, &terms, &mut paths, &mut scratch).map_err(|error| match error {
                    RoundError::Interrupted => anyhow!(Interrupted),
                    other => anyhow!(other),
                })?;
            let samples: Vec<&Sample> = round.samples.iter().collect();
            values.extend(round_value(&samples, &metric, &case.point));
        }
        ensure!(!values.is_empty(), "no usable sample");
        Ok(self.times * stats::median(&values).context("no usable sample")?)
    }
}
