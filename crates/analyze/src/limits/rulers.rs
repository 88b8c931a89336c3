//! What moving the same bytes costs without TCP, beside the best way over TCP.
//!
//! A ruler is a case of a probe that says whose figures may be held against it ([`Ruler`]). At each
//! combination of the coordinates that both have, the best case by its median is held against every
//! ruler, by the ratio of the two figures shown. Rulers compete with nobody: they are in no group, and win
//! nothing. Cases with coordinates that the rulers lack (a path) are candidates alike.

use super::floor::{self, Floor};
use crate::cells::Cells;
use crate::compare::study::HEADLINES;
use crate::model::steps;
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Better, Metric};
use syscost_core::stats::Estimate;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::THREADS;
use syscost_measure::probe::{self, Probe, Ruler};

/// One ruler at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub case: usize,
    /// The value of the ruler's axis, and what reports call it.
    pub name: String,
    pub title: &'static str,
    pub figure: Estimate,
    /// How many times worse the best is: its cost over the ruler's, or the ruler's rate over its.
    pub worse: Option<Estimate>,
}

/// The rulers at one combination of shared coordinates.
#[derive(Clone, Debug)]
pub struct Held {
    pub metric: Metric,
    pub shared: Point,
    /// The best case of those that are held against the rulers; `None`: nothing was measured here.
    pub best: Option<usize>,
    /// In the order of their registry.
    pub readings: Vec<Reading>,
    /// What one thread's messages cost at best, beside the metric of cost.
    pub floor: Option<Floor>,
}

/// Every place that has a ruler, for each metric that ranks: cost first.
pub fn held(run: &Run, cells: &Cells) -> Vec<Held> {
    let probes = probe::ALL.iter().filter_map(|probe| Some((*probe, probe.about().ruler?)));
    let probes: Vec<(&'static dyn Probe, Ruler)> = probes.collect();
    let sources = steps::sources(run);
    let mut all = Vec::new();
    for metric in HEADLINES {
        for (probe, ruler) in &probes {
            let metrics = probe.metrics();
            let Some(metric) = metrics.iter().find(|m| m.id == *metric) else { continue };
            let places = places(run, probe.about().id, ruler);
            let held = |(shared, cases): (Point, Vec<&Case>)| {
                let held = at(run, cells, ruler, metric, shared, &cases);
                Held { floor: floor_of(run, cells, &sources, &held), ..held }
            };
            all.extend(places.into_iter().map(held));
        }
    }
    all.retain(|held| !held.readings.is_empty());
    all
}

/// The rulers' cases by what they share; sizes ascend.
fn places<'r>(run: &'r Run, id: &str, ruler: &Ruler) -> BTreeMap<Point, Vec<&'r Case>> {
    let mut places: BTreeMap<Point, Vec<&Case>> = BTreeMap::new();
    for case in run.record.plan.cases.iter().filter(|case| case.probe == id && case.twin_of.is_none()) {
        places.entry(case.point.without(ruler.axis)).or_default().push(case);
    }
    places
}

fn at(run: &Run, cells: &Cells, ruler: &Ruler, metric: &Metric, shared: Point, cases: &[&Case]) -> Held {
    let best = best(run, cells, ruler.of, metric, &shared);
    let of_best = best.and_then(|case| cells.cell(case, metric.id)).map(|cell| cell.estimate);
    let reading = |case: &&Case| {
        let value = case.point.text_at(ruler.axis)?;
        let cell = cells.cell(case.index, metric.id)?;
        let worse = of_best.as_ref().and_then(|best| match metric.better {
            Better::Higher => floor::times(&cell.estimate, best),
            _ => floor::times(best, &cell.estimate),
        });
        Some(Reading {
            case: case.index,
            name: value.to_string(),
            title: (ruler.title)(value)?,
            figure: cell.estimate,
            worse,
        })
    };
    Held { metric: *metric, best, readings: cases.iter().filter_map(reading).collect(), floor: None, shared }
}

/// Of one thread, beside the metric of cost.
fn floor_of(run: &Run, cells: &Cells, sources: &[&Case], held: &Held) -> Option<Floor> {
    let costs = held.metric.better == Better::Lower && held.shared.int(THREADS) == Some(1);
    let best = run.case(held.best.filter(|_| costs)?)?;
    floor::floor(sources, cells, best, &held.shared, run.record.spec.confidence)
}

