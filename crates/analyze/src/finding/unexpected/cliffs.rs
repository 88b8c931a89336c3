//! Cliffs: from one size to the next a figure gets worse by a factor of two or more, where a larger message
//! should move bytes at least as well; or a larger message costs half as much outright.

use super::steps::{self, Expected};
use super::{Kind, Looked};
use crate::compare::study::ALONG;
use crate::finding::Evidence;

/// A step of this factor is a cliff; below, it is a turn ([`super::turns`]).
pub const FACTOR: f64 = 2.0;

/// What a larger message should not do: move bytes worse, or cost less than a smaller one.
pub const EXPECTED: &[Expected] = &[
    Expected { metric: "throughput", better_is_odd: false },
    Expected { metric: "total_cpu_ns_per_byte", better_is_odd: false },
    Expected { metric: "total_cpu_ns_per_message", better_is_odd: true },
];

pub struct Cliffs;

impl Kind for Cliffs {
    fn none(&self) -> &'static str {
        "a cliff, which is a figure that gets worse twofold from one size to the next"
    }

    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let (at, odd) = steps::odd(evidence, ALONG.id, EXPECTED);
        let steep: Vec<_> = odd.iter().filter(|step| step[0].strength >= FACTOR.ln()).collect();
        let found = steps::statements(evidence, ALONG.id, &steep);
        let caveat = steps::caveat(evidence, &at);
        Looked { at, found, caveat }
    }
}
