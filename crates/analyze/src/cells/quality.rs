//! Cells to be careful with: too wide, bistable, with far rounds, drifting, or warming up.
//!
//! These figures are kept and shown; the report says what is wrong with them. Tests are made for
//! many cells at once, so the level of each is divided among them (down to what the simulated null
//! distributions resolve).

use crate::CellRef;
use crate::cells::{Cell, Cells};
use crate::problem::{Problem, ProblemKind};
use std::collections::HashMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Metric, Sample};
use syscost_core::stats::{
    Outlier, RatioEstimate, Steadiness, TwoModes, benjamini_hochberg, holm, median, outliers, paired_ratio,
    steadiness, two_modes,
};
use syscost_experiment::run::Run;

/// Smallest level that the simulated tests of [`syscost_core::stats`] resolve.
const FINEST_ALPHA: f64 = 0.002;

/// What is judged of a probe's cases: its id, and a metric.
pub type Judged = (&'static str, Metric);

/// The first sample of a round over the later ones, by case and metric, where rounds have several.
pub type WarmUps = HashMap<(usize, &'static str), RatioEstimate>;

/// Everything to say about the cells of one metric of a probe.
pub fn problems(run: &Run, cells: &Cells, warm_ups: &WarmUps, (probe, metric): &Judged) -> Vec<Problem> {
    // A twin is the same place again; its own troubles are no other's.
    let original =
        |cell: &&Cell| run.case(cell.case).is_some_and(|c| c.probe == *probe && c.twin_of.is_none());
    let of_metric: Vec<&Cell> = cells.of_metric(metric.id).filter(original).collect();
    let alpha = ((1.0 - run.record.spec.confidence) / of_metric.len().max(1) as f64).max(FINEST_ALPHA);
    let mut problems = Vec::new();
    for (cell, modes) in of_metric.iter().zip(two_levels(run, &of_metric)) {
        let about = SuspectCell { run, cell };
        let kinds = [about.wide(), modes.map(levels), about.outliers(), about.unsteady(alpha)];
        problems.extend(kinds.into_iter().flatten().map(|kind| about.problem(kind)));
    }
    problems.extend(warming(run, &of_metric, metric, warm_ups));
    problems
}

/// The levels of those cells that have two beyond chance: Holm's correction over all of them, whose p-value is then that.
/// Levels closer than the precision asked change no conclusion.
pub fn two_levels(run: &Run, cells: &[&Cell]) -> Vec<Option<TwoModes>> {
    let found: Vec<Option<TwoModes>> = cells.iter().map(|cell| two_modes(&cell.rounds.values())).collect();
    let adjusted = holm(&found.iter().map(|modes| modes.map_or(1.0, |m| m.p)).collect::<Vec<_>>());
    let alpha = 1.0 - run.record.spec.confidence;
    let beyond = |((modes, p), cell): ((Option<TwoModes>, f64), &&Cell)| {
        let modes = modes.filter(|_| p < alpha)?;
        let apart = (modes.high - modes.low) / cell.estimate.value.abs();
        (apart > run.record.spec.precision).then_some(TwoModes { p, ..modes })
    };
    found.into_iter().zip(adjusted).zip(cells).map(beyond).collect()
}

struct SuspectCell<'a> {
    run: &'a Run,
    cell: &'a Cell,
}

impl SuspectCell<'_> {
    fn problem(&self, kind: ProblemKind) -> Problem {
        let cells = vec![CellRef { case: self.cell.case, metric: self.cell.metric }];
        Problem { kind, case: self.cell.case, cells }
    }

    fn wide(&self) -> Option<ProblemKind> {
        let (spec, e) = (&self.run.record.spec, &self.cell.estimate);
        if !e.reaches(spec.confidence) {
            return Some(ProblemKind::FewRounds { rounds: e.n });
        }
        let (half_width, asked) = (e.relative_half_width(), spec.precision);
        (half_width > asked).then_some(ProblemKind::WideInterval { rounds: e.n, half_width, asked })
    }

    /// Labelled, and used like any other round: the median bears them.
    fn outliers(&self) -> Option<ProblemKind> {
        let values = self.cell.rounds.values();
        let far = outliers(&values).into_iter().zip(&values).filter(|(label, _)| *label == Outlier::Extreme);
        let values: Vec<f64> = far.map(|(_, value)| *value).collect();
        (!values.is_empty()).then_some(ProblemKind::Outliers { values, median: self.cell.estimate.value })
    }

    fn unsteady(&self, alpha: f64) -> Option<ProblemKind> {
        match steadiness(&self.cell.rounds.values(), alpha) {
            Steadiness::TooFew | Steadiness::Steady => None,
            Steadiness::Drift { change } => Some(ProblemKind::Drift { change }),
            Steadiness::Shift { at, change } => Some(ProblemKind::Shift { after_rounds: at, change }),
            Steadiness::NoSteadyState => Some(ProblemKind::NoSteadyState),
        }
    }
}

fn levels(modes: TwoModes) -> ProblemKind {
    ProblemKind::TwoLevels { low: modes.low, high: modes.high, low_share: modes.low_share, p: modes.p }
}

/// The first sample of a case's rounds over the later ones; `None` where no round has several.
pub fn warm_up<'s>(
    samples: impl Iterator<Item = &'s Sample>,
    metric: &Metric,
    point: &Point,
    confidence: f64,
) -> Option<RatioEstimate> {
    let value = |s: &Sample| Some((s.round, s.index, (metric.of)(s, point)?));
    let mut values: Vec<(u32, u32, f64)> = samples.filter(|s| s.usable()).filter_map(value).collect();
    let (first, later) = first_and_later(&mut values);
    paired_ratio(&first, &later, confidence)
}

