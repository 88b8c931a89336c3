//! Which of two cases costs less, whether they are the same, or that it is open.
//!
//! Every pair of a group is a contrast: the log ratios of the rounds that both have. All pairs of a metric in the run are
//! answered at once ([`syscost_core::decide`]), by point and over threads.

use crate::answer::ComparisonRef;
use crate::cells::{Cells, metric};
use crate::compare::groups::{Group, Groups};
use crate::compare::identical::Identical;
use crate::compare::log_ratios::LogRatios;
use crate::parallel::in_parallel;
use std::collections::HashMap;
use std::hash::Hash;
use syscost_core::decide::{AGAINST_CONTROL, Contrast, Decision, Decisions, Looks, Verdict, decide};
use syscost_core::sample::{Better, Metric};
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_experiment::run::{RoundRatio, Run};
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::THREADS;

/// A pair of cases at one point, answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub a: usize,
    pub b: usize,
    pub metric: &'static str,
    /// Of a / b.
    pub decision: Decision,
    /// Its place in [`Comparisons::over_threads`].
    pub over: Option<usize>,
}

impl From<&Comparison> for ComparisonRef {
    fn from(pair: &Comparison) -> ComparisonRef {
        ComparisonRef { metric: pair.metric, a: vec![pair.a], b: vec![pair.b] }
    }
}

impl Comparison {
    /// The case that is significantly better, if one is.
    pub fn better(&self, better: Better) -> Option<usize> {
        let a_is_better = better_side(&self.decision, better)?;
        Some(if a_is_better { self.a } else { self.b })
    }

    /// The ratio with this case above the line.
    pub fn seen_from(&self, case: usize) -> Estimate {
        estimate(&self.decision, self.a != case)
    }

    /// How far the ratio is from 1, on the log scale: the same for a / b and b / a.
    pub fn strength(&self) -> f64 {
        self.decision.ratio.ln().abs()
    }

    pub fn is_open(&self) -> bool {
        self.decision.verdict == Verdict::Undecided
    }
}

/// Is a better than b? `None` where neither is.
pub fn better_side(decision: &Decision, better: Better) -> Option<bool> {
    match (decision.verdict, better) {
        (Verdict::Less, Better::Lower) | (Verdict::More, Better::Higher) => Some(true),
        (Verdict::More, Better::Lower) | (Verdict::Less, Better::Higher) => Some(false),
        _ => None,
    }
}

/// The ratio of a decision, or its inverse.
pub fn estimate(decision: &Decision, inverse: bool) -> Estimate {
    let Decision { ratio, low, high, level, rounds, .. } = *decision;
    let (value, low, high) = if inverse { (1.0 / ratio, 1.0 / high, 1.0 / low) } else { (ratio, low, high) };
    Estimate { value, low, high, level, n: rounds, unit: Unit::Ratio }
}

/// The same pair at several numbers of threads, answered as one.
#[derive(Clone, Debug, PartialEq)]
pub struct OverThreads {
    /// Places in [`Comparisons::pairs`].
    pub pairs: Vec<usize>,
    pub decision: Decision,
}

/// Every comparison of one metric along one axis.
#[derive(Clone, Debug)]
pub struct Comparisons {
    pub axis: String,
    pub metric: Metric,
    /// What identical cases differ by; `None`: the run has no twins.
    pub identical: Option<Identical>,
    pub pairs: Vec<Comparison>,
    pub over_threads: Vec<OverThreads>,
    place: HashMap<(usize, usize), usize>,
}

impl Comparisons {
    /// Compares along the groups' axis; `None` where the run has no such metric.
    pub fn of(run: &Run, cells: &Cells, groups: &Groups, metric_id: &str) -> Option<Comparisons> {
        let metric = metric(run, metric_id)?;
        let ratios = LogRatios::new(run, cells);
        let of_groups = in_parallel(&groups.groups, |g| {
            let ask = |pair| ask(ratios.of(metric.id, pair), metric.id, pair, 0);
            questions(run, (groups, g), ask)
        });
        let mut asked: Vec<Unanswered> = of_groups.into_iter().flatten().collect();
        number(run, groups, &mut asked);
        let (mut pairs, over) = answered(run, asked);
        let over_threads = over_threads(&mut pairs, over);
        open_what_is_denied(cells, &mut pairs);
        let place = pairs.iter().enumerate().map(|(i, c)| ((c.a, c.b), i)).collect();
        let identical = Identical::of(run, cells, metric.id);
        Some(Comparisons { axis: groups.axis.clone(), metric, identical, pairs, over_threads, place })
    }

