//! Throughput that falls as threads rise: more connections should not move less together.

use super::steps::{self, Expected};
use super::{Kind, Looked};
use crate::finding::Evidence;
use syscost_measure::probe::transfer::axes::THREADS;

const EXPECTED: &[Expected] = &[Expected { metric: "throughput", better_is_odd: false }];

pub struct Scaling;

impl Kind for Scaling {
    fn none(&self) -> &'static str {
        "throughput that falls as threads rise"
    }

    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let (at, odd) = steps::odd(evidence, THREADS.id, EXPECTED);
        let odd: Vec<_> = odd.iter().collect();
        let found = steps::statements(evidence, THREADS.id, &odd);
        let caveat = steps::caveat(evidence, &at);
        Looked { at, found, caveat }
    }
}
