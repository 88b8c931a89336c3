//! What one run of a side shows: how far its cases scatter, which stand out of that, and how many runs would decide.
//!
//! One replicate says nothing of what a case scatters by from run to run, so nothing is decided here. Most cases of two runs of
//! one machine do not change: what half of them differ by is a scale for the rest.

use super::{Change, Replicate, RunFigures, SideComparison};
use syscost_core::decide::sides::FEWEST;
use syscost_core::stats::student::critical;
use syscost_core::stats::{Estimate, mad, median};

/// Fewer cases have no scatter of their own.
pub const FEWEST_CASES: usize = 8;
/// A normal distribution has half of its values within so many standard deviations.
const HALF: f64 = 0.6745;
/// Scatters of cases differ by some two times, so what stands out is beyond what one scatter for all would give.
const STANDS_OUT: f64 = 5.0;
/// The difference that a number of runs is told for.
pub const WANTED: f64 = 0.05;
/// Found in four of five comparisons.
const POWER: f64 = 0.84;
const MANY: f64 = 1e6;

#[derive(Clone, Debug, PartialEq)]
pub struct SingleRuns {
    /// All cases by so much, as a ratio: the level of the machine, or what they share.
    pub level: f64,
    /// Half of the cases are within this share of that level.
    pub half_within: f64,
    /// Indices of changes beyond it, where neither run's own interval reaches the other's.
    pub standing_out: Vec<usize>,
    /// Runs a side that decide a difference of [`WANTED`].
    pub runs_wanted: usize,
}

impl SingleRuns {
    /// `None`: both sides have replicates, or too few cases to tell a scatter.
    pub fn of(
        compared: &SideComparison,
        base: &[RunFigures],
        candidate: &[RunFigures],
    ) -> Option<SingleRuns> {
        let is_single =
            compared.replicate == Replicate::Run && compared.replicates.iter().any(|n| *n < FEWEST);
        let logs: Vec<f64> = compared.changes.iter().map(|change| change.decision.ratio.ln()).collect();
        if !is_single || logs.len() < FEWEST_CASES {
            return None;
        }
        let (level, spread) = (median(&logs)?, mad(&logs)?);
        let deviation = spread / HALF;
        let stands_out = |change: &Change| {
            let far = (change.decision.ratio.ln() - level).abs() > STANDS_OUT * deviation;
            let own =
                |side: &[RunFigures]| side.iter().filter_map(|run| run.figure(change)).collect::<Vec<_>>();
            let [a, b] = [own(base), own(candidate)];
            far && a.iter().all(|one| b.iter().all(|other| are_apart(one, other)))
        };
        let numbered = compared.changes.iter().enumerate();
        let standing_out = numbered.filter(|(_, change)| stands_out(change)).map(|(at, _)| at).collect();
        // A side's mean of n runs scatters by the deviation of one over the root of n; the ratio of two runs by root two of it.
        let beyond = critical(WANTED / logs.len() as f64, MANY) + POWER;
        let runs = (beyond * deviation / WANTED.ln_1p()).powi(2).ceil() as usize;
        let half_within = spread.exp_m1();
        Some(SingleRuns { level: level.exp(), half_within, standing_out, runs_wanted: runs.max(FEWEST) + 1 })
    }
}

fn are_apart(one: &Estimate, other: &Estimate) -> bool {
    one.level > 0.0 && other.level > 0.0 && (one.high < other.low || other.high < one.low)
}