    /// The comparison of two cases, whichever comes first in it.
    pub fn between(&self, a: usize, b: usize) -> Option<&Comparison> {
        let place = self.place.get(&(a, b)).or_else(|| self.place.get(&(b, a)))?;
        Some(&self.pairs[*place])
    }

    /// Is `case` significantly better than `other`?
    pub fn beats(&self, case: usize, other: usize) -> bool {
        self.between(case, other).and_then(|c| c.better(self.metric.better)) == Some(case)
    }

    pub fn same(&self, a: usize, b: usize) -> bool {
        self.between(a, b).is_some_and(|c| c.decision.verdict == Verdict::Same)
    }

    pub fn pace(&self, run: &Run) -> Pace {
        Pace::of(run, &self.pairs)
    }
}

/// How long a round of a run took, of everything.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// `None` where nothing was measured, or nobody wrote down for how long.
    round_minutes: Option<f64>,
}

const DAY_MINUTES: f64 = 24.0 * 60.0;

impl Pace {
    pub fn of(run: &Run, pairs: &[Comparison]) -> Pace {
        let rounds = pairs.iter().map(|pair| pair.decision.rounds).max().filter(|rounds| *rounds > 0);
        let minutes = run.record.elapsed_ns as f64 / 6e10;
        Pace { round_minutes: rounds.filter(|_| minutes > 0.0).map(|rounds| minutes / f64::from(rounds)) }
    }

    /// More of them that would decide; `None` where no day would, or nothing is known.
    pub fn minutes_needed(&self, decision: &Decision) -> Option<f64> {
        let more = decision.rounds_needed? - f64::from(decision.rounds);
        Some(more * self.round_minutes?).filter(|minutes| *minutes <= DAY_MINUTES)
    }
}

/// A pair before it is answered.
struct Unanswered {
    a: usize,
    b: usize,
    metric: &'static str,
    contrast: Contrast,
    /// See [`RoundRatio::by_way`].
    by_way: bool,
}

fn ask(
    rounds: Vec<RoundRatio>,
    metric: &'static str,
    (a, b): (usize, usize),
    pool: usize,
) -> Option<Unanswered> {
    let by_way = rounds.first()?.by_way;
    Some(Unanswered { a, b, metric, contrast: RoundRatio::contrast(&rounds, pool), by_way })
}

/// The pairs of a group that have a ratio.
fn questions(
    run: &Run,
    (groups, group): (&Groups, &Group),
    ask: impl Fn((usize, usize)) -> Option<Unanswered>,
) -> Vec<Unanswered> {
    let mut asked = Vec::new();
    for (i, a) in group.members.iter().enumerate() {
        for b in &group.members[i + 1..] {
            if groups.rivals(run, *a, *b) {
                asked.extend(ask((*a, *b)));
            }
        }
    }
    asked
}

/// Gives each different thing a number, in the order of their coming.
struct Numbers<T>(HashMap<T, usize>);

impl<T: Hash + Eq> Numbers<T> {
    fn of(&mut self, thing: T) -> usize {
        let next = self.0.len();
        *self.0.entry(thing).or_insert(next)
    }
}

/// What a case has of its own in its group, and where it is but for its threads, as numbers.
struct PlaceNumbers {
    own: usize,
    without_threads: usize,
    threads: Option<u64>,
    /// What all of its group share, but for their threads.
    shared: usize,
    control: bool,
}

/// Which contrasts scatter alike (what the two cases differ in is the same), which differ in threads alone, and which are
/// with the control.
fn number(run: &Run, groups: &Groups, asked: &mut [Unanswered]) {
    let (mut owns, mut places) = (Numbers(HashMap::new()), Numbers(HashMap::new()));
    let mut scattering = Numbers(HashMap::new());
    let mut of_case: HashMap<usize, PlaceNumbers> = HashMap::new();
    for group in &groups.groups {
        let shared = scattering.of((&group.probe, group.shared.without(THREADS.id)));
        for case in group.members.iter().filter_map(|case| run.case(*case)) {
            let mut own = case.point.clone();
            own.retain(|id| group.shared.get(id).is_none());
            let numbers = PlaceNumbers {
                own: owns.of(own),
                without_threads: places.of((&case.probe, case.point.without(THREADS.id))),
                threads: case.point.int(THREADS),
                shared,
                control: probe::find(&case.probe).is_some_and(|probe| probe.is_control(&case.point)),
            };
            of_case.insert(case.index, numbers);
        }
    }
    let (mut pools, mut over) = (Numbers(HashMap::new()), Numbers(HashMap::new()));
    for Unanswered { a, b, contrast, by_way, .. } in asked {
        let Some((a, b)) = of_case.get(a).zip(of_case.get(b)) else { continue };
        contrast.pool = pools.of((a.own, b.own, *by_way));
        contrast.place = a.shared;
        contrast.weight = if a.control != b.control { AGAINST_CONTROL } else { 1.0 };
        if a.threads.is_some() && a.threads == b.threads {
            contrast.over = Some(over.of((a.without_threads, b.without_threads)));
        }
    }
}

