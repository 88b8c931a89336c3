//! Broken monotonicity: from one size to the next a figure gets worse, by less than a cliff ([`super::cliffs`]).

use super::cliffs::{EXPECTED, FACTOR};
use super::steps;
use super::{Kind, Looked};
use crate::analysis::finding::Evidence;
use crate::analysis::study::ALONG;
use crate::analysis::words::Words;

pub struct Turns;

impl Kind for Turns {
    fn none(&self) -> &'static str {
        "a smaller turn for the worse from one size to the next"
    }

    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let words = Words::of(evidence.run);
        let (at, odd) = steps::odd(evidence, ALONG, EXPECTED);
        let slight = odd.iter().filter(|step| step[0].strength < FACTOR.ln());
        Looked {
            at,
            found: slight.filter_map(|step| steps::statement(evidence, &words, ALONG, step)).collect(),
            caveat: None,
        }
    }
}
