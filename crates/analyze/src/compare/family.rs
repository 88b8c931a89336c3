//! The questions that were corrected for one another.

use crate::compare::comparisons::{Comparison, Comparisons, OverThreads};
use std::borrow::Cow;

/// Questions that are corrected for one another, metric by metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Family<'a> {
    /// What the two sides differ in: `mechanism`, `ways`, `threads`, ..
    pub id: String,
    pub pairs: Cow<'a, [Comparison]>,
    pub over_threads: Cow<'a, [OverThreads]>,
}

impl<'a> Family<'a> {
    pub fn known(id: &str, all: &'a Comparisons) -> Family<'a> {
        Family {
            id: id.into(),
            pairs: Cow::Borrowed(&all.pairs),
            over_threads: Cow::Borrowed(&all.over_threads),
        }
    }

    pub fn made(all: Comparisons) -> Family<'a> {
        Family { id: all.axis, pairs: Cow::Owned(all.pairs), over_threads: Cow::Owned(all.over_threads) }
    }

    pub fn of_pairs(id: &str, pairs: Vec<Comparison>) -> Family<'a> {
        Family { id: id.into(), pairs: Cow::Owned(pairs), over_threads: Cow::Borrowed(&[]) }
    }
}
