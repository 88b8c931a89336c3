//! One metric of a run, compared: who wins where, and where two cross.

use crate::cells::Cells;
use crate::compare::Comparisons;
use crate::compare::crossover::{self, Crossover};
use crate::compare::groups::Groups;
use crate::compare::winners::{Winner, winners};
use syscost_core::axis::{IntAxis, NameAxis};
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES};

/// The axis whose values compete.
pub const RIVALS: NameAxis = MECHANISM;
/// The axis along which they may cross.
pub const ALONG: IntAxis = MESSAGE_BYTES;
/// The metrics that a verdict speaks of, in this order, where a run has them.
pub const HEADLINES: &[&str] = &["total_cpu_ns_per_byte", "throughput"];

/// One metric, compared.
#[derive(Clone, Debug)]
pub struct Study {
    pub comparisons: Comparisons,
    pub winners: Vec<Winner>,
    pub crossovers: Vec<Crossover>,
    /// With one answer over all thread counts where there are several.
    pub over_threads: Vec<Crossover>,
}

impl Study {
    /// `None` where the run has no such metric.
    pub fn of(run: &Run, cells: &Cells, groups: &Groups, metric: &str) -> Option<Study> {
        let comparisons = Comparisons::of(run, cells, groups, metric)?;
        let winners = winners(run, cells, groups, &comparisons);
        // Ways have too many pairs for a crossover each, so ranges of sizes say where the best one changes.
        let of = |find: fn(&Run, &Comparisons, &str) -> Vec<Crossover>| {
            if groups.ways { Vec::new() } else { find(run, &comparisons, ALONG.id) }
        };
        let (crossovers, over_threads) = (of(crossover::crossovers), of(crossover::over_threads));
        Some(Study { comparisons, winners, crossovers, over_threads })
    }
}
