//! How CPU time and throughput change when both ends share one CPU, or when the scheduler places them.
//!
//! The probe `placed_transfer` measures the plainest way so. Each placement is compared with the two CPUs of the study;
//! the answers are corrected over all of these comparisons.

pub use super::along::SPEED;
use super::{Evidence, Finding};
use crate::compare::Comparison;
use crate::compare::groups::Groups;
use crate::finding::{Answer, AskedPair, Says};
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_core::decide::Verdict;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_measure::probe::Probe;
use syscost_measure::probe::placed_transfer::{ENDS, PlacedTransfer, TWO_CPUS};

pub struct EndsPlaced;

pub const COST: &str = "total_cpu_ns_per_byte";

/// Ends elsewhere beside ends on two CPUs, at one place, in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacementCost {
    pub ends: String,
    pub place: Point,
    pub metric: &'static str,
    /// The figure with these ends over that with two CPUs.
    pub ratio: Estimate,
    pub verdict: Verdict,
}

impl Finding for EndsPlaced {
    fn id(&self) -> &'static str {
        "placement"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        !asked(evidence.run).is_empty()
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let says = |claim: &Comparison, [point, _]: [&Point; 2]| {
            let says = PlacementCost {
                ends: point.text(ENDS)?.to_string(),
                place: point.without(ENDS.id),
                metric: claim.metric,
                ratio: claim.seen_from(claim.a),
                verdict: claim.decision.verdict,
            };
            Some(Says::Placement(says))
        };
        Answer::of_claims(self.id(), evidence, &asked(evidence.run), says)
    }
}

/// Metric, a case with its ends elsewhere, and the same on two CPUs.
fn asked(run: &Run) -> Vec<AskedPair> {
    let of = |case: usize| run.case(case).and_then(|case| case.point.text(ENDS));
    let mut asked = Vec::new();
    for group in Groups::of(run, ENDS.id).groups.iter().filter(|g| g.probe == PlacedTransfer.about().id) {
        let (two, others): (Vec<usize>, Vec<usize>) =
            group.members.iter().partition(|case| of(**case) == Some(TWO_CPUS));
        let Some(two) = two.first() else { continue };
        asked.extend(
            [COST, SPEED].iter().flat_map(|metric| others.iter().map(|other| (*metric, *other, *two))),
        );
    }
    asked
}
