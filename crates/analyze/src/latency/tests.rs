//! Latencies of a run whose truth is known: what keeps up, what stalls, what competes.

use super::*;
use crate::cells::Pooled;
use crate::recommend::situation::Situation;
use crate::synthetic;
use crate::trust::{Trust, TrustFact, TrustLevel};
use crate::whole::Analysis;
use syscost_core::axis::Value;
use syscost_core::stats::random::Random;
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
pub(crate) fn run(rounds: u32) -> Run {
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

/// Closed loops of three mechanisms at two sizes and four numbers of threads; the medians of rounds scatter by `noise`.
pub(crate) fn closed(rounds: u32, (seed, noise): (u64, f64), ns: fn(&Point) -> f64) -> Run {
    let mut cases = Vec::new();
    for mechanism in ["pack_send", "sendmsg", "msg_zerocopy"] {
        for (bytes, threads) in [1024, 65536].into_iter().flat_map(|b| [1, 2, 4, 8].map(|t| (b, t))) {
            let mut point = synthetic::point(mechanism, bytes, threads);
            point.set("loop", Value::text("closed"));
            cases.push(Case { index: cases.len(), probe: id().into(), point, twin_of: None });
        }
    }
    let mut random = Random::new(seed);
    let mut samples = Vec::new();
    for (case, round) in cases.iter().flat_map(|case| (0..rounds).map(move |round| (case, round))) {
        let base = (ns(&case.point) * (noise * random.normal()).exp()) as u64;
        samples.push(Sample {
            case: case.index,
            round,
            elapsed_ns: 100e6,
            ops: 2_000.0,
            bytes: 2_000.0 * case.point.int(ALONG).unwrap() as f64,
            verified: true,
            histogram: Some(format!("{base}:1900 {}:100", base * 3).parse().unwrap()),
            ..Sample::default()
        });
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
    let at = |quantile: f64| first.quantile(quantile, 0.95).map(|estimate| estimate.value);
    assert!(at(0.5).unwrap() >= 20_000.0 && at(0.999).unwrap() >= 200_000.0);
    assert_eq!(at(0.9999), None, "two lie beyond");
}

/// It was said: p99 of 9 ms within 99 %, where nine of ten rounds had 60 us.
#[test]
fn a_stall_of_one_round_is_told_beside_the_figure_of_the_case() {
    let mut run = run(10);
    let stalled = run.samples.iter_mut().find(|s| (s.case, s.round) == (0, 4)).unwrap();
    stalled.histogram = Some("20000:1300 60000:100 9000000:600".parse().unwrap());
    stalled.quantities.insert("latency_p99_ns".into(), Some(9e6));
    let cells = Cells::of(&run);
    let p99 = cells.cell(0, "latency_p99").unwrap();
    assert!((60_000.0..60_300.0).contains(&p99.estimate.value), "{:?}", p99.estimate);
    assert!(p99.estimate.high < 61_000.0 && p99.estimate.n == 10);
    assert_eq!(median(&p99.rounds.values()), Some(p99.estimate.value), "what comparisons pair");
    let stall = Some(Stall { rounds: 1, of: 10, longest_ns: 9_000_000 });
    assert_eq!(p99.pooled, Some(Pooled { value: 9e6, times: 20_000, above: Some(200), stall }));
    assert_eq!(cells.cell(0, "latency_max").unwrap().estimate.value, 9e6);
    assert_eq!(cells.cell(0, "achieved_rate").unwrap().pooled, None);
    let [told] = &Latency::of(&run, &cells).stalls[..] else { panic!("one case stalled") };
    assert_eq!((told.case, told.metric, told.pooled_ns), (0, RANKED[0], 9e6));
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
        let far = (sample.round * 7 + sample.case as u32 * 3) % 5;
        sample.histogram = Some(format!("20000:1900 {}:100", 60_000 * (1 + far)).parse().unwrap());
    }
    assert_eq!(p99(&trust(&run)), Some((0, 2, TrustLevel::Fair)));
    assert_eq!(trust(&run).level, TrustLevel::Fair);
}

#[test]
fn a_run_without_times_has_none() {
    let found = latency(&synthetic::Synthetic::default().run());
    assert!(found.cases.is_empty() && found.limits.is_empty());
}
