//! Which cases are measured twice, so that a run shows how far identical cases differ (A/A).
//!
//! The control of every block whose rivals take turns. Of a probe whose cases do not, a few spread over the plan.

use super::Case;
use super::blocks::{control, groups, takes_turns};
use syscost_measure::probe;

/// Twins of a probe whose cases take no turns.
const MOST_APART: usize = 4;
/// Twins of one whose cases do: of a plan of thousands of blocks these say enough.
const MOST_IN_TURNS: usize = 500;

/// Indices of the cases to repeat, in plan order.
pub fn choose(cases: &[Case]) -> Vec<usize> {
    let mut chosen = Vec::new();
    for of_probe in cases.chunk_by(|a, b| a.probe == b.probe) {
        // One case is compared with nothing.
        if of_probe.len() < 2 || !probe::find(&of_probe[0].probe).is_some_and(|p| p.compared()) {
            continue;
        }
        let groups = groups(of_probe);
        let controls = |turns: bool| {
            let groups = groups.iter().filter(|group| takes_turns(group) == turns);
            let mut found: Vec<usize> =
                groups.filter_map(|group| control(group)).map(|case| case.index).collect();
            found.sort_unstable();
            found
        };
        chosen.extend(spread(&controls(true), MOST_IN_TURNS));
        chosen.extend(spread(&controls(false), MOST_APART));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// So many of them at most, the first and the last included.
fn spread(all: &[usize], most: usize) -> Vec<usize> {
    let last = all.len().saturating_sub(1);
    if all.len() <= most { all.to_vec() } else { (0..most).map(|n| all[n * last / (most - 1)]).collect() }
}
