//! Broken monotonicity: from one size to the next a figure gets worse, by less than a cliff ([`super::cliffs`]).

use super::cliffs::{EXPECTED, FACTOR};
use super::steps;
use super::{Kind, Looked};
use crate::compare::study::ALONG;
use crate::finding::Evidence;

pub struct Turns;

impl Kind for Turns {
    fn none(&self) -> &'static str {
        "a smaller turn for the worse from one size to the next"
    }

    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let (at, odd) = steps::odd(evidence, ALONG.id, EXPECTED);
        let slight: Vec<_> = odd.iter().filter(|step| step[0].strength < FACTOR.ln()).collect();
        Looked { at, found: steps::statements(evidence, ALONG.id, &slight), caveat: None }
    }
}
