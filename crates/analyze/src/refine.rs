//! Which places would narrow the borders between regions: the next stage of a run that refines its grid.
//!
//! Two neighbouring places of a line differ where different ways are significantly best, or where one is
//! at one of them and nothing is at the other. Between them a new value is wanted: half way on
//! the log scale, rounded so that a person would type it. Only ways that could be best there by what was
//! measured on either side are measured. Pure: it reads comparisons and plans nothing.

use crate::compare::study::Study;
use crate::recommend::line::{SizeLine, SizePlace, Way, lines};
use crate::recommend::situation::Situation;
use crate::whole::Analysis;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::{Kind, Name, Point, Value};
use syscost_experiment::run::Run;
use syscost_measure::probe;

/// Sizes nearer to one another than this factor are near enough.
const NEAREST: f64 = 1.3;
/// Significant binary digits of a new size: 12 KiB, not 11,585 bytes.
const DIGITS: u32 = 3;

/// A place to measure next, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub probe: Name,
    /// The cases: one for each way that may be best there.
    pub points: Vec<Point>,
    /// A change of the best is worth more than a best beside a place without one.
    urgency: Urgency,
    /// How far apart the neighbours are, as a ratio.
    gap: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    OpenBesideBest,
    BestChanges,
}

/// The places that narrow borders most, with at most so many cases in all; none that the run has.
pub fn wanted(run: &Run, axes: &[String], most_cases: usize) -> Vec<Wanted> {
    let analysis = Analysis::of(run);
    let mut places: BTreeMap<(String, Point), Wanted> = BTreeMap::new();
    let of_readers =
        Situation::ALL.into_iter().flat_map(|situation| axes.iter().map(move |axis| (situation, axis)));
    for (situation, axis) in of_readers {
        for line in analysis.ways.iter().flat_map(|study| lines(run, study, axis, situation)) {
            for pair in line.steps.windows(2) {
                add(&mut places, run, &analysis.ways, (situation, axis), &line, pair);
            }
        }
    }
    let known: BTreeSet<(&str, &Point)> =
        run.record.plan.cases.iter().map(|c| (c.probe.as_str(), &c.point)).collect();
    let mut wanted: Vec<Wanted> = places.into_values().collect();
    wanted.retain(|w| w.points.len() > 1 && !w.points.iter().any(|p| known.contains(&(w.probe.as_str(), p))));
    wanted.sort_by(|a, b| b.urgency.cmp(&a.urgency).then(b.gap.total_cmp(&a.gap)));
    let mut left = most_cases;
    wanted.retain(|place| {
        let fits = place.points.len() <= left;
        left -= if fits { place.points.len() } else { 0 };
        fits
    });
    wanted
}

fn add(
    places: &mut BTreeMap<(String, Point), Wanted>,
    run: &Run,
    studies: &[Study],
    (situation, axis): (Situation, &str),
    line: &SizeLine<'_>,
    pair: &[SizePlace],
) {
    let [low, high] = pair else { return };
    let Some(urgency) = urgency(low, high) else { return };
    let Some(value) = between(line.probe, axis, low.at, high.at) else { return };
    let at = |value: u64| {
        let mut place = line.place();
        place.set(axis, Value::Int(value));
        place
    };
    let place = at(value);
    let entry = places.entry((line.probe.to_string(), place)).or_insert_with(|| Wanted {
        probe: line.probe.into(),
        points: Vec::new(),
        urgency,
        gap: high.at as f64 / low.at as f64,
    });
    entry.urgency = entry.urgency.max(urgency);
    let sides = [low, high].map(|step| contenders(run, studies, situation, (line.probe, &at(step.at))));
    for mut point in sides.into_iter().flatten() {
        point.set(axis, Value::Int(value));
        if !entry.points.contains(&point) {
            entry.points.push(point);
        }
    }
}

/// Does the answer change from one place to the next?
fn urgency(a: &SizePlace, b: &SizePlace) -> Option<Urgency> {
    let common = |way: &Way| b.good.contains(way);
    match (a.winner(), b.winner()) {
        (Some(x), Some(y)) if x == y => None,
        (Some(_), Some(_)) => Some(Urgency::BestChanges),
        _ if !a.good.iter().any(common) => Some(Urgency::BestChanges),
        (None, None) => None,
        _ => Some(Urgency::OpenBesideBest),
    }
}

/// What may be best at a place by any metric, and the next best, of what this reader can use.
fn contenders(
    run: &Run,
    studies: &[Study],
    situation: Situation,
    (probe, place): (&str, &Point),
) -> BTreeSet<Point> {
    let here =
        studies.iter().flat_map(|s| &s.winners).filter(|w| w.probe.as_str() == probe && w.shared == *place);
    let able = |case: &usize| run.case(*case).is_some_and(|case| situation.can_use(&case.point));
    let cases = here.flat_map(|winner| {
        let first = winner.candidates.iter().filter(|case| able(case)).take(2);
        first.chain(winner.unbeaten.iter().filter(|case| able(case)))
    });
    cases.filter_map(|case| Some(run.case(*case)?.point.clone())).collect()
}

