//! Throughput that falls as threads rise: more connections should not move less together.

use super::steps::{self, Expected, THREADS};
use super::{Kind, Looked};
use crate::analysis::finding::Evidence;
use crate::analysis::words::Words;

const EXPECTED: &[Expected] = &[Expected { metric: "throughput", better_is_odd: false }];

pub struct Scaling;

impl Kind for Scaling {
    fn none(&self) -> &'static str {
        "throughput that falls as threads rise"
    }

    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let words = Words::of(evidence.run);
        let (at, odd) = steps::odd(evidence, THREADS, EXPECTED);
        let found = odd.iter().filter_map(|step| steps::statement(evidence, &words, THREADS, step)).collect();
        let caveat = steps::caveat(&words, &at);
        Looked { at, found, caveat }
    }
}
