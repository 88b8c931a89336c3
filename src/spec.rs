//! What was asked: probes, axis values, precision, time limit, seed.

use crate::axis::Value;
use crate::probe::Timing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One probe of a spec and the values asked for on its axes. Axes that are not named take the
/// probe's defaults when the plan is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeSpec {
    pub probe: String,
    pub axes: BTreeMap<String, Vec<Value>>,
}

/// A whole experiment, as recorded in `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub name: String,
    pub title: String,
    pub probes: Vec<ProbeSpec>,
    /// Relative half-width of the interval of the median at which a case is done.
    pub precision: f64,
    /// Confidence of every interval.
    pub confidence: f64,
    pub min_rounds: u32,
    pub max_rounds: u32,
    /// Wall-clock limit of the whole run, always kept.
    pub time_limit_ns: u64,
    pub seed: u64,
    pub timing: Timing,
    /// Axes that are not named take their quick values.
    pub quick: bool,
}
