//! What competes along the sizes (or rates) of a study, for one reader: at each thread count, or over all of them.
//!
//! Pure: it reads the answers of [`crate::compare`], it makes none.

use super::situation::Situation;
use crate::answer::ComparisonRef;
use crate::compare::comparisons::{better_side, estimate};
use crate::compare::study::{RIVALS, Study};
use crate::compare::winners::{Sure, Winner, lead};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::Point;
use syscost_core::decide::{Decision, Verdict};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::THREADS;

/// What is chosen of a case's coordinates: the same way at another size is the same point.
pub type Way = Point;

/// A way at one place, with its case at each thread count.
#[derive(Clone, Debug, PartialEq)]
pub struct WayCases {
    pub way: Way,
    pub cases: BTreeMap<Option<u64>, usize>,
    /// Its mean place among the others.
    rank: f64,
}

/// One tested place of a line.
#[derive(Clone, Debug)]
pub struct SizePlace {
    pub at: u64,
    /// Best first.
    pub measured: Vec<WayCases>,
    pub sure: Sure,
    /// Those that nothing is significantly better than, best first.
    pub good: Vec<Way>,
}

/// Places that differ in one number only, in ascending order.
#[derive(Clone, Debug)]
pub struct SizeLine<'s> {
    pub study: &'s Study,
    pub probe: &'s str,
    /// What all places share but threads.
    pub held: Point,
    /// Thread counts that are answered together.
    pub threads: Vec<u64>,
    pub steps: Vec<SizePlace>,
}

/// A pair of ways at one place, answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    pub verdict: Verdict,
    /// Does the first win?
    pub better: Option<bool>,
    /// How many times better the first is: above 1 where it is.
    pub ratio: Estimate,
    pub row: ComparisonRef,
}

/// How many times better something is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GainAt {
    pub at: u64,
    pub ratio: Estimate,
}

impl SizePlace {
    pub fn cases(&self, way: &Way) -> impl Iterator<Item = usize> {
        let found = self.measured.iter().find(|measured| measured.way == *way);
        found.into_iter().flat_map(|measured| measured.cases.values().copied())
    }

    /// The way that is significantly better than every other here.
    pub fn winner(&self) -> Option<&Way> {
        if self.sure == Sure::Best { self.good.first() } else { None }
    }

    /// Is nothing here known to be better than it? Where something else wins, or is alone, a way that was not measured
    /// is no choice.
    pub fn allows(&self, way: &Way) -> bool {
        let open = matches!(self.sure, Sure::Same | Sure::Undecided);
        self.good.contains(way) || (open && self.cases(way).next().is_none())
    }
}

/// The lines of a study along an axis of numbers: what this reader can use, one line for each thread count.
pub fn lines<'s>(run: &Run, study: &'s Study, along: &str, situation: Situation) -> Vec<SizeLine<'s>> {
    let mut lines: BTreeMap<(&str, Point, Option<u64>), Vec<SizePlace>> = BTreeMap::new();
    for winner in &study.winners {
        let Some(at) = winner.shared.int_at(along) else { continue };
        let threads = winner.shared.int(THREADS).filter(|_| along != THREADS.id);
        let measured = measured(run, winner, threads, situation);
        if !measured.is_empty() {
            let held = winner.shared.without(along).without(THREADS.id);
            let key = (winner.probe.as_str(), held, threads);
            lines.entry(key).or_default().push(answered(study, at, measured));
        }
    }
    let line = |((probe, held, threads), mut steps): ((&'s str, Point, Option<u64>), Vec<SizePlace>)| {
        steps.sort_by_key(|step| step.at);
        SizeLine { study, probe, held, threads: threads.into_iter().collect(), steps }
    };
    lines.into_iter().map(line).collect()
}

fn measured(run: &Run, winner: &Winner, threads: Option<u64>, situation: Situation) -> Vec<WayCases> {
    let cases = winner.candidates.iter().filter_map(|case| Some((&run.case(*case)?.point, *case)));
    let advised = |point: &Point| probe::find(&winner.probe).is_none_or(|probe| probe.advised(point));
    let able = cases.filter(|(point, _)| situation.can_use(point) && advised(point)).enumerate();
    let way = |(rank, (point, case)): (usize, (&Point, usize))| {
        let mut way = point.clone();
        way.retain(|id| winner.shared.get(id).is_none());
        WayCases { way, cases: BTreeMap::from([(threads, case)]), rank: rank as f64 }
    };
    able.map(way).collect()
}

