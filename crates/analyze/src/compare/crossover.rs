//! Where one value of an axis overtakes another along a second axis: the crossover.
//!
//! A crossover is an interval between two points that were measured, from the last place where one
//! side is significantly better to the first where the other is; places between that are the same or undecided widen it.
//! It is never finer than the grid, and there may be several.
//! Pure: it reads comparisons, it makes none.

use crate::compare::Comparisons;
use crate::compare::comparisons::better_side;
use std::collections::BTreeMap;
use syscost_core::axis::{Name, Point};
use syscost_core::decide::Decision;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::THREADS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairSide {
    A,
    B,
}

/// One tested place on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossoverStep {
    /// The value on the second axis: a message size.
    pub at: u64,
    /// The two cases, in the order of the pair; over thread counts those with the fewest.
    pub cases: (usize, usize),
    /// The same two at the other thread counts, where the answer is over all.
    pub others: Vec<(usize, usize)>,
    /// Of the first over the second.
    pub decision: Decision,
    /// Who is significantly better there; `None`: neither.
    pub better: Option<PairSide>,
}

/// One change of the better side, between two tested places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub low: u64,
    pub high: u64,
    /// Who is better at and below `low`.
    pub below: PairSide,
}

/// The crossovers of one pair on one line through the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossover {
    pub metric: &'static str,
    pub probe: Name,
    /// The coordinates of the two, without the axis along which they may cross.
    pub a: Point,
    pub b: Point,
    /// In ascending order.
    pub steps: Vec<CrossoverStep>,
    /// In ascending order; empty where no side overtakes the other.
    pub crossings: Vec<Interval>,
}

impl Crossover {
    /// What the pair shares: threads, path and so on.
    pub fn held(&self) -> Point {
        let same = self.a.iter().filter(|(id, value)| self.b.get(id) == Some(value));
        same.map(|(id, value)| (id.clone(), value.clone())).collect()
    }
}

/// Every pair's crossovers along an axis of numbers (`message_bytes`), in the pairs' order.
pub fn crossovers(run: &Run, comparisons: &Comparisons, along: &str) -> Vec<Crossover> {
    let places = comparisons.pairs.iter().enumerate().map(|(place, pair)| (vec![place], pair.decision));
    lines(run, comparisons, along, places)
}

/// The same with one answer over all thread counts where there are several.
pub fn over_threads(run: &Run, comparisons: &Comparisons, along: &str) -> Vec<Crossover> {
    let over = comparisons.over_threads.iter().map(|over| (over.pairs.clone(), over.decision));
    let alone = comparisons.pairs.iter().enumerate().filter(|(_, pair)| pair.over.is_none());
    lines(run, comparisons, along, over.chain(alone.map(|(place, pair)| (vec![place], pair.decision))))
}

/// From answers, each with the places of its pairs.
fn lines(
    run: &Run,
    comparisons: &Comparisons,
    along: &str,
    answers: impl Iterator<Item = (Vec<usize>, Decision)>,
) -> Vec<Crossover> {
    let mut lines: BTreeMap<(Name, Point, Point), (usize, Vec<CrossoverStep>)> = BTreeMap::new();
    for (order, (places, decision)) in answers.enumerate() {
        let mut pairs: Vec<(usize, usize)> =
            places.iter().map(|place| &comparisons.pairs[*place]).map(|pair| (pair.a, pair.b)).collect();
        pairs.sort_by_key(|(a, _)| run.case(*a).and_then(|case| case.point.int(THREADS)));
        let cases = pairs.remove(0);
        let Some((a, b)) = run.case(cases.0).zip(run.case(cases.1)) else { continue };
        let Some(at) = a.point.int_at(along).filter(|at| b.point.int_at(along) == Some(*at)) else {
            continue;
        };
        let side = |a_is_better| if a_is_better { PairSide::A } else { PairSide::B };
        let better = better_side(&decision, comparisons.metric.better).map(side);
        let rest = |point: &Point| {
            let rest = point.without(along);
            if pairs.is_empty() { rest } else { rest.without(THREADS.id) }
        };
        let line = (a.probe.clone(), rest(&a.point), rest(&b.point));
        let (_, steps) = lines.entry(line).or_insert((order, Vec::new()));
        steps.push(CrossoverStep { at, cases, others: pairs, decision, better });
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, (order, _))| *order);
    lines
        .into_iter()
        .map(|((probe, a, b), (_, mut steps))| {
            steps.sort_by_key(|s| s.at);
            let crossings = crossings(&steps);
            Crossover { metric: comparisons.metric.id, probe, a, b, steps, crossings }
        })
        .collect()
}

