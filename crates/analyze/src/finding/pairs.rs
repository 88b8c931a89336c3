//! Two ways beside each other over the tested places, for findings that ask what one of them changed:
//! where a difference is claimed, how large it is, and what the counts of both are.
//!
//! It claims nothing: every comparison is one that [`crate::compare`] judged.

use super::Evidence;
use crate::compare::crossover::{Crossover, Side, Step};
use crate::compare::study::{ALONG, RIVALS, Study};
use crate::compare::{TieReason, Verdict};
use crate::recommend::verdict::from_side;
use crate::words::{self, Words, and, capital, count};
use crate::{CellRef, Statement};
use std::collections::BTreeSet;
use syscost_core::axis::Point;
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_core::units::significant;
use syscost_measure::mechanism::{self, Class};

/// One way along the tested sizes, and the way that it is held against.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    line: &'a Crossover,
    side: Side,
}

impl<'a> Pair<'a> {
    pub fn ours(&self) -> &'a Point {
        if self.side == Side::A { &self.line.a } else { &self.line.b }
    }

    pub fn theirs(&self) -> &'a Point {
        if self.side == Side::A { &self.line.b } else { &self.line.a }
    }

    /// Their mechanisms.
    pub fn names(&self) -> (&'a str, &'a str) {
        let name = |point: &'a Point| point.text(RIVALS).unwrap_or_default();
        (name(self.ours()), name(self.theirs()))
    }

    pub fn steps(&self) -> &'a [Step] {
        &self.line.steps
    }

    /// Our case and theirs.
    pub fn cases(&self, step: &Step) -> (usize, usize) {
        if self.side == Side::A { step.cases } else { (step.cases.1, step.cases.0) }
    }

    /// Is ours claimed to be better there? `None`: neither.
    pub fn better(&self, step: &Step) -> Option<bool> {
        step.better.map(|side| side == self.side)
    }
}

/// Every pair of a way that `ours` accepts and one that `theirs` does, of the mechanisms' names.
pub fn pairs<'a>(
    study: &'a Study,
    ours: impl Fn(&str) -> bool,
    theirs: impl Fn(&str) -> bool,
) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for line in &study.crossovers {
        for side in [Side::A, Side::B] {
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

/// Where one of two ways is claimed to be better, and by how much at most.
pub fn effect(
    evidence: &Evidence<'_>,
    words: &Words,
    study: &Study,
    pairs: &[Pair<'_>],
) -> Option<Statement> {
    let metric = &study.comparisons.metric;
    let (ours, theirs) = pairs.first()?.names();
    let all: Vec<(&Pair<'_>, &Step)> =
        pairs.iter().flat_map(|p| p.steps().iter().map(move |s| (p, s))).collect();
    let better: Vec<_> = all.iter().filter(|(p, s)| p.better(s) == Some(true)).collect();
    let worse: Vec<_> = all.iter().filter(|(p, s)| p.better(s) == Some(false)).collect();
    let (good, bad) = if metric.better == Better::Higher { ("higher", "lower") } else { ("lower", "higher") };
    let points = count(all.len(), "point");
    let mut parts = Vec::new();
    let mut cells = Vec::new();
    for (found, word) in [(&better, good), (&worse, bad)] {
        let strength = |(p, s): &(&Pair<'_>, &Step)| {
            study.comparisons.between(p.cases(s).0, p.cases(s).1).map(|c| c.strength())
        };
        let most = found
            .iter()
            .max_by(|a, b| strength(a).partial_cmp(&strength(b)).unwrap_or(std::cmp::Ordering::Equal));
        let Some((pair, step)) = most else { continue };
        let (our, their) = pair.cases(step);
        let ratio = ratio(study, our, their)?;
        let place = words.place(&evidence.run.case(our)?.point, &known(words));
        parts.push(format!(
            "{word} at {} of {points} ({}), most at {place}: {} ({})",
            found.len(),
            sizes(words, &all, found),
            words::difference(ratio.value),
            words.interval(&ratio)
        ));
        cells.extend([our, their]);
        cells.extend(found.iter().flat_map(|(p, s)| <[usize; 2]>::from(p.cases(s))));
    }
    let text = if parts.is_empty() {
        cells.extend(all.iter().flat_map(|(p, s)| <[usize; 2]>::from(p.cases(s))));
        format!(
            "{} of {ours} and {theirs}: no difference is claimed at any of {points}{}.",
            capital(metric.title),
            short(study, &all)
        )
    } else {
        let rest = if better.len() + worse.len() == all.len() {
            ""
        } else {
            "; no difference is claimed at the others"
        };
        format!("{} of {ours} against {theirs}: {}{rest}.", capital(metric.title), parts.join("; "))
    };
    Some(Statement { text, cells: refs(metric.id, cells) })
}

/// How many of these ties are ties because no outcome of so few rounds could be claimed.
fn short(study: &Study, all: &[(&Pair<'_>, &Step)]) -> String {
    let tie = Verdict::Tie(TieReason::TooFewRounds);
    let judged = all.iter().filter_map(|(p, s)| study.comparisons.between(p.cases(s).0, p.cases(s).1));
    match judged.filter(|c| c.verdict == tie).count() {
        0 => String::new(),
        n => format!(" (at {n} for want of rounds)"),
    }
}

/// What a sentence on one place need not repeat.
pub fn known(words: &Words) -> Vec<&'static str> {
    let mut known = words.constant();
    known.push(RIVALS.id);
    known
}

/// One over the other, with its interval.
pub fn ratio(study: &Study, ours: usize, theirs: usize) -> Option<Estimate> {
    Some(from_side(study.comparisons.between(ours, theirs)?, ours))
}

/// The cases once each, in order.
pub fn refs(metric: &'static str, cases: Vec<usize>) -> Vec<CellRef> {
    let mut seen = BTreeSet::new();
    cases.into_iter().filter(|case| seen.insert(*case)).map(|case| CellRef { case, metric }).collect()
}

/// The sizes of the places that were found, in ranges of the tested ones.
fn sizes(words: &Words, all: &[(&Pair<'_>, &Step)], found: &[&(&Pair<'_>, &Step)]) -> String {
    let tested: BTreeSet<u64> = all.iter().map(|(_, s)| s.at).collect();
    let at: BTreeSet<u64> = found.iter().map(|(_, s)| s.at).collect();
    ranges(words, &tested, &at)
}

/// `64 B to 1 KiB and 1 MiB`: a range spans only sizes that were tested and found.
pub fn ranges(words: &Words, tested: &BTreeSet<u64>, found: &BTreeSet<u64>) -> String {
    let tested: Vec<u64> = tested.iter().copied().collect();
    let runs =
        tested.chunk_by(|a, b| found.contains(a) == found.contains(b)).filter(|r| found.contains(&r[0]));
    and(&runs.map(|run| words.range(ALONG.id, run[0], run[run.len() - 1])).collect::<Vec<_>>())
}

/// `1 completion`, `1.25 system calls`
pub fn number(value: f64, thing: &str) -> String {
    let shown = significant(value);
    format!("{shown} {thing}{}", if shown == "1" { "" } else { "s" })
}
