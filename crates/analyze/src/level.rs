//! The machine's level over time: what a visit cost over what its case usually costs, estimated from all visits.
//!
//! Noise drifts: visits that are close in time share it. The level is the median of neighbouring visits, as a
//! share of the usual; whether it is more than chance is a permutation test. No estimate of a case is changed by it:
//! it says how busy the machine was, and which samples were measured in a slow stretch.

use crate::CellRef;
use crate::problem::{Problem, ProblemKind};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Better, Metric, Sample};
use syscost_core::stats::local::{self, ShuffledMedians};
use syscost_core::stats::median;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe;

/// Visits of a case from which on it has a usual cost.
const FEWEST_VISITS: usize = 2;
/// A median of so many scatters by a third of what one visit does.
const PER_STRETCH: usize = 12;
/// With fewer a level cannot be told from chance; more cannot be drawn.
const STRETCHES: (usize, usize) = (4, 120);
/// The level of the test for a change.
const ALPHA: f64 = 0.01;
/// The case's cost and the level are found in turns.
const TURNS: usize = 3;
/// Samples of a stretch that is slower than usual by more than this are marked: the limit that stolen time has.
const SLOW: f64 = 0.10;

/// One round of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedVisit {
    pub case: usize,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Log of what an operation cost.
    pub log_cost: f64,
    pub samples: usize,
}

/// A stretch of time in which visits were neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelStretch {
    /// On the run's clock.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Costs over the usual, as a share: 0.12 is 12 % slower.
    pub level: f64,
    pub samples: usize,
}

/// How fast the machine was from stretch to stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineLevel {
    /// In the order of time.
    pub stretches: Vec<LevelStretch>,
    /// Did it change by more than chance makes?
    pub changed: bool,
    /// Changes up to this share can be chance.
    pub chance: f64,
}

/// The rounds of a case that have time stamps, from samples in their order.
pub fn visits(case: &Case, samples: &[&Sample]) -> Vec<TimedVisit> {
    let Some(metric) = cost(case) else { return Vec::new() };
    let timed: Vec<&Sample> = samples.iter().filter(|sample| !sample.is_counting()).copied().collect();
    timed.chunk_by(|a, b| a.round == b.round).filter_map(|round| visit(case, &metric, round)).collect()
}

/// What is judged of the probe first, of those that are better when lower if there is one.
fn cost(case: &Case) -> Option<Metric> {
    let probe = probe::find(&case.probe)?;
    let metrics = probe.metrics();
    let decisive: Vec<Metric> =
        probe.decisive().iter().filter_map(|id| metrics.iter().find(|m| m.id == *id).copied()).collect();
    decisive.iter().find(|m| m.better == Better::Lower).or(decisive.first()).copied()
}

fn visit(case: &Case, metric: &Metric, round: &[&Sample]) -> Option<TimedVisit> {
    let cost = |sample: &&Sample| log_cost(sample, metric, &case.point);
    let costs: Vec<f64> = round.iter().filter_map(cost).collect();
    let start_ns = round.iter().filter_map(|s| s.start_ns).min()?;
    let end_ns = round.iter().filter_map(|s| Some(s.start_ns? + s.elapsed_ns as u64)).max()?;
    Some(TimedVisit { case: case.index, start_ns, end_ns, log_cost: median(&costs)?, samples: round.len() })
}

fn log_cost(sample: &Sample, metric: &Metric, point: &Point) -> Option<f64> {
    let log = (metric.of)(sample, point).filter(|value| *value > 0.0)?.ln();
    let cost = if metric.better == Better::Higher { -log } else { log };
    cost.is_finite().then_some(cost)
}

impl MachineLevel {
    /// `None`: too few visits have time stamps.
    pub fn of(visits: &[TimedVisit]) -> Option<MachineLevel> {
        let visits = of_known_cases(visits);
        let units = units(&visits);
        let count = (units.len() / PER_STRETCH).min(STRETCHES.1);
        if count < STRETCHES.0 {
            return None;
        }
        let parts: Vec<Vec<usize>> =
            local::stretches(units.len(), count).map(|stretch| units[stretch].concat()).collect();
        let residuals = residuals(&visits, &vec![0.0; visits.len()]);
        let values: Vec<f64> = units.iter().filter_map(|unit| median_of(unit, &residuals)).collect();
        let shuffled = ShuffledMedians::of(&values, count);
        let logs = levels(&visits, &units, &parts, shuffled.mean_square);
        let changed = shuffled.p <= ALPHA;
        // What was found is no part of chance.
        let chance = if changed { without(&values, &logs).largest } else { shuffled.largest };
        let usual = median(&logs)?;
        let stretch = |(part, log): (&Vec<usize>, &f64)| {
            let of_part = || part.iter().map(|i| &visits[*i]);
            Some(LevelStretch {
                start_ns: of_part().map(|v| v.start_ns).min()?,
                end_ns: of_part().map(|v| v.end_ns).max()?,
                level: (log - usual).exp() - 1.0,
                samples: of_part().map(|v| v.samples).sum(),
            })
        };
        Some(MachineLevel {
            stretches: parts.iter().zip(&logs).filter_map(stretch).collect(),
            changed,
            chance: chance.exp() - 1.0,
        })
    }