/// A value about half way on the log scale; `None` where the two are as near as they may be.
fn between(probe: &str, axis: &str, low: u64, high: u64) -> Option<u64> {
    let kind = probe::find(probe)?.axes().into_iter().find(|a| a.id == axis)?.kind;
    let middle = (low as f64 * high as f64).sqrt();
    let value = match kind {
        Kind::Bytes { .. } if high as f64 / low as f64 <= NEAREST => return None,
        Kind::Bytes { .. } => rounded(middle),
        _ => middle.round() as u64,
    };
    (value > low && value < high).then_some(value)
}

/// To a few binary digits.
fn rounded(bytes: f64) -> u64 {
    let step = 1u64 << (bytes.max(1.0) as u64).ilog2().saturating_sub(DIGITS - 1);
    (bytes / step as f64).round() as u64 * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend::advice::Advice;
    use crate::synthetic::{self, Synthetic};
    use syscost_experiment::plan::Case;

    /// sendmsg is better from 12 KiB up with one thread and from 3 KiB up with more; else pack_send is.
    fn cost(p: &Point) -> f64 {
        let border = if p.int_at("threads") == Some(1) { 12 << 10 } else { 3 << 10 };
        let above = p.int_at("message_bytes").unwrap() >= border;
        match (p.text_at("mechanism").unwrap(), above) {
            ("sendmsg", true) | ("pack_send", false) => 700.0,
            ("send_fields", _) => 1400.0,
            _ => 1000.0,
        }
    }

    fn base(cost_ns: fn(&Point) -> f64) -> Synthetic {
        let mechanisms = vec!["pack_send", "send_fields", "sendmsg"];
        Synthetic { cost_ns, mechanisms, rounds: 12, noise: 0.01, threads: vec![1, 4], ..Default::default() }
    }

    /// What the harness does between stages.
    fn stage(synthetic: &Synthetic, cases: &mut Vec<Case>, most: usize) -> usize {
        let run = synthetic.run_of(cases.clone());
        let axes = ["message_bytes".to_string(), "threads".to_string()];
        let wanted = wanted(&run, &axes, most);
        let points = wanted.into_iter().flat_map(|w| w.points);
        let before = cases.len();
        for point in points {
            cases.push(synthetic::case(cases.len(), point));
        }
        cases.len() - before
    }

    #[test]
    fn planted_borders_are_found_within_the_nearest_sizes() {
        let synthetic = base(cost);
        let mut cases = synthetic.cases();
        for _ in 0..5 {
            stage(&synthetic, &mut cases, 60);
        }
        let run = synthetic.run_of(cases);
        let analysis = Analysis::of(&run);
        let pieces = &analysis.recommendation.situations[0];
        assert_eq!((pieces.situation, analysis.recommendation.situations.len()), (Situation::Pieces, 1));
        // Other thread counts were added at single sizes.
        let whole =
            |advice: &&Advice| advice.ranges.iter().map(|range| range.places.len()).sum::<usize>() > 4;
        for advice in pieces.advice.iter().filter(whole) {
            let [threads] = advice.scope.threads[..] else { panic!("they disagree: {:?}", advice.scope) };
            let planted = if threads == 1 { 12 << 10 } else { 3 << 10 };
            let [low, high] = &advice.ranges[..] else { panic!("{threads} threads: {:?}", advice.ranges) };
            let (below, above) = low.border.expect("a range follows");
            assert!(below < planted && planted <= above, "{below} to {above}");
            assert!(above as f64 / below as f64 <= 1.34, "{below} to {above}");
            let of = |way: &Way| way.text_at("mechanism").map(str::to_string);
            assert_eq!((of(&low.lead), of(&high.lead)), (Some("pack_send".into()), Some("sendmsg".into())));
        }
    }

    #[test]
    fn only_what_may_be_best_is_measured_and_the_budget_is_kept() {
        let synthetic = base(cost);
        let mut cases = synthetic.cases();
        let before = cases.len();
        assert_eq!(stage(&synthetic, &mut cases, 4), 4);
        assert!(cases[before..].iter().all(|c| c.point.text_at("mechanism") != Some("send_fields")));
        let sizes: Vec<Option<u64>> =
            cases[before..].iter().map(|c| c.point.int_at("message_bytes")).collect();
        assert!(sizes.iter().all(|s| s.is_some()));
        assert_eq!(stage(&synthetic, &mut cases.clone(), 1), 0, "a place is measured whole or not at all");
    }

    #[test]
    fn one_answer_everywhere_and_identical_ways_want_nothing() {
        let always = base(|p| if p.text_at("mechanism") == Some("pack_send") { 500.0 } else { 1000.0 });
        assert_eq!(stage(&always, &mut always.cases(), 100), 0);
        let same = base(|_| 1000.0);
        assert_eq!(stage(&same, &mut same.cases(), 100), 0);
    }

    #[test]
    fn new_values_are_such_as_people_type() {
        let sizes = |low, high| between("transfer", "message_bytes", low, high);
        assert_eq!(sizes(4096, 16384), Some(8192));
        assert_eq!(sizes(8192, 16384), Some(12288));
        assert_eq!(sizes(12288, 16384), Some(14336));
        assert_eq!(sizes(14336, 16384), None, "near enough");
        let threads = |low, high| between("transfer", "threads", low, high);
        assert_eq!((threads(1, 4), threads(2, 4), threads(1, 2)), (Some(2), Some(3), None));
    }
}
