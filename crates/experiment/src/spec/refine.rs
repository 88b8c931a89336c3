//! `[refine]`: a run that narrows its own grid where the answer changes.

use super::SpecError;
use crate::spec::ProbeSpec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use syscost_core::axis::{Axis, Kind, suggest};
use syscost_measure::probe::{self, Probe};

/// The share of the time that `--refine` keeps: its limit is half as long again.
pub(super) const SHARE: f64 = 1.0 / 3.0;

/// Axes between whose values others lie, and which are given to a user rather than chosen.
pub(super) fn axes_of_numbers(probe: &dyn Probe) -> impl Iterator<Item = Axis> + '_ {
    let given = probe.axes().into_iter().filter(|axis| !probe.chosen(axis.id));
    given.filter(|axis| matches!(axis.kind, Kind::Bytes { .. } | Kind::Int { .. }))
}

/// How a run refines its grid, once its own cases are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refine {
    /// Axes of numbers along which new values are looked for.
    pub axes: Vec<String>,
    /// How often it looks again.
    pub stages: u32,
    /// Cases that all stages together may add.
    pub most_cases: u32,
    /// The share of the time limit that is kept for them.
    pub time_share: f64,
}

impl Default for Refine {
    fn default() -> Refine {
        Refine { axes: Vec::new(), stages: 3, most_cases: 120, time_share: 0.5 }
    }
}

impl Refine {
    /// How long the grid that was asked for may take of a limit.
    pub fn before(&self, limit: Duration) -> Duration {
        limit.mul_f64(1.0 - self.time_share)
    }

    /// Refuses what no run could do.
    pub fn validate(&self, probes: &[ProbeSpec]) -> Result<(), SpecError> {
        let refuse = |message: String| Err(SpecError::Value(message));
        if !(self.time_share > 0.0 && self.time_share < 1.0) {
            return refuse(
                "refine: time_share must lie between 0 and 100 %, ends excluded: 50% is the default".into(),
            );
        }
        if self.stages == 0 || self.most_cases < 2 {
            return refuse("refine: there must be at least 1 stage and 2 cases".into());
        }
        if self.axes.is_empty() {
            return refuse("refine needs axes = a list of axes of numbers, such as size".into());
        }
        let given: Vec<(&str, &str)> = probes
            .iter()
            .filter_map(|entry| probe::find(&entry.probe))
            .flat_map(axes_of_numbers)
            .map(|axis| (axis.id, axis.flag))
            .collect();
        let flags: Vec<&str> = given.iter().map(|(_, flag)| *flag).collect();
        match self.axes.iter().find(|axis| given.iter().all(|(id, _)| id != axis)) {
            Some(axis) => refuse(format!(
                "refine: {axis:?} is no axis of numbers that is given rather than chosen: {}",
                suggest(axis, &flags, &given)
            )),
            None => Ok(()),
        }
    }
}
