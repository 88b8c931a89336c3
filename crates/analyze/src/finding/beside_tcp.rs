//! Compares a datagram with a TCP message of the same size. The plainest way to send a datagram takes turns with TCP; so does the
//! floor of a stream over datagrams, where it was measured.
//!
//! Each metric at each size is compared; the answers are corrected over all of these comparisons.

use super::placement::{COST, SPEED};
use super::{Evidence, Finding};
use crate::compare::Comparison;
use crate::compare::groups::Groups;
use crate::compare::study::RIVALS;
use crate::finding::{Answer, AskedPair, Says};
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_core::decide::Verdict;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::NODELAY;
use syscost_measure::probe::{self, Probe, datagram_transfer::DatagramTransfer};

pub struct BesideTcp;

/// A way of datagrams beside a TCP message, at one place, in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatagramCost {
    /// The way that sends datagrams.
    pub way: String,
    /// May TCP merge the messages (no TCP_NODELAY)?
    pub merges: bool,
    pub place: Point,
    pub metric: &'static str,
    /// The datagram's figure over the message's.
    pub ratio: Estimate,
    pub verdict: Verdict,
}

impl Finding for BesideTcp {
    fn id(&self) -> &'static str {
        "beside_tcp"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        !asked(evidence.run).is_empty()
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let says = |claim: &Comparison, [datagram, message]: [&Point; 2]| {
            let says = DatagramCost {
                way: datagram.text(RIVALS)?.to_string(),
                merges: !message.on(NODELAY),
                place: (&DatagramTransfer as &dyn Probe).coordinates(datagram, false),
                metric: claim.metric,
                ratio: claim.seen_from(claim.a),
                verdict: claim.decision.verdict,
            };
            Some(Says::BesideTcp(says))
        };
        Answer::of_claims(self.id(), evidence, &asked(evidence.run), says)
    }
}

/// Metric, the plainest way to send a datagram, and a TCP message of its size.
fn asked(run: &Run) -> Vec<AskedPair> {
    let mut asked = Vec::new();
    let probe: &dyn Probe = &DatagramTransfer;
    for group in Groups::of_ways(run, RIVALS.id).groups.iter().filter(|g| g.probe == probe.about().id) {
        let members = || group.members.iter().filter_map(|case| run.case(*case));
        let ways = members().map(|case| (case.index, &case.point));
        let plainest = probe::plain_control(probe, ways);
        let beside = members().filter(|case| !probe.advised(&case.point));
        let (messages, floors): (Vec<_>, Vec<_>) =
            beside.partition(|case| case.point.get(NODELAY.id).is_some());
        for datagram in plainest.into_iter().chain(floors.iter().map(|case| case.index)) {
            let pair = |metric| messages.iter().map(move |message| (metric, datagram, message.index));
            asked.extend([COST, SPEED].into_iter().flat_map(pair));
        }
    }
    asked
}