/// The answers to one family of questions.
fn answered(run: &Run, asked: Vec<Unanswered>) -> (Vec<Comparison>, Vec<Option<Decision>>) {
    let (pairs, contrasts): (Vec<_>, Vec<Contrast>) =
        asked.into_iter().map(|q| ((q.a, q.b, q.metric), q.contrast)).unzip();
    let Decisions { points, over } =
        decide(&contrasts, &Looks::end(run.record.spec.confidence, run.record.sessions));
    let pair =
        |(((a, b, metric), decision), contrast): (((usize, usize, &'static str), Decision), &Contrast)| {
            Comparison { a, b, metric, decision, over: contrast.over }
        };
    (pairs.into_iter().zip(points).zip(&contrasts).map(pair).collect(), over)
}

/// Those that have an answer; the pairs' places follow.
fn over_threads(pairs: &mut [Comparison], over: Vec<Option<Decision>>) -> Vec<OverThreads> {
    let mut places = vec![None; over.len()];
    let mut all: Vec<OverThreads> = Vec::new();
    for (group, decision) in over.into_iter().enumerate() {
        places[group] = decision.map(|decision| {
            all.push(OverThreads { pairs: Vec::new(), decision });
            all.len() - 1
        });
    }
    for (i, pair) in pairs.iter_mut().enumerate() {
        pair.over = pair.over.and_then(|group| places[group]);
        if let Some(over) = pair.over {
            all[over].pairs.push(i);
        }
    }
    all
}

/// Pairs of cases that somebody else chose, as one family: every answer is corrected for all of them,
/// whatever their metrics. A pair without a ratio is left out.
pub fn claims(run: &Run, cells: &Cells, asked: &[(&'static str, usize, usize)]) -> Vec<Comparison> {
    let mut metrics = Numbers(HashMap::new());
    let pools: Vec<usize> = asked.iter().map(|(metric, _, _)| metrics.of(*metric)).collect();
    let asked: Vec<_> = asked.iter().copied().zip(pools).collect();
    let ratios = LogRatios::new(run, cells);
    let asked = in_parallel(&asked, |((metric, a, b), pool)| {
        ask(ratios.of_blocks(metric, (*a, *b)), metric, (*a, *b), *pool)
    });
    let mut pairs = answered(run, asked.into_iter().flatten().collect()).0;
    open_what_is_denied(cells, &mut pairs);
    pairs
}

/// Ratios are of rounds that both cases have, figures of all that each has. Where the machine changed so much in between
/// that the figures point the other way, nothing is decided: nobody would believe `34 us, slower than 36 us`. Nor is
/// anything by a single round, however little other pairs scatter.
fn open_what_is_denied(cells: &Cells, pairs: &mut [Comparison]) {
    for pair in pairs {
        let figure = |case: usize| Some(cells.estimate(case, pair.metric)?.value);
        let Some((a, b)) = figure(pair.a).zip(figure(pair.b)) else { continue };
        let is_denied = match pair.decision.verdict {
            Verdict::Less => a > b,
            Verdict::More => a < b,
            Verdict::Same | Verdict::Undecided => false,
        };
        if is_denied || pair.decision.rounds < 2 {
            pair.decision.verdict = Verdict::Undecided;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, aa_cells};
    use syscost_core::axis::Point;
    use syscost_core::stats::random::Random;

    const CPU: &str = "total_cpu_ns_per_byte";

    fn compare(run: &Run) -> Comparisons {
        Comparisons::of(run, &Cells::of(run), &Groups::of(run, "mechanism"), CPU).unwrap()
    }

    /// Nothing differs in these runs, so a run with any difference errs. Half of them have little noise, and few rounds.
    #[test]
    fn identical_mechanisms_are_rarely_told_apart() {
        for (rounds, noise) in [(4, 0.005), (8, 0.02), (12, 0.05)] {
            let run = Synthetic { rounds: 0, ..Default::default() }.run();
            let groups = Groups::of(&run, "mechanism");
            let mut random = Random::new(2024);
            let runs = 300;
            let erred = (0..runs)
                .filter(|_| {
                    let cells = aa_cells(&run, CPU, rounds, &mut random, |_| 0.0, noise);
                    let all = Comparisons::of(&run, &cells, &groups, CPU).unwrap();
                    assert_eq!((all.pairs.len(), all.over_threads.len()), (30, 15));
                    let over =
                        all.over_threads.iter().any(|o| better_side(&o.decision, Better::Lower).is_some());
                    over || all.pairs.iter().any(|c| c.better(Better::Lower).is_some())
                })
                .count();
            assert!(erred * 100 <= runs * 5, "{erred} of {runs} runs of {rounds} rounds");
        }
    }

    fn planted(p: &Point) -> f64 {
        let factor = if p.text_at("mechanism") == Some("sendmsg") { 0.8 } else { 1.0 };
        factor * (1000.0 + 0.2 * p.int_at("message_bytes").unwrap() as f64)
    }

    #[test]
    fn a_planted_difference_is_found_with_its_size_and_the_others_are_the_same() {
        let run = Synthetic { cost_ns: planted, rounds: 10, noise: 0.005, ..Default::default() }.run();
        let all = compare(&run);
        for pair in &all.pairs {
            let name = |case: usize| run.case(case).unwrap().point.text_at("mechanism").unwrap();
            if name(pair.a) == "sendmsg" || name(pair.b) == "sendmsg" {
                let winner = pair.better(Better::Lower).expect("20 % in 10 rounds of 0.5 % noise");
                assert_eq!(name(winner), "sendmsg");
                let loser = if winner == pair.a { pair.b } else { pair.a };
                assert!(all.beats(winner, loser) && !all.beats(loser, winner));
                assert!((pair.strength() - 0.223).abs() < 0.06);
                let seen = pair.seen_from(winner);
                assert!(seen.low < seen.value && seen.value < seen.high && seen.high < 1.0, "{seen:?}");
            } else {
                assert!(all.same(pair.a, pair.b), "{pair:?}");
            }
            assert!(all.over_threads[pair.over.unwrap()].pairs.len() == 2);
        }
    }

    /// Two rounds of 3 % noise decide nothing, and how long it would take is said at the run's own pace.
    #[test]
    fn what_is_open_says_how_long_it_would_take() {
        let small = |p: &Point| if p.text_at("mechanism") == Some("sendmsg") { 950.0 } else { 1000.0 };
        let mut run = Synthetic { cost_ns: small, rounds: 3, ..Default::default() }.run();
        run.record.elapsed_ns = 60_000_000_000;
        let all = compare(&run);
        let open: Vec<&Comparison> = all.pairs.iter().filter(|c| c.is_open()).collect();
        assert!(open.len() > 20, "{}", open.len());
        let minutes: Vec<f64> =
            open.iter().filter_map(|c| all.pace(&run).minutes_needed(&c.decision)).collect();
        assert!(minutes.len() > 20 && minutes.iter().all(|m| *m > 0.3), "{minutes:?}");
    }

    #[test]
    fn descriptive_metrics_are_never_ranked() {
        let run = Synthetic { cost_ns: planted, rounds: 10, ..Default::default() }.run();
        assert!(compare(&run).pairs.iter().all(|c| c.better(Better::Neither).is_none()));
        let groups = Groups::of(&run, "mechanism");
        assert!(Comparisons::of(&run, &Cells::of(&run), &groups, "no_such_metric").is_none());
    }

    /// Rounds that one case has alone, when the machine was half as fast.
    #[test]
    fn a_ratio_that_the_figures_deny_is_open() {
        let cheaper = |p: &Point| if p.text_at("mechanism") == Some("sendmsg") { 900.0 } else { 1000.0 };
        let mut run = Synthetic {
            mechanisms: vec!["send", "sendmsg"],
            sizes: vec![1024],
            threads: vec![1],
            cost_ns: cheaper,
            rounds: 16,
            noise: 0.005,
            ..Default::default()
        }
        .run();
        let of = |run: &Run| {
            let (cells, groups) = (Cells::of(run), Groups::of(run, "mechanism"));
            let found = Comparisons::of(run, &cells, &groups, "throughput").unwrap();
            found.between(0, 1).expect("rivals").clone()
        };
        assert_eq!(of(&run).decision.verdict, Verdict::Less);
        run.samples.iter_mut().filter(|s| s.case == 1 && s.round >= 6).for_each(|s| s.elapsed_ns *= 2.0);
        run.samples.retain(|s| s.case != 0 || s.round < 6);
        let denied = of(&run);
        assert!(denied.is_open() && denied.decision.high < 1.0, "{denied:?}");
    }
}
