//! Latency: distributions over all rounds, what kept up with its rate, and who has the lowest quantiles.
//!
//! Made for every case whose samples keep their times. An open loop that stays more than 1 % below the rate it asked
//! for, with its whole interval below it, is saturated: its latencies grow with the length of the test. Where the interval
//! reaches the rate, or half of the messages leave later than 1 % of a window, it is undecided whether they do. Neither competes
//! with anything. The figures of a case are medians of its rounds' own quantiles, which comparisons pair.

use crate::cells::sanity::Limits;
use crate::cells::{Cells, times_of_round};
use crate::compare::groups::Groups;
use crate::compare::study::{ALONG, RIVALS, Study};
use crate::compare::winners::Sure;
use crate::recommend::Recommendation;
use crate::recommend::advice::AdviceRange;
use serde::Serialize;
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_core::stats::histogram::Histogram;
use syscost_core::stats::times::{Stall, TimesFigure};
use syscost_core::stats::{Estimate, median};
use syscost_experiment::run::Run;
use syscost_measure::probe::tcp_latency::axes::RATE;

/// What is compared, the most telling first.
pub const RANKED: [&str; 2] = ["latency_p99", "latency_p50"];
pub const ASKED: &str = "asked_rate";
pub const ACHIEVED: &str = "achieved_rate";
const LATENESS: &str = "lateness_p99";
/// How late half of a round's messages were sent at most.
const MEDIAN_LATENESS: &str = "lateness_p50_ns";
/// A rate is kept within this share of what was asked.
const KEPT: f64 = 0.99;
/// Share of a p99 latency from which the sender's own lateness is most of it.
const MOSTLY: f64 = 0.5;

/// The times of one case.
#[derive(Clone, Debug)]
pub struct Distribution {
    pub case: usize,
    /// One for each round.
    pub rounds: Vec<Histogram>,
    pub whole: Histogram,
    /// `None` for a closed loop.
    pub rate: Option<ReachedRate>,
}

/// The rate of an open loop.
#[derive(Clone, Copy, Debug)]
pub struct ReachedRate {
    pub asked: Estimate,
    pub achieved: Estimate,
    pub kept: RateKept,
}

/// Did an open loop reach the rate that was asked?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateKept {
    Yes,
    Undecided,
    No,
}

impl Distribution {
    /// A closed loop has no rate to keep.
    pub fn kept(&self) -> RateKept {
        self.rate.map_or(RateKept::Yes, |rate| rate.kept)
    }

    /// Are its latencies those of the path, not of the length of the test?
    pub fn is_steady(&self) -> bool {
        self.kept() == RateKept::Yes
    }

    /// The median of the rounds' own.
    pub fn quantile(&self, quantile: f64, level: f64) -> Option<Estimate> {
        TimesFigure::Quantile(quantile).over_rounds(&self.rounds, &self.whole, level)
    }
}

/// Everything about latency in a run; empty where no sample keeps its times.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    /// By case; no twins.
    pub cases: BTreeMap<usize, Distribution>,
    /// The ranked metrics, among the cases that kept up.
    pub studies: Vec<Study>,
    /// What has the lowest quantiles: along the rates of open loops, and along the sizes of closed ones.
    pub by_rate: Recommendation,
    pub by_size: Recommendation,
    pub limits: Vec<RateLimit>,
    pub late: Option<LateSender>,
    /// Cases whose p99 of all times together is made by few rounds.
    pub stalls: Vec<StalledCase>,
}

/// A pooled tail that few rounds make, beside the median of rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StalledCase {
    pub case: usize,
    pub metric: &'static str,
    pub value_ns: f64,
    pub pooled_ns: f64,
    #[serde(flatten)]
    pub stall: Stall,
}

/// The rate that a way no longer kept up with, or else the one of which that is undecided.
#[derive(Clone, Debug)]
pub struct RateLimit {
    pub case: usize,
    /// Without its rate.
    pub point: Point,
    /// The largest that it kept.
    pub kept: Option<u64>,
    pub reached: ReachedRate,
}

/// Cases whose p99 is mostly the sender's own lateness: the figure is as much the machine's (other work, a clock that
/// wakes late) as the path's.
#[derive(Clone, Debug)]
pub struct LateSender {
    pub cases: Vec<usize>,
    /// Cases that kept up with their rate.
    pub of: usize,
    /// Lateness over latency.
    pub worst: f64,
}

impl Latency {
    pub fn of(run: &Run, cells: &Cells) -> Latency {
        let cases = distributions(run, cells);
        if cases.is_empty() {
            return Latency::default();
        }
        let groups = contest(run, &cases);
        let studies: Vec<Study> = RANKED.iter().filter_map(|id| Study::of(run, cells, &groups, id)).collect();
        let mut by_rate = Recommendation::of(run, cells, &studies, RATE.id);
        only_where_others_failed(run, &cases, &mut by_rate);
        let mut closed = studies.clone();
        for study in &mut closed {
            study.winners.retain(|winner| winner.shared.int(RATE).is_none());
        }
        let by_size = Recommendation::of(run, cells, &closed, ALONG.id);
        let (limits, late) = (limits(run, &cases), late(cells, &cases));
        let stalls = cases.keys().filter_map(|case| stalled(cells, *case)).collect();
        Latency { cases, studies, by_rate, by_size, limits, late, stalls }
    }
}

fn stalled(cells: &Cells, case: usize) -> Option<StalledCase> {
    let cell = cells.cell(case, RANKED[0])?;
    let (pooled, value_ns) = (cell.pooled?, cell.estimate.value);
    Some(StalledCase { case, metric: cell.metric, value_ns, pooled_ns: pooled.value, stall: pooled.stall? })
}