fn crossings(steps: &[CrossoverStep]) -> Vec<Interval> {
    let differing: Vec<(u64, PairSide)> = steps.iter().filter_map(|s| Some((s.at, s.better?))).collect();
    let flips = differing.windows(2).filter(|w| w[0].1 != w[1].1);
    flips.map(|w| Interval { low: w[0].0, high: w[1].0, below: w[0].1 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Cells;
    use crate::compare::groups::Groups;
    use crate::synthetic::Synthetic;

    const SIZES: &[u64] = &[64, 256, 1024, 4096, 16384, 65536, 262144];

    fn found(synthetic: Synthetic, metric: &str) -> Vec<Crossover> {
        let run = synthetic.run();
        let groups = Groups::of(&run, "mechanism");
        let comparisons = Comparisons::of(&run, &Cells::of(&run), &groups, metric).unwrap();
        crossovers(&run, &comparisons, "message_bytes")
    }

    fn planted(cost_ns: fn(&Point) -> f64) -> Synthetic {
        Synthetic {
            mechanisms: vec!["pack_send", "sendmsg"],
            sizes: SIZES.to_vec(),
            cost_ns,
            rounds: 12,
            noise: 0.02,
            ..Default::default()
        }
    }

    /// pack_send copies (0.3 ns/B); sendmsg has a fixed cost more: they cross at 2000 bytes.
    fn crossing(p: &Point) -> f64 {
        let bytes = p.int_at("message_bytes").unwrap() as f64;
        match p.text_at("mechanism").unwrap() {
            "pack_send" => 1000.0 + 0.8 * bytes,
            _ => 1600.0 + 0.5 * bytes,
        }
    }

    #[test]
    fn a_planted_crossover_lies_in_the_interval_found() {
        for metric in ["total_cpu_ns_per_byte", "throughput"] {
            let found = found(planted(crossing), metric);
            assert_eq!(found.len(), 2, "one per thread count");
            for line in found {
                let [interval] = line.crossings[..] else { panic!("{line:?}") };
                assert!(interval.low < 2000 && 2000 < interval.high, "{interval:?}");
                assert!(interval.high <= 16384, "only close ties widen it: {interval:?}");
                let below = if interval.below == PairSide::A { &line.a } else { &line.b };
                assert_eq!(below.text_at("mechanism"), Some("pack_send"));
                assert!(SIZES.contains(&interval.low) && SIZES.contains(&interval.high));
                assert!(line.held().get("threads").is_some() && line.held().get("mechanism").is_none());
            }
        }
    }

    #[test]
    fn where_one_side_or_neither_is_better_throughout_none_overtakes() {
        let better = |p: &Point| if p.text_at("mechanism") == Some("sendmsg") { 500.0 } else { 1000.0 };
        for line in found(planted(better), "throughput") {
            let sides: Vec<&Point> = line
                .steps
                .iter()
                .filter_map(|step| Some(if step.better? == PairSide::A { &line.a } else { &line.b }))
                .collect();
            assert!(line.crossings.is_empty() && !sides.is_empty(), "{line:?}");
            assert!(sides.iter().all(|who| who.text_at("mechanism") == Some("sendmsg")), "{line:?}");
        }
        let same = found(planted(|_| 1000.0), "throughput");
        let differ = |l: &Crossover| l.steps.iter().any(|step| step.better.is_some());
        assert!(!same.iter().any(|l| differ(l) || !l.crossings.is_empty()), "{same:?}");
        let one = found(Synthetic { sizes: vec![64], ..planted(better) }, "throughput");
        assert!(one.iter().all(|l| l.steps.len() == 1 && l.crossings.is_empty()));
    }
}
