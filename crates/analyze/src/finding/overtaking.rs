//! From which size does one class of mechanisms beat two-copy? What the two questions that ask so share.
//!
//! It reads the crossovers that [`crate::compare::crossover`] made, over thread counts where they agree, and compares
//! nothing itself.

use super::pairs::{Pair, pairs};
use super::{Answer, Evidence, Says, Shown};
use crate::answer::{AnswerVerdict, CellRef, ComparisonRef, Lack};
use crate::compare::crossover::CrossoverStep;
use crate::compare::study::{RIVALS, Study};
use crate::recommend::line::Way;
use crate::recommend::situation::Situation;
use crate::recommend::zero_copy;
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_core::decide::Verdict;
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_measure::mechanism::Class;
use syscost_measure::probe::transfer::axes::THREADS;

const INCUMBENT: Class = Class::TwoCopy;

/// One challenger along the sizes, against one mechanism of two copies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overtaking {
    pub metric: &'static str,
    pub ours: Way,
    pub theirs: Way,
    /// What both share; without threads where the answer is over several.
    pub held: Point,
    /// The thread counts of the answer.
    pub threads: Vec<u64>,
    pub overtakes: Overtakes,
    /// Tested sizes by their answer.
    pub better: Vec<u64>,
    pub worse: Vec<u64>,
    pub same: Vec<u64>,
    pub undecided: Vec<u64>,
    /// Where it is first better, else where it comes nearest; how many times better it is there.
    pub decisive: Option<(u64, Estimate)>,
}

impl Overtaking {
    pub fn sizes(&self) -> usize {
        self.better.len() + self.worse.len() + self.same.len() + self.undecided.len()
    }

    /// On its side of the border, is it better at every size tested?
    pub fn is_better_throughout(&self) -> bool {
        let on_its_side = |size: &u64| match self.overtakes {
            Overtakes::From { high, .. } => *size > high,
            Overtakes::OnlyUpTo { low, .. } => *size < low,
            Overtakes::Several(_) | Overtakes::Always => true,
            Overtakes::Never => false,
        };
        !self.same.iter().chain(&self.undecided).any(on_its_side)
    }
}

/// Where the challenger overtakes. Borders lie between two tested sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overtakes {
    From {
        low: u64,
        high: u64,
    },
    OnlyUpTo {
        low: u64,
        high: u64,
    },
    /// It wins and loses in turns.
    Several(Vec<(u64, u64)>),
    /// It is better wherever the two differ.
    Always,
    Never,
}

/// The whole answer for the mechanisms of a class.
pub fn answer(evidence: &Evidence<'_>, question: &'static str, challenger: Class) -> Answer {
    let mut found: Vec<(Overtaking, Shown)> = Vec::new();
    for study in evidence.studies {
        let pairs =
            pairs(&study.over_threads, |ours| challenger.holds(ours), |theirs| INCUMBENT.holds(theirs));
        found.extend(pairs.iter().map(|pair| shown(evidence, study, pair)));
    }
    if found.is_empty() {
        let command = format!("syscost run --mechanism {},{}", INCUMBENT.word(), challenger.word());
        return Answer::not_measured(
            question,
            Lack::ClassesAtOneSize { challenger: challenger.word() },
            command,
        );
    }
    // The mechanisms that the bare words mean first, and each pair by every metric before the next.
    found.sort_by_key(|(one, _)| {
        let plain = |way: &Way, class: Class| way.text(RIVALS).is_some_and(|id| class.means(id));
        (!plain(&one.ours, challenger), one.ours.clone(), !plain(&one.theirs, INCUMBENT), one.theirs.clone())
    });
    let verdict = verdict(&found[0].0);
    let mut caveats = zero_copy::caveats(evidence.run, evidence.cells, Situation::Pieces);
    caveats.retain(|_| challenger == Class::ZeroCopy);
    Answer::found(question, verdict, found.into_iter().map(|(_, shown)| shown).collect(), caveats)
}

