//! How much of the difference from figures of another machine the hardware alone would make.
//!
//! What the hardware takes where both accounts say it (a disk's access, a memory's bandwidth); else the clock of the
//! cores, as if the same instructions ran on both. That is all that a published table tells, so that caches and
//! instructions a cycle count as what is left.

use super::Operation;
use super::beside::{Beside, Match};
use super::machine::ComparedMachine;
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;

/// What the expectation stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareBy {
    /// What the device or the memory alone takes, on both.
    Base,
    Clock,
}

/// Is it the hardware that makes the figures differ?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareShare {
    /// The interval of the ratio holds 1.
    NoDifference,
    /// At least half of the difference, over the whole interval.
    Most,
    /// Less than half, or the other way.
    Less,
    Undecided,
}

/// A difference and what the hardware would make it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardwareDifference {
    pub by: HardwareBy,
    /// Ours over theirs, if nothing but that differed.
    pub ratio: f64,
    pub share: HardwareShare,
}

/// `None`: they do not tell enough.
pub fn difference(
    ours: &Operation,
    theirs: &Match,
    beside: &Beside,
    here: &ComparedMachine,
) -> Option<HardwareDifference> {
    let ratio = theirs.ratio?;
    let positive = |value: Option<f64>| value.filter(|v| *v > 0.0);
    let base = positive(ours.prediction.as_ref().and_then(|p| p.account.base_hardware));
    let (by, expected) = match (base, positive(theirs.base_hardware)) {
        (Some(base), Some(their_base)) => (HardwareBy::Base, base / their_base),
        // They name a part of the hardware, and we have nothing like it.
        (None, Some(_)) => return None,
        (_, None) => {
            let faster = here.clock_hertz()? / beside.machine.clock_hertz()?;
            let less_is_faster = ours.metric.better == Better::Lower;
            (HardwareBy::Clock, if less_is_faster { 1.0 / faster } else { faster })
        }
    };
    Some(HardwareDifference { by, ratio: expected, share: share(&ratio, expected) })
}

fn share(ratio: &Estimate, expected: f64) -> HardwareShare {
    if ratio.low <= 1.0 && ratio.high >= 1.0 {
        return HardwareShare::NoDifference;
    }
    // What is left when the hardware's part is taken away, as a share of all, on the log scale.
    let most = |end: f64| ((end.ln() - expected.ln()) / end.ln()).abs() <= 0.5;
    match (most(ratio.low), most(ratio.high)) {
        (true, true) => HardwareShare::Most,
        (false, false) => HardwareShare::Less,
        _ => HardwareShare::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Cells;
    use crate::operations::operations;
    use crate::synthetic::clocks;
    use syscost_core::units::Unit;

    fn of(low: f64, high: f64, expected: f64) -> HardwareShare {
        let ratio = Estimate { value: low, low, high, level: 0.95, n: 8, unit: Unit::Ratio };
        share(&ratio, expected)
    }

    #[test]
    fn hardware_explains_a_difference_only_over_the_whole_interval() {
        assert_eq!(of(0.9, 1.1, 0.5), HardwareShare::NoDifference);
        assert_eq!(of(0.45, 0.55, 0.5), HardwareShare::Most);
        assert_eq!(
            of(0.08, 0.09, 0.8),
            HardwareShare::Less,
            "twelve times as fast, by a clock 1.25 times as fast"
        );
        assert_eq!(of(1.5, 1.6, 0.8), HardwareShare::Less, "slower, on faster hardware");
        assert_eq!(of(0.5, 0.8, 0.7), HardwareShare::Undecided, "0.7 is half of 0.5 and most of 0.8");
        assert_eq!(of(0.9, 0.95, 0.5), HardwareShare::Less, "the hardware would make far more of it");
    }

    #[test]
    fn the_clock_stands_in_where_no_part_of_the_hardware_is_named() {
        let run = clocks(8, None, 4.0);
        let ours = operations(&run, &Cells::of(&run));
        let beside = Beside::published();
        let (row, theirs) =
            ours.iter().find_map(|o| Some((o, beside.find(o)?))).expect("a clock is published");
        // They took 8.083 ns at 3.1 GHz.
        let at = |told: &str| ComparedMachine::told([told].into_iter()).0;
        let half = difference(row, &theirs, &beside, &at("clock_hertz: 6200000000")).unwrap();
        assert_eq!((half.by, half.ratio, half.share), (HardwareBy::Clock, 0.5, HardwareShare::Most));
        assert_eq!(
            difference(row, &theirs, &beside, &at("clock_hertz: 3100000000")).unwrap().share,
            HardwareShare::Less
        );
        assert_eq!(difference(row, &theirs, &beside, &at("clock_hertz: unknown")), None);
    }
}
