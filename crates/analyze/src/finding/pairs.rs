//! Two ways beside each other over the tested places, for findings that ask what one of them changed:
//! where a difference is significant, how large it is, and what the counts of both are.
//!
//! Every comparison is one that [`crate::compare`] answered.

use crate::CellRef;
use crate::compare::comparisons::estimate;
use crate::compare::crossover::{Crossover, CrossoverStep, PairSide};
use crate::compare::study::{RIVALS, Study};
use std::collections::BTreeSet;
use syscost_core::axis::Point;
use syscost_core::stats::Estimate;
use syscost_measure::mechanism::{self, Class};

/// One way along the tested sizes, and the way that it is held against.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    pub line: &'a Crossover,
    pub side: PairSide,
}

impl<'a> Pair<'a> {
    pub fn ours(&self) -> &'a Point {
        if self.side == PairSide::A { &self.line.a } else { &self.line.b }
    }

    pub fn theirs(&self) -> &'a Point {
        if self.side == PairSide::A { &self.line.b } else { &self.line.a }
    }

    /// Their mechanisms.
    pub fn names(&self) -> (&'a str, &'a str) {
        let name = |point: &'a Point| point.text(RIVALS).unwrap_or_default();
        (name(self.ours()), name(self.theirs()))
    }

    pub fn steps(&self) -> &'a [CrossoverStep] {
        &self.line.steps
    }

    /// Our case and theirs.
    pub fn cases(&self, step: &CrossoverStep) -> (usize, usize) {
        if self.side == PairSide::A { step.cases } else { (step.cases.1, step.cases.0) }
    }

    /// Our figure over theirs.
    pub fn ratio(&self, step: &CrossoverStep) -> Estimate {
        estimate(&step.decision, self.side == PairSide::B)
    }

    /// Is ours significantly better there? `None`: neither.
    pub fn better(&self, step: &CrossoverStep) -> Option<bool> {
        step.better.map(|side| side == self.side)
    }
}

/// Every pair of a way that `ours` accepts and one that `theirs` does, of the mechanisms' names.
pub fn pairs<'a>(
    lines: &'a [Crossover],
    ours: impl Fn(&str) -> bool,
    theirs: impl Fn(&str) -> bool,
) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for line in lines {
        for side in [PairSide::A, PairSide::B] {
            let pair = Pair { line, side };
            let (one, other) = pair.names();
            if ours(one) && theirs(other) {
                pairs.push(pair);
            }
        }
    }
    pairs
}

/// The way that copies as a socket does and gathers by itself, among these: what zero-copy is held
/// against. Else the one that sends a buffer as it is.
pub fn copying<'n>(names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let one_copy = |id: &&str| names.contains(id) && Class::OneCopy.holds(id);
    let first = mechanism::ALL.iter().map(|m| m.about().id).find(one_copy);
    names.get(first.unwrap_or(mechanism::control().about().id)).copied()
}

/// The mechanisms that a study compares.
pub fn names(study: &Study) -> BTreeSet<&str> {
    study.crossovers.iter().flat_map(|line| [&line.a, &line.b]).filter_map(|p| p.text(RIVALS)).collect()
}

/// The cases once each, in order.
pub fn refs(metric: &'static str, cases: Vec<usize>) -> Vec<CellRef> {
    let mut seen = BTreeSet::new();
    cases.into_iter().filter(|case| seen.insert(*case)).map(|case| CellRef { case, metric }).collect()
}