/// Cases whose first sample of a round differs from the later ones: their warm-up is too short.
fn warming(run: &Run, cells: &[&Cell], metric: &Metric, warm_ups: &WarmUps) -> Vec<Problem> {
    let spec = &run.record.spec;
    let ratio = |cell: &&&Cell| warm_ups.get(&(cell.case, metric.id)).copied();
    let ratios: Vec<(&Cell, RatioEstimate)> =
        cells.iter().filter_map(|cell| Some((*cell, ratio(&cell)?))).collect();
    let p: Vec<f64> = ratios.iter().map(|(_, r)| r.p).collect();
    let mut problems = Vec::new();
    for ((cell, ratio), adjusted) in ratios.iter().zip(benjamini_hochberg(&p)) {
        let e = &ratio.estimate;
        if adjusted < 1.0 - spec.confidence && (e.low > 1.0 + spec.precision || e.high < 1.0 - spec.precision)
        {
            let kind = ProblemKind::WarmUp { first_over_later: *e };
            problems.push(SuspectCell { run, cell }.problem(kind));
        }
    }
    problems
}

type PerRound = Vec<(u32, f64)>;

/// Per round with at least two samples: the first value, and the median of the others.
fn first_and_later(samples: &mut [(u32, u32, f64)]) -> (PerRound, PerRound) {
    samples.sort_by_key(|(round, index, _)| (*round, *index));
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for round in samples.chunk_by(|a, b| a.0 == b.0) {
        let rest: Vec<f64> = round[1..].iter().map(|(_, _, v)| *v).collect();
        if let Some(rest) = median(&rest).filter(|_| round[0].1 == 0) {
            first.push((round[0].0, round[0].2));
            later.push((round[0].0, rest));
        }
    }
    (first, later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::metric;
    use crate::cells::seen::Seen;
    use crate::synthetic::Synthetic;

    fn found(run: &Run) -> Vec<(ProblemKind, usize)> {
        let judged = ("transfer", metric(run, "throughput").unwrap());
        let seen = Seen::of(run, &[judged]);
        problems(run, &seen.cells, &seen.warm_ups, &judged).into_iter().map(|p| (p.kind, p.case)).collect()
    }

    fn quiet(rounds: u32) -> Synthetic {
        Synthetic { rounds, noise: 0.005, twin_every: 0, sizes: vec![64, 1024], ..Default::default() }
    }

    /// The synthetic machine's own round-to-round noise is 5 %; take it out to plant one problem.
    fn level(run: &mut Run) {
        for s in &mut run.samples {
            let wobble = 1.0 + 0.001 * f64::from((s.round * 7 + s.case as u32 * 3 + s.index) % 5);
            let scale = 1e6 * wobble / s.ops;
            (s.ops, s.bytes) = (s.ops * scale, s.bytes * scale);
        }
    }

    fn scale(run: &mut Run, case: usize, factor: impl Fn(&syscost_core::sample::Sample) -> f64) {
        for s in run.samples.iter_mut().filter(|s| s.case == case) {
            let factor = factor(s);
            (s.ops, s.bytes) = (s.ops * factor, s.bytes * factor);
        }
    }

    #[test]
    fn steady_cells_are_left_alone_and_planted_problems_are_named() {
        let mut run = quiet(20).run();
        level(&mut run);
        assert_eq!(found(&run), []);

        let mut two = run.clone();
        scale(&mut two, 3, |s| if s.round % 3 == 0 { 0.5 } else { 1.0 });
        let of_case = |run: &Run, case: usize, kind: fn(&ProblemKind) -> bool| {
            assert!(found(run).iter().any(|(found, at)| *at == case && kind(found)), "{:?}", found(run));
        };
        of_case(
            &two,
            3,
            |kind| matches!(kind, ProblemKind::TwoLevels { low, high, .. } if (0.49..0.51).contains(&(low / high))),
        );

        let mut drift = run.clone();
        scale(&mut drift, 2, |s| 1.0 + 0.02 * f64::from(s.round));
        of_case(&drift, 2, |kind| matches!(kind, ProblemKind::Drift { change } if *change > 0.1));

        let mut far = run.clone();
        scale(&mut far, 4, |s| if s.round == 11 { 0.1 } else { 1.0 });
        let [(ProblemKind::Outliers { values, median }, 4)] = &found(&far)[..] else {
            panic!("{:?}", found(&far))
        };
        assert!(values.len() == 1 && (0.09..0.11).contains(&(values[0] / median)));

        let mut warm = run.clone();
        scale(&mut warm, 5, |s| if s.index == 0 { 0.8 } else { 1.0 });
        let [(ProblemKind::WarmUp { first_over_later }, 5)] = &found(&warm)[..] else {
            panic!("{:?}", found(&warm))
        };
        assert!((first_over_later.value - 0.8).abs() < 0.01);
    }

    #[test]
    fn few_rounds_and_wide_intervals_say_so() {
        let mut run = quiet(2).run();
        level(&mut run);
        let few = |(kind, _): &(ProblemKind, usize)| matches!(kind, ProblemKind::FewRounds { rounds: 2, .. });
        assert!(found(&run).iter().all(few) && found(&run).len() == 12);
        let mut run = quiet(7).run();
        level(&mut run);
        scale(&mut run, 1, |s| 1.0 + 0.05 * f64::from(s.round % 4));
        let [(ProblemKind::WideInterval { rounds: 7, half_width, asked }, 1)] = found(&run)[..] else {
            panic!("{:?}", found(&run))
        };
        assert!(half_width > asked);
    }
}
