//! Latency: distributions over all rounds, what kept up with its rate, and who has the lowest quantiles.
//!
//! Made for every case whose samples keep their times. An open loop that stays more than 1 % below the rate it asked
//! for, with its whole interval below it, is saturated: its latencies grow with the length of the test. Where the interval
//! reaches the rate, or half of the messages leave later than 1 % of a window, it is undecided whether they do. Neither competes with anything. The figures of a case are those of all its times together; comparisons are those of [`crate::compare`],
//! which pairs the rounds' own quantiles.

use crate::cells::sanity::Limits;
use crate::cells::{Cells, times_of_round};
use crate::compare::Comparisons;
use crate::compare::groups::Groups;
use crate::compare::study::{ALONG, RIVALS, Study};
use crate::compare::winners::Sure;
use crate::compare::winners::winners;
use crate::recommend::Recommendation;
use crate::recommend::advice::AdviceRange;
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_core::stats::histogram::Histogram;
use syscost_core::stats::pooled::{TimesFigure, pooled_estimates};
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

    /// Quantiles of all rounds together; see [`pooled_estimates`].
    pub fn quantiles(&self, quantiles: &[f64], level: f64) -> Vec<Option<Estimate>> {
        let figures: Vec<TimesFigure> = quantiles.iter().map(|q| TimesFigure::Quantile(*q)).collect();
        pooled_estimates(&self.rounds.iter().collect::<Vec<_>>(), &self.whole, &figures, level)
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
        let studies: Vec<Study> = RANKED.iter().filter_map(|id| study(run, cells, &groups, id)).collect();
        let mut by_rate = Recommendation::of(run, cells, &studies, RATE.id);
        only_where_others_failed(run, &cases, &mut by_rate);
        let mut closed = studies.clone();
        for study in &mut closed {
            study.winners.retain(|winner| winner.shared.int(RATE).is_none());
        }
        let by_size = Recommendation::of(run, cells, &closed, ALONG.id);
        let (limits, late) = (limits(run, &cases), late(cells, &cases));
        Latency { cases, studies, by_rate, by_size, limits, late }
    }
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