    /// The lowest and the highest level.
    pub fn range(&self) -> (f64, f64) {
        let levels = self.stretches.iter().map(|stretch| stretch.level);
        levels.fold((0.0, 0.0), |(low, high): (f64, f64), level| (low.min(level), high.max(level)))
    }

    /// The share of the samples that slow stretches hold.
    pub fn slow_share(&self) -> f64 {
        let all: usize = self.stretches.iter().map(|stretch| stretch.samples).sum();
        self.slow().map(|stretch| stretch.samples).sum::<usize>() as f64 / all.max(1) as f64
    }

    /// The stretches whose samples are marked as slow.
    pub fn slow(&self) -> impl Iterator<Item = &LevelStretch> {
        self.stretches.iter().filter(|stretch| self.is_slow(stretch))
    }

    pub fn is_slow(&self, stretch: &LevelStretch) -> bool {
        self.changed && stretch.level > self.limit()
    }

    /// From where on a stretch is slow: what chance makes is not.
    pub fn limit(&self) -> f64 {
        SLOW.max(self.chance)
    }
}

/// Cases most of whose rounds were measured while the machine was slow: their figures bear it.
pub fn problems(run: &Run, level: Option<&MachineLevel>, visits: &[TimedVisit]) -> Vec<Problem> {
    let Some(level) = level else { return Vec::new() };
    let is_slow = |visit: &TimedVisit| level.slow().any(|s| (s.start_ns..s.end_ns).contains(&visit.start_ns));
    let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for visit in visits {
        let (slow, all) = counts.entry(visit.case).or_default();
        (*slow, *all) = (*slow + usize::from(is_slow(visit)), *all + 1);
    }
    let problem = |(index, (slow_rounds, rounds)): (usize, (usize, usize))| {
        let case = run.case(index).filter(|case| case.twin_of.is_none() && 2 * slow_rounds > rounds)?;
        let kind = ProblemKind::SlowMachine { slow_rounds, rounds, slower_than: level.limit() };
        Some(Problem { kind, case: index, cells: vec![CellRef { case: index, metric: cost(case)?.id }] })
    };
    counts.into_iter().filter_map(problem).collect()
}

/// What chance makes of the values once the log level of their stretch is taken out.
fn without(values: &[f64], logs: &[f64]) -> ShuffledMedians {
    let mut left = values.to_vec();
    for (stretch, log) in local::stretches(values.len(), logs.len()).zip(logs) {
        left[stretch].iter_mut().for_each(|value| *value -= log);
    }
    ShuffledMedians::of(&left, logs.len())
}

/// In the order of time, those of cases with a usual cost.
fn of_known_cases(visits: &[TimedVisit]) -> Vec<TimedVisit> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    visits.iter().for_each(|visit| *counts.entry(visit.case).or_default() += 1);
    let mut known: Vec<TimedVisit> =
        visits.iter().filter(|visit| counts[&visit.case] >= FEWEST_VISITS).copied().collect();
    known.sort_by_key(|visit| (visit.start_ns, visit.case));
    known
}

/// Visits that overlap in time (rivals that took turns) are one: they may share more than the machine.
fn units(visits: &[TimedVisit]) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = Vec::new();
    let mut until = 0;
    for (i, visit) in visits.iter().enumerate() {
        match units.last_mut().filter(|_| visit.start_ns < until) {
            Some(unit) => unit.push(i),
            None => units.push(vec![i]),
        }
        until = until.max(visit.end_ns);
    }
    units
}

/// What each visit cost over its case's median, once the level of its time is taken out of the latter.
fn residuals(visits: &[TimedVisit], level: &[f64]) -> Vec<f64> {
    let mut of_case: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (visit, level) in visits.iter().zip(level) {
        of_case.entry(visit.case).or_default().push(visit.log_cost - level);
    }
    let usual: BTreeMap<usize, f64> =
        of_case.into_iter().filter_map(|(case, costs)| Some((case, median(&costs)?))).collect();
    visits.iter().map(|visit| visit.log_cost - usual[&visit.case]).collect()
}

fn median_of(unit: &[usize], values: &[f64]) -> Option<f64> {
    median(&unit.iter().map(|i| values[*i]).collect::<Vec<_>>())
}

/// The log level of each part. Rounds of a case may lie close together (those that are still undecided go on), so that
/// its median has the level of that time in it: both are found in turns.
fn levels(visits: &[TimedVisit], units: &[Vec<usize>], parts: &[Vec<usize>], by_chance: f64) -> Vec<f64> {
    let mut level = vec![0.0; visits.len()];
    let mut logs = Vec::new();
    for _ in 0..TURNS {
        let residuals = residuals(visits, &level);
        let values: Vec<f64> = units.iter().filter_map(|unit| median_of(unit, &residuals)).collect();
        logs = local::local_medians(&values, parts.len());
        // Part of what is seen is chance: the rest is the best guess of the level (shrinkage).
        let seen = local::mean_square(&logs);
        let kept = if seen > by_chance { 1.0 - by_chance / seen } else { 0.0 };
        logs.iter_mut().for_each(|log| *log *= kept);
        for (part, log) in parts.iter().zip(&logs) {
            part.iter().for_each(|i| level[*i] = *log);
        }
    }
    logs
}

#[cfg(test)]
mod tests;