/// One way alone keeps up only where another that the same reader could use does not; else nobody else was asked.
fn only_where_others_failed(
    run: &Run,
    cases: &BTreeMap<usize, Distribution>,
    recommendation: &mut Recommendation,
) {
    let failed: Vec<&Point> = cases
        .values()
        .filter(|distribution| distribution.kept() == RateKept::No)
        .filter_map(|distribution| Some(&run.case(distribution.case)?.point))
        .collect();
    for of in &mut recommendation.situations {
        for advice in &mut of.advice {
            let held =
                |point: &Point| advice.scope.held.iter().all(|(id, value)| point.get(id) == Some(value));
            let failed: Vec<u64> = failed
                .iter()
                .filter(|point| of.situation.can_use(point) && held(point))
                .filter_map(|point| point.int(RATE))
                .collect();
            let others_failed =
                |range: &AdviceRange| range.places.iter().all(|place| failed.contains(&place.at));
            advice.ranges.retain(|range| range.sure != Sure::Alone || others_failed(range));
        }
        of.advice.retain(|advice| !advice.ranges.is_empty());
    }
    recommendation.situations.retain(|of| !of.advice.is_empty());
}

fn distributions(run: &Run, cells: &Cells) -> BTreeMap<usize, Distribution> {
    let mut found = BTreeMap::new();
    for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        if !run.samples.have_times(case.index) {
            continue;
        }
        let limits = Limits::of(case, run.record.spec.timing);
        let own = run.samples.of_case(case.index);
        let mut sound: Vec<&Sample> = own.iter().filter(|s| limits.fault(s).is_none()).collect();
        sound.sort_by_key(|sample| sample.round);
        let rounds: Vec<Histogram> =
            sound.chunk_by(|a, b| a.round == b.round).filter_map(times_of_round).collect();
        if !rounds.is_empty() {
            let whole = Histogram::merged(&rounds);
            let behind = sound.iter().filter_map(|s| Some(s.get(MEDIAN_LATENESS)? / s.elapsed_ns));
            let rate = reached(cells, case.index, median(&behind.collect::<Vec<_>>()));
            found.insert(case.index, Distribution { case: case.index, rounds, whole, rate });
        }
    }
    found
}

/// `behind`: how late half of the messages leave, as a share of a window. Nothing is said of the rate by first and last
/// message alone: a sender that is late from the first one on ends as late.
fn reached(cells: &Cells, case: usize, behind: Option<f64>) -> Option<ReachedRate> {
    let asked = cells.cell(case, ASKED)?.estimate;
    let achieved = cells.cell(case, ACHIEVED)?.estimate;
    let kept = match achieved.value < KEPT * asked.value {
        false if behind.is_some_and(|share| share > 1.0 - KEPT) => RateKept::Undecided,
        false => RateKept::Yes,
        // A sender that is held up for a moment misses the rate of a round by chance, not of all of them.
        true if achieved.high < asked.value => RateKept::No,
        true => RateKept::Undecided,
    };
    Some(ReachedRate { asked, achieved, kept })
}

/// The groups of cases that compete: those with times that kept up with their rate.
fn contest(run: &Run, cases: &BTreeMap<usize, Distribution>) -> Groups {
    let mut groups = Groups::of(run, RIVALS.id);
    for group in &mut groups.groups {
        group.members.retain(|case| cases.get(case).is_some_and(Distribution::is_steady));
    }
    groups.groups.retain(|group| !group.members.is_empty());
    groups
}

/// For each way to move data at each place that reached its limit.
fn limits(run: &Run, cases: &BTreeMap<usize, Distribution>) -> Vec<RateLimit> {
    let mut ladders: BTreeMap<Point, Vec<(u64, &Distribution)>> = BTreeMap::new();
    for distribution in cases.values() {
        let Some(case) = run.case(distribution.case) else { continue };
        if let Some(rate) = case.point.int(RATE) {
            ladders.entry(case.point.without(RATE.id)).or_default().push((rate, distribution));
        }
    }
    let limit = |(point, mut steps): (Point, Vec<(u64, &Distribution)>)| {
        steps.sort_by_key(|step| step.0);
        let first = |wanted: RateKept| steps.iter().find(|step| step.1.kept() == wanted);
        let (_, at) = first(RateKept::No).or(first(RateKept::Undecided))?;
        let kept = steps.iter().take_while(|step| step.1.is_steady()).last().map(|step| step.0);
        Some(RateLimit { case: at.case, point, kept, reached: at.rate? })
    };
    ladders.into_iter().filter_map(limit).collect()
}

/// Where the sender's own lateness is most of the p99.
fn late(cells: &Cells, cases: &BTreeMap<usize, Distribution>) -> Option<LateSender> {
    let kept = cases.values().filter(|d| d.is_steady()).map(|d| d.case);
    let both = |case: usize| {
        // A lateness is known by round only, so it is compared with the same rounds' latency.
        let of_rounds = |metric: &str| median(&cells.cell(case, metric)?.rounds.values());
        Some((case, of_rounds(LATENESS)?, of_rounds(RANKED[0])?))
    };
    let timed: Vec<(usize, f64, f64)> = kept.filter_map(both).collect();
    let mostly: Vec<&(usize, f64, f64)> =
        timed.iter().filter(|(_, late, all)| *late > MOSTLY * all).collect();
    let worst = mostly.iter().map(|(_, late, all)| late / all).reduce(f64::max)?;
    Some(LateSender { cases: mostly.iter().map(|(case, ..)| *case).collect(), of: timed.len(), worst })
}

#[cfg(test)]
pub(crate) mod tests;