fn study(run: &Run, cells: &Cells, groups: &Groups, metric: &str) -> Option<Study> {
    let comparisons = Comparisons::of(run, cells, groups, metric)?;
    let winners = winners(run, cells, groups, &comparisons);
    Some(Study { comparisons, winners, crossovers: Vec::new(), over_threads: Vec::new() })
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
mod tests {
    use super::*;
    use crate::cells::Behind;
    use crate::recommend::situation::Situation;
    use crate::synthetic;
    use crate::trust::{Trust, TrustFact, TrustLevel};
    use crate::whole::Analysis;
    use syscost_core::axis::Value;
    use syscost_experiment::plan::Case;
    use syscost_experiment::plan::Plan;
    use syscost_measure::probe;

    /// The probe that keeps its times.
    fn id() -> &'static str {
        let keeps = |p: &&&dyn probe::Probe| p.metrics().iter().any(|m| m.id == RANKED[0]);
        probe::ALL.iter().find(keeps).unwrap().about().id
    }

    /// An open loop of two mechanisms at three rates; the second mechanism takes twice as long and
    /// reaches no more than 30,000 a second.
    fn run(rounds: u32) -> Run {
        let mut cases = Vec::new();
        for mechanism in ["pack_send", "sendmsg"] {
            for rate in [10_000, 20_000, 40_000u64] {
                let mut point = synthetic::point(mechanism, 1024, 1);
                point.set("loop", Value::text("open"));
                point.set(RATE.id, Value::Int(rate));
                let index = cases.len();
                cases.push(Case { index, probe: id().into(), point, twin_of: None });
            }
        }
        let mut samples = Vec::new();
        for case in &cases {
            let slow = case.point.text(RIVALS) == Some("sendmsg");
            let asked = case.point.int(RATE).unwrap() as f64;
            let achieved = if slow { asked.min(30_000.0) } else { asked };
            for round in 0..rounds {
                let base = (if slow { 40_000 } else { 20_000 }) + u64::from(round) * 10;
                let text = format!("{base}:1900 {}:80 {}:20", base * 3, base * 10);
                let quantities = [
                    ("latency_p50_ns", base as f64),
                    ("latency_p99_ns", base as f64 * 3.0),
                    ("latency_count", 2_000.0),
                    ("lateness_p99_ns", 1_000.0),
                ];
                samples.push(Sample {
                    case: case.index,
                    round,
                    elapsed_ns: 2_000.0 * 1e9 / achieved,
                    ops: 2_000.0,
                    bytes: 2_000.0 * 1024.0,
                    verified: true,
                    quantities: quantities.map(|(id, v)| (id.to_string(), Some(v))).into_iter().collect(),
                    histogram: Some(text.parse().unwrap()),
                    ..Sample::default()
                });
            }
        }
        let mut run = synthetic::record(Plan { cases, ..Plan::default() }, samples);
        run.record.spec.timing.window_ns = 10_000_000;
        run
    }

    fn latency(run: &Run) -> Latency {
        Latency::of(run, &Cells::of(run))
    }

    #[test]
    fn a_rate_that_is_not_reached_is_saturated_and_competes_with_nothing() {
        let run = run(10);
        let found = latency(&run);
        let saturated: Vec<usize> =
            found.cases.values().filter(|d| d.kept() == RateKept::No).map(|d| d.case).collect();
        assert_eq!(saturated, [5]);
        let [limit] = &found.limits[..] else { panic!("{:?}", found.limits) };
        assert_eq!((limit.case, limit.kept, limit.point.text(RIVALS)), (5, Some(20_000), Some("sendmsg")));
        let reached = limit.reached;
        assert!(reached.asked.value > 39_000.0 && reached.achieved.high < 31_000.0, "{limit:?}");
        let p99 = &found.studies[0];
        assert_eq!(p99.comparisons.pairs.len(), 2, "at two of the three rates");
        let [pieces] = &found.by_rate.situations[..] else { panic!("{:?}", found.by_rate) };
        let p99 = &pieces.advice[0];
        let ranges: Vec<_> = p99.ranges.iter().map(|r| (r.from, r.to, r.sure, r.lead.text(RIVALS))).collect();
        let packs = Some("pack_send");
        assert_eq!((pieces.situation, p99.metric), (Situation::Pieces, RANKED[0]));
        assert_eq!(ranges, [(10_000, 20_000, Sure::Best, packs), (40_000, 40_000, Sure::Alone, packs)]);
        let gain = p99.ranges[0].over_next.as_ref().unwrap();
        assert!(gain.significant == 2 && (gain.largest.ratio.value - 2.0).abs() < 0.1, "{gain:?}");
        assert!(found.by_size.situations.is_empty(), "no loop is closed");
    }

    /// It was said: kept up, at a median 3 % below the rate, because the best rounds reached it.
    #[test]
    fn a_rate_that_only_some_rounds_reach_is_undecided_and_competes_with_nothing() {
        let mut run = run(10);
        for sample in run.samples.iter_mut().filter(|s| s.case == 2 && s.round > 2) {
            sample.elapsed_ns *= 1.05;
        }
        let found = latency(&run);
        assert_eq!(found.cases[&2].kept(), RateKept::Undecided);
        assert_eq!(found.studies[0].comparisons.pairs.len(), 2, "at two of the three rates");
        let limit = found.limits.iter().find(|limit| limit.case == 2).expect("its limit is not known");
        assert_eq!((limit.kept, limit.reached.kept), (Some(20_000), RateKept::Undecided));
        let ranges = &found.by_rate.situations[0].advice[0].ranges;
        assert!(ranges.iter().all(|range| range.to == 20_000), "{ranges:?}");
    }

    /// It was said: only this way keeps up, of a rate that nobody else was asked to keep.
    #[test]
    fn one_way_alone_is_no_advice_where_no_other_failed() {
        let mut run = run(10);
        run.record.plan.cases.retain(|case| case.index != 5);
        let ranges = &latency(&run).by_rate.situations[0].advice[0].ranges;
        assert!(ranges.iter().all(|range| range.to == 20_000 && range.sure != Sure::Alone), "{ranges:?}");
    }

    /// It was said: kept up, because a sender that is late from the first message to the last ends as late.
    #[test]
    fn a_sender_that_stays_behind_does_not_keep_up() {
        let mut run = run(10);
        for sample in run.samples.iter_mut().filter(|s| s.case == 2) {
            sample.quantities.insert(MEDIAN_LATENESS.into(), Some(sample.elapsed_ns * 0.03));
        }
        assert_eq!(latency(&run).cases[&2].kept(), RateKept::Undecided);
    }

    #[test]
    fn all_rounds_together_are_their_sum() {
        let run = run(10);
        let first = &latency(&run).cases[&0];
        assert_eq!((first.rounds.len(), first.whole.count()), (10, 20_000));
        let deep = first.quantiles(&[0.5, 0.999, 0.9999], 0.95);
        assert!(deep[0].unwrap().value >= 20_000.0 && deep[1].unwrap().value >= 200_000.0);
        assert_eq!(deep[2], None, "two lie beyond");
    }

    /// A stall that one round of ten saw: the median of rounds is 60 us, and 3 % of all messages took 9 ms.
    #[test]
    fn a_stall_of_one_round_is_in_the_figure_of_the_case() {
        let mut run = run(10);
        let stalled = run.samples.iter_mut().find(|s| (s.case, s.round) == (0, 4)).unwrap();
        stalled.histogram = Some("20000:1300 60000:100 9000000:600".parse().unwrap());
        stalled.quantities.insert("latency_p99_ns".into(), Some(9e6));
        let cells = Cells::of(&run);
        let p99 = cells.cell(0, "latency_p99").unwrap();
        assert_eq!((p99.estimate.value, p99.estimate.n), (9e6, 10));
        assert!(p99.estimate.low < 250_000.0 && p99.estimate.high == 9e6, "{:?}", p99.estimate);
        assert_eq!(p99.behind, Some(Behind { times: 20_000, above: Some(200) }));
        assert_eq!(median(&p99.rounds.values()).map(f64::round), Some(60_165.0), "what was shown before");
        assert_eq!(cells.cell(0, "latency_max").unwrap().estimate.value, 9e6);
        assert_eq!(cells.cell(0, "achieved_rate").unwrap().behind, None);
    }

    #[test]
    fn lateness_that_makes_the_figure_is_said() {
        let mut run = run(8);
        assert!(latency(&run).late.is_none());
        for sample in run.samples.iter_mut().filter(|s| s.case == 0) {
            let p99 = sample.get("latency_p99_ns");
            sample.quantities.insert("lateness_p99_ns".into(), p99.map(|ns| ns * 0.9));
        }
        let late = latency(&run).late.expect("case 0 is late");
        assert_eq!((late.cases, late.of), (vec![0], 5));
        assert!((late.worst - 0.9).abs() < 0.01);
    }

    /// Its times stand with their intervals: a run of latency is asked which is lower only then.
    #[test]
    fn what_comparisons_of_latency_leave_open_asks_for_care() {
        let mut run = run(10);
        let trust = |run: &Run| Analysis::of(run).trust;
        let p99 = |trust: &Trust| {
            trust.reasons.iter().find_map(|reason| match reason.fact {
                TrustFact::Decided { metric, decided, comparisons, .. } if metric == RANKED[0] => {
                    Some((decided, comparisons, reason.level))
                }
                _ => None,
            })
        };
        assert_eq!(p99(&trust(&run)), Some((2, 2, TrustLevel::Good)));
        assert_eq!(trust(&run).level, TrustLevel::Good);
        for sample in &mut run.samples {
            let far = f64::from((sample.round * 7 + sample.case as u32 * 3) % 5);
            sample.quantities.insert("latency_p99_ns".into(), Some(6e4 * (1.0 + far)));
        }
        assert_eq!(p99(&trust(&run)), Some((0, 2, TrustLevel::Fair)));
        assert_eq!(trust(&run).level, TrustLevel::Fair);
    }
}
