//! The null rival: it takes turns as every rival does, and its messages are nothing. What its turns cost is what the harness's own
//! code adds to those of the others.

use super::super::super::streaming::null::{NullTurn, OWN_IN_SLICES, OWN_IN_WINDOWS, OwnCost};
use std::collections::BTreeMap;
use syscost_core::stats::median;

/// How often loops went round for one rival, on one thread or on all.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopCounts {
    /// Slices and windows that this side begins and ends.
    pub slices: u64,
    pub windows: u64,
    pub slice_steps: u64,
    pub window_steps: u64,
    /// How often a receiving thread woke the answering one at the end of a slice.
    pub wakes: u64,
}

/// What the null rival's turns took, and wake-ups in turns that are not timed.
#[derive(Clone, Debug, Default)]
pub struct NullTaken {
    pub slices: Vec<NullTurn>,
    pub windows: Vec<NullTurn>,
    pub wakes_ns: Vec<f64>,
}

impl NullTaken {
    /// Threads of a side have the same costs: a null turn of any of them is one of all.
    pub fn join(all: impl Iterator<Item = NullTaken>) -> NullTaken {
        let mut joined = NullTaken::default();
        for one in all {
            joined.slices.extend(one.slices);
            joined.windows.extend(one.windows);
            joined.wakes_ns.extend(one.wakes_ns);
        }
        joined
    }

    /// What the harness's own code took of a rival's slices and windows, from how often it did what the null rival did.
    pub fn add_own(&self, counts: impl Iterator<Item = LoopCounts>, totals: &mut BTreeMap<String, f64>) {
        let (slices, windows) = (OwnCost::of(&self.slices), OwnCost::of(&self.windows));
        let wake_ns = median(&self.wakes_ns).unwrap_or(0.0);
        for of in counts {
            let in_slices = slices.total_ns(of.slices, of.slice_steps) + wake_ns * of.wakes as f64;
            *totals.entry(OWN_IN_SLICES.into()).or_default() += in_slices;
            *totals.entry(OWN_IN_WINDOWS.into()).or_default() +=
                windows.total_ns(of.windows, of.window_steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_null_rival_took_is_charged_as_often_as_others_did_it() {
        let turn = |stepping, steps, cpu_ns| NullTurn { stepping, steps, cpu_ns };
        let one = NullTaken {
            slices: vec![turn(false, 0, 400), turn(true, 10, 900)],
            windows: vec![turn(false, 0, 600)],
            wakes_ns: vec![2_000.0],
        };
        let joined = NullTaken::join([one, NullTaken::default()].into_iter());
        let counts = LoopCounts { slices: 2, windows: 1, slice_steps: 6, window_steps: 9, wakes: 1 };
        let mut totals = BTreeMap::new();
        joined.add_own([counts, counts].into_iter(), &mut totals);
        assert_eq!(totals[OWN_IN_SLICES], 2.0 * (2.0 * 400.0 + 6.0 * 50.0 + 2_000.0));
        assert_eq!(totals[OWN_IN_WINDOWS], 2.0 * 600.0);
    }
}