/// The best case, by what its comparisons stand on, that agrees with these coordinates wherever it has them.
fn best(run: &Run, cells: &Cells, of: &dyn Probe, metric: &Metric, shared: &Point) -> Option<usize> {
    let failed = |case: usize| run.record.failures.iter().any(|failure| failure.case == case);
    let agrees = |point: &Point| shared.iter().all(|(id, value)| point.get(id).is_none_or(|v| v == value));
    let candidates = run.record.plan.cases.iter().filter(|case| {
        case.probe == of.about().id && case.twin_of.is_none() && agrees(&case.point) && !failed(case.index)
    });
    let figures = candidates.filter_map(|c| Some((c.index, cells.judged(c.index, metric.id)?.value)));
    let order = |a: &(usize, f64), b: &(usize, f64)| match metric.better {
        Better::Higher => b.1.total_cmp(&a.1),
        _ => a.1.total_cmp(&b.1),
    };
    figures.min_by(order).map(|(case, _)| case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::study::{ALONG, RIVALS};
    use crate::synthetic::{Synthetic, sample};
    use syscost_core::axis::Value;
    use syscost_experiment::plan::Case;

    /// Three mechanisms of which one is cheapest, and a ruler that costs a quarter of it.
    fn ruled() -> Run {
        fn cost(p: &Point) -> f64 {
            if p.text_at("mechanism") == Some("send") { 2000.0 } else { 3000.0 }
        }
        let mut run = Synthetic { cost_ns: cost, noise: 0.01, ..Synthetic::default() }.run();
        let (probe, ruler) =
            probe::ALL.iter().find_map(|p| Some((*p, p.about().ruler?))).expect("one is a ruler");
        for size in [1024, 65536] {
            let index = run.record.plan.cases.len();
            let mut point = Point::default();
            point.set(ruler.axis, Value::text(ruler.bound));
            point.set(ALONG.id, Value::Int(size));
            point.set("threads", Value::Int(1));
            let case = Case { index, probe: probe.about().id.into(), point, twin_of: None };
            let rounds = (0..8).flat_map(|round| (0..3).map(move |i| (round, i)));
            run.samples.extend(rounds.map(|(round, i)| sample(&case, round, i, 500.0)));
            run.record.plan.cases.push(case);
        }
        run
    }

    /// Pairs of three rounds said 0.96 beside two figures that are 1.3 apart.
    #[test]
    fn the_ratio_is_that_of_the_two_figures_beside_it() {
        let mut run = ruled();
        let kept = run.samples.iter().filter(|sample| sample.round < 3 || sample.case == 0);
        run.samples = kept.cloned().collect::<Vec<_>>().into();
        let cells = Cells::of(&run);
        let held = held(&run, &cells);
        assert_eq!(held.len(), 4);
        for place in held {
            let best = cells.cell(place.best.unwrap(), place.metric.id).unwrap().estimate;
            let figure = place.readings[0].figure;
            let ratio = best.value / figure.value;
            let worse = place.readings[0].worse.unwrap();
            assert_eq!(worse.value, if place.metric.better == Better::Higher { 1.0 / ratio } else { ratio });
            assert!(worse.low <= worse.value && worse.value <= worse.high && worse.level < 0.95, "{worse:?}");
        }
    }

    #[test]
    fn the_best_is_held_against_the_ruler_where_both_are() {
        let run = ruled();
        let held = held(&run, &Cells::of(&run));
        assert_eq!(held.len(), 4, "two sizes, two metrics");
        for place in &held {
            let best = run.case(place.best.unwrap()).unwrap();
            assert_eq!(best.point.text(RIVALS), Some("send"));
            assert_eq!(best.point.int(ALONG), place.shared.int(ALONG));
            assert_eq!(best.point.int_at("threads"), Some(1));
            let [reading] = &place.readings[..] else { panic!("{place:?}") };
            let worse = reading.worse.unwrap();
            assert!((3.5..4.6).contains(&worse.value), "{} {worse:?}", place.metric.id);
            assert_eq!(run.case(reading.case).unwrap().point.int(ALONG), place.shared.int(ALONG));
        }
    }
}