fn verdict(first: &Overtaking) -> AnswerVerdict {
    match (first.better.len(), first.worse.len() + first.same.len(), first.undecided.len()) {
        (0, 0, _) => AnswerVerdict::Undecided,
        (0, ..) => AnswerVerdict::No,
        (_, 0, 0) => AnswerVerdict::Yes,
        _ => AnswerVerdict::Partly,
    }
}

fn shown(evidence: &Evidence<'_>, study: &Study, pair: &Pair<'_>) -> (Overtaking, Shown) {
    let found = overtaking(evidence, study, pair);
    let (mut cells, mut rows) = (Vec::new(), Vec::new());
    for step in pair.steps() {
        let (a, b): (Vec<usize>, Vec<usize>) =
            std::iter::once(&step.cases).chain(&step.others).copied().unzip();
        cells.extend(a.iter().chain(&b).map(|case| CellRef { case: *case, metric: pair.line.metric }));
        rows.push(ComparisonRef { metric: pair.line.metric, a, b });
    }
    let says = Says::Overtaking(found.clone());
    (found, Shown::comparing(says, rows, cells))
}

fn overtaking(evidence: &Evidence<'_>, study: &Study, pair: &Pair<'_>) -> Overtaking {
    let held = pair.line.held();
    let own = |point: &Point| {
        let mut own = point.clone();
        own.retain(|id| held.get(id).is_none());
        own
    };
    let sizes = |wanted: &dyn Fn(&CrossoverStep) -> bool| {
        pair.steps().iter().filter(|step| wanted(step)).map(|step| step.at).collect::<Vec<u64>>()
    };
    let tie =
        |step: &CrossoverStep, verdict: Verdict| step.better.is_none() && step.decision.verdict == verdict;
    let ours =
        pair.steps().iter().flat_map(|step| step.others.iter().chain([&step.cases])).map(|cases| cases.0);
    let threads = ours.filter_map(|case| evidence.run.case(case)?.point.int(THREADS));
    let mut threads: Vec<u64> = threads.collect();
    threads.sort_unstable();
    threads.dedup();
    Overtaking {
        metric: pair.line.metric,
        ours: own(pair.ours()),
        theirs: own(pair.theirs()),
        overtakes: overtakes(pair),
        better: sizes(&|step| pair.better(step) == Some(true)),
        worse: sizes(&|step| pair.better(step) == Some(false)),
        same: sizes(&|step| tie(step, Verdict::Same)),
        undecided: sizes(&|step| tie(step, Verdict::Undecided)),
        decisive: decisive(study, pair),
        held,
        threads,
    }
}

fn overtakes(pair: &Pair<'_>) -> Overtakes {
    let ours = pair.steps().iter().any(|step| pair.better(step) == Some(true));
    match &pair.line.crossings[..] {
        [] if ours => Overtakes::Always,
        [] => Overtakes::Never,
        [one] if one.below == pair.side => Overtakes::OnlyUpTo { low: one.low, high: one.high },
        [one] => Overtakes::From { low: one.low, high: one.high },
        several => Overtakes::Several(several.iter().map(|one| (one.low, one.high)).collect()),
    }
}

/// Where it is first better; else where it comes nearest.
fn decisive(study: &Study, pair: &Pair<'_>) -> Option<(u64, Estimate)> {
    let higher = study.comparisons.metric.better == Better::Higher;
    let times = |step: &CrossoverStep| {
        let ratio = pair.ratio(step);
        // How many times better, whatever the metric.
        let inverse =
            Estimate { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low, ..ratio };
        (step.at, if higher { ratio } else { inverse })
    };
    let first = pair.steps().iter().find(|step| pair.better(step) == Some(true));
    let nearest = || pair.steps().iter().map(times).max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    first.map(times).or_else(nearest)
}

#[cfg(test)]
mod tests;