/// Lines that differ in threads alone as one; a thread count that lacks a place leaves it to the others.
pub fn together<'s>(lines: &[SizeLine<'s>]) -> Option<SizeLine<'s>> {
    let first = lines.first()?;
    let mut places: BTreeMap<u64, Vec<&SizePlace>> = BTreeMap::new();
    for step in lines.iter().flat_map(|line| &line.steps) {
        places.entry(step.at).or_default().push(step);
    }
    let step = |(at, steps): (u64, Vec<&SizePlace>)| {
        let mut all: Vec<(WayCases, f64)> = Vec::new();
        for one in steps.iter().flat_map(|step| &step.measured) {
            match all.iter_mut().find(|(known, _)| known.way == one.way) {
                Some((known, times)) => {
                    known.cases.extend(&one.cases);
                    (known.rank, *times) = (known.rank + one.rank, *times + 1.0);
                }
                None => all.push((one.clone(), 1.0)),
            }
        }
        all.iter_mut().for_each(|(way, times)| way.rank /= *times);
        let mut measured: Vec<WayCases> = all.into_iter().map(|(way, _)| way).collect();
        measured.sort_by(|a, b| a.rank.total_cmp(&b.rank));
        answered(first.study, at, measured)
    };
    Some(SizeLine {
        threads: lines.iter().flat_map(|line| line.threads.iter().copied()).collect(),
        steps: places.into_iter().map(step).collect(),
        ..first.clone()
    })
}

/// Do thread counts lead to opposite choices: is a way that leads at one beaten at another by one that it beats?
pub fn disagree(lines: &[SizeLine<'_>]) -> bool {
    let mut places: BTreeMap<u64, Vec<(&SizeLine, &SizePlace)>> = BTreeMap::new();
    for line in lines {
        line.steps.iter().for_each(|step| places.entry(step.at).or_default().push((line, step)));
    }
    places.values().any(|steps| {
        let leading: BTreeSet<&Way> = steps.iter().flat_map(|(_, step)| &step.good).collect();
        let beats = |a: &Way, b: &Way| {
            let at = |(line, step): &(&SizeLine, &SizePlace)| line.against(step, a, b)?.better;
            steps.iter().any(|place| at(place) == Some(true))
        };
        leading.iter().any(|a| leading.iter().any(|b| a < b && beats(a, b) && beats(b, a)))
    })
}

fn answered(study: &Study, at: u64, measured: Vec<WayCases>) -> SizePlace {
    let pair = |a: usize, b: usize| against(study, &measured[a], &measured[b]);
    // Cases without a round in common are rivals all the same; two kinds of one mechanism may be none.
    let named = |i: usize| measured[i].way.text(RIVALS);
    let rivals = |a: usize, b: usize| a != b && (pair(a, b).is_some() || named(a) != named(b));
    let (sure, good) = lead(
        measured.len(),
        rivals,
        |a, b| pair(a, b).is_some_and(|pair| pair.better == Some(true)),
        |a, b| pair(a, b).is_some_and(|pair| pair.verdict == Verdict::Same),
    );
    let good = good.into_iter().map(|i| measured[i].way.clone()).collect();
    SizePlace { at, sure, good, measured }
}

impl SizeLine<'_> {
    /// How two ways compare at a place; `None` where they have no ratio.
    pub fn against(&self, step: &SizePlace, a: &Way, b: &Way) -> Option<Against> {
        let of = |way: &Way| step.measured.iter().find(|measured| measured.way == *way);
        against(self.study, of(a)?, of(b)?)
    }

    pub fn first_case(&self) -> Option<usize> {
        self.steps.iter().flat_map(|step| &step.measured).flat_map(|way| way.cases.values().copied()).min()
    }

    /// The same with some of the ways.
    pub fn only(&self, keep: impl Fn(&Way) -> bool) -> Self {
        let step = |step: &SizePlace| {
            let kept: Vec<WayCases> = step.measured.iter().filter(|one| keep(&one.way)).cloned().collect();
            (!kept.is_empty()).then(|| answered(self.study, step.at, kept))
        };
        SizeLine { steps: self.steps.iter().filter_map(step).collect(), ..self.clone() }
    }

    /// What the places share, with the thread count where there is one.
    pub fn place(&self) -> Point {
        let mut place = self.held.clone();
        if let [only] = self.threads[..] {
            place.set(THREADS.id, syscost_core::axis::Value::Int(only));
        }
        place
    }
}

/// Over threads where both have several counts in common and that is answered, else at the first that they share.
fn against(study: &Study, a: &WayCases, b: &WayCases) -> Option<Against> {
    let comparisons = &study.comparisons;
    let shared = a.cases.iter().filter_map(|(threads, case)| Some((*case, *b.cases.get(threads)?)));
    let shared: Vec<(usize, usize)> = shared.collect();
    let pair = shared.iter().find_map(|(a, b)| comparisons.between(*a, *b))?;
    let over = pair.over.filter(|_| shared.len() > 1).map(|over| &comparisons.over_threads[over]);
    let (decision, pairs): (Decision, Vec<_>) = match over {
        Some(over) => (over.decision, over.pairs.iter().map(|i| &comparisons.pairs[*i]).collect()),
        None => (pair.decision, vec![pair]),
    };
    let forward = shared.iter().any(|(a, _)| *a == pair.a);
    let first_better = better_side(&decision, comparisons.metric.better);
    let higher = comparisons.metric.better == Better::Higher;
    let row = ComparisonRef {
        metric: comparisons.metric.id,
        a: pairs.iter().map(|pair| pair.a).collect(),
        b: pairs.iter().map(|pair| pair.b).collect(),
    };
    Some(Against {
        verdict: decision.verdict,
        better: first_better.map(|first| first == forward),
        ratio: estimate(&decision, forward != higher),
        row,
    })
}
