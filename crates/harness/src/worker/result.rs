//! What rounds bring home, and how they spent their time.

use super::moments::RoundMoments;
use std::collections::BTreeMap;
use syscost_core::sample::Sample;
use syscost_experiment::run::{OwnShare, RoundSpan};
use syscost_measure::probe::streaming::null::{OWN_IN_SLICES, OWN_IN_WINDOWS};
use syscost_measure::probe::streaming::{RECEIVER, SENDER};
use syscost_measure::probe::{self, Slice};

/// What a round brings: samples (case and round not yet filled in) and what the roles said.
pub struct RoundResult {
    /// Their time stamps are of CLOCK_MONOTONIC.
    pub samples: Vec<Sample>,
    /// Settings as the kernel reported them back: `sender.send_buffer_bytes`.
    pub settings: BTreeMap<String, String>,
    pub missing: Vec<probe::Missing>,
    /// What the roles counted over the whole round, warm-up included: `sender.bytes`.
    pub totals: BTreeMap<String, f64>,
    pub moments: RoundMoments,
}

impl RoundResult {
    /// What the harness's own code took of a case's round; `None`: the probe does not price it, or not with counters open.
    pub fn own_share(&self, case: usize, slices_cpu_ns: u64) -> Option<OwnShare> {
        let of_both = |id: &str| -> Option<u64> {
            let sides = [SENDER, RECEIVER].map(|side| self.totals.get(&format!("{side}.{id}")));
            sides.into_iter().map(|side| Some(*side? as u64)).sum()
        };
        let cpu = |sample: &Sample| {
            [SENDER, RECEIVER].iter().filter_map(|side| sample.get(&format!("{side}_cpu_ns"))).sum::<f64>()
        };
        let windows_own_ns = of_both(OWN_IN_WINDOWS)?;
        let windows_cpu_ns = self.samples.iter().map(cpu).sum::<f64>() as u64;
        let slices_own_ns = of_both(OWN_IN_SLICES).unwrap_or(0);
        Some(OwnShare { case, slices_own_ns, slices_cpu_ns, windows_own_ns, windows_cpu_ns })
    }

    /// How the round spent its time, asked when it is over.
    pub fn span(&self) -> RoundSpan {
        let timed_from = self.samples.iter().filter_map(|sample| sample.start_ns).min();
        let timed_ns = self.samples.iter().map(|sample| sample.elapsed_ns as u64).sum();
        self.moments.span(timed_from.unwrap_or(self.moments.ready_ns), timed_ns)
    }
}

/// What a round of a block brings: the slices, and of each rival its windows.
pub struct BlockResult {
    /// Each with its rival's place in the block.
    pub slices: Vec<(usize, Slice)>,
    /// In the order of the block.
    pub rivals: Vec<RoundResult>,
    pub moments: RoundMoments,
}

impl BlockResult {
    /// How the round spent its time, asked when it is over: slices, and the window of each rival.
    pub fn span(&self) -> RoundSpan {
        let first = self.slices.iter().map(|(_, slice)| slice.start_ns).min();
        let slices: u64 = self.slices.iter().map(|(_, slice)| slice.wall_ns).sum();
        let windows: u64 = self.rivals.iter().map(|rival| rival.span().timed_ns).sum();
        self.moments.span(first.unwrap_or(self.moments.ready_ns), slices + windows)
    }
}
