//! Cells to be careful with: too wide, bistable, with far rounds, drifting, or warming up.
//!
//! These figures are kept and shown; the report says what is wrong with them. Tests are made for
//! many cells at once, so the level of each is divided among them (down to what the simulated null
//! distributions resolve).

use crate::cells::{Cell, Cells};
use crate::words::{self, Words};
use crate::{CellRef, Problem, Statement};
use std::collections::HashMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Metric, Sample};
use syscost_core::stats::{
    Outlier, RatioEstimate, Steadiness, TwoModes, benjamini_hochberg, holm, median, outliers, paired_ratio,
    steadiness, two_modes,
};
use syscost_core::units::{confidence, significant};
use syscost_experiment::run::Run;

/// Smallest level that the simulated tests of [`syscost_core::stats`] resolve.
const FINEST_ALPHA: f64 = 0.002;

/// What is judged of a probe's cases: its id, and a metric.
pub type Judged = (&'static str, Metric);

/// The first sample of a round over the later ones, by case and metric, where rounds have several.
pub type WarmUps = HashMap<(usize, &'static str), RatioEstimate>;

/// Everything to say about the cells of one metric of a probe.
pub fn problems(run: &Run, cells: &Cells, warm_ups: &WarmUps, (probe, metric): &Judged) -> Vec<Problem> {
    let words = Words::of(run);
    // A twin is the same place again; its own troubles are no other's.
    let original =
        |cell: &&Cell| run.case(cell.case).is_some_and(|c| c.probe == *probe && c.twin_of.is_none());
    let of_metric: Vec<&Cell> = cells.of_metric(metric.id).filter(original).collect();
    let alpha = ((1.0 - run.record.spec.confidence) / of_metric.len().max(1) as f64).max(FINEST_ALPHA);
    let mut problems = Vec::new();
    for (cell, modes) in of_metric.iter().zip(two_levels(run, &of_metric)) {
        let about = SuspectCell { run, words: &words, metric, cell };
        problems.extend(about.wide());
        problems.extend(modes.map(|modes| about.two_modes(&modes)));
        problems.extend(about.outliers());
        problems.extend(about.unsteady(alpha));
    }
    problems.extend(warming(run, &words, &of_metric, metric, warm_ups));
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
    words: &'a Words,
    metric: &'a Metric,
    cell: &'a Cell,
}

impl SuspectCell<'_> {
    fn problem(&self, id: &'static str, text: String) -> Problem {
        let cells = vec![CellRef { case: self.cell.case, metric: self.cell.metric }];
        Problem { id, case: self.cell.case, statement: Statement { text, cells } }
    }

    fn subject(&self) -> String {
        let case = self.run.case(self.cell.case);
        case.map_or(String::new(), |case| self.words.subject(case, self.metric.title))
    }

    fn wide(&self) -> Option<Problem> {
        let (spec, e) = (&self.run.record.spec, &self.cell.estimate);
        let rounds = words::count(e.n as usize, "round");
        if e.level == 0.0 {
            let text = format!("{} has {rounds}: too few for an interval.", self.subject());
            return Some(self.problem("few_rounds", text));
        }
        if !e.reaches(spec.confidence) {
            let text = format!(
                "{} has {rounds}: too few for a {} interval; what is shown are the extremes, which have {}.",
                self.subject(),
                confidence(spec.confidence),
                confidence(e.level)
            );
            return Some(self.problem("few_rounds", text));
        }
        let half = e.relative_half_width();
        (half > spec.precision).then(|| {
            let text = format!(
                "{} is known within {} after {rounds}; {} was asked.",
                self.subject(),
                words::percent(half),
                words::percent(spec.precision)
            );
            self.problem("wide_interval", text)
        })
    }

    fn values(&self) -> Vec<f64> {
        self.cell.rounds.values()
    }

    fn two_modes(&self, modes: &TwoModes) -> Problem {
        let text = format!(
            "{} has two levels: {} in {} of the rounds, {} in the other {} (p = {}, corrected); its median describes neither.",
            self.subject(),
            words::figure(modes.low, self.metric.unit),
            words::percent(modes.low_share),
            words::figure(modes.high, self.metric.unit),
            words::percent(1.0 - modes.low_share),
            significant(modes.p)
        );
        self.problem("two_levels", text)
    }

    /// Labelled, and used like any other round: the median bears them.
    fn outliers(&self) -> Option<Problem> {
        let values = self.values();
        let far = outliers(&values).into_iter().zip(&values).filter(|(label, _)| *label == Outlier::Extreme);
        let shown: Vec<String> = far.map(|(_, v)| words::figure(*v, self.metric.unit)).collect();
        (!shown.is_empty()).then(|| {
            let text = format!(
                "{} has {} far from the others ({}); kept.",
                self.subject(),
                words::count(shown.len(), "round"),
                words::and(&shown)
            );
            self.problem("outliers", text)
        })
    }

    fn unsteady(&self, alpha: f64) -> Option<Problem> {
        let (id, what) = match steadiness(&self.values(), alpha) {
            Steadiness::TooFew | Steadiness::Steady => return None,
            Steadiness::Drift { change } => (
                "drift",
                format!("drifts over the rounds: the end is {} the start", words::difference(1.0 + change)),
            ),
            Steadiness::Shift { at, change } => (
                "shift",
                format!(
                    "changes level after {}: {} before",
                    words::count(at, "round"),
                    words::difference(1.0 + change)
                ),
            ),
            Steadiness::NoSteadyState => ("no_steady_state", "has no steady state over the rounds".into()),
        };
        Some(self.problem(id, format!("{} {what}.", self.subject())))
    }
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
fn warming(run: &Run, words: &Words, cells: &[&Cell], metric: &Metric, warm_ups: &WarmUps) -> Vec<Problem> {
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
            let about = SuspectCell { run, words, metric, cell };
            let text = format!(
                "{} warms up inside its rounds: the first sample is {} the later ones ({}).",
                about.subject(),
                words::difference(e.value),
                words.interval(e)
            );
            problems.push(about.problem("warm_up", text));
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

    fn ids(run: &Run) -> Vec<(&'static str, usize)> {
        let judged = ("transfer", metric(run, "throughput").unwrap());
        let seen = Seen::of(run, &[judged], None);
        problems(run, &seen.cells, &seen.warm_ups, &judged).iter().map(|p| (p.id, p.case)).collect()
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
        assert_eq!(ids(&run), []);

        let mut two = run.clone();
        scale(&mut two, 3, |s| if s.round % 3 == 0 { 0.5 } else { 1.0 });
        assert!(ids(&two).contains(&("two_levels", 3)), "{:?}", ids(&two));

        let mut drift = run.clone();
        scale(&mut drift, 2, |s| 1.0 + 0.02 * f64::from(s.round));
        assert!(ids(&drift).contains(&("drift", 2)), "{:?}", ids(&drift));

        let mut far = run.clone();
        scale(&mut far, 4, |s| if s.round == 11 { 0.1 } else { 1.0 });
        assert_eq!(ids(&far), [("outliers", 4)]);

        let mut warm = run.clone();
        scale(&mut warm, 5, |s| if s.index == 0 { 0.8 } else { 1.0 });
        assert_eq!(ids(&warm), [("warm_up", 5)]);
    }

    #[test]
    fn few_rounds_and_wide_intervals_say_so() {
        let mut run = quiet(4).run();
        level(&mut run);
        assert!(ids(&run).iter().all(|(id, _)| *id == "few_rounds") && ids(&run).len() == 12);
        let mut run = quiet(7).run();
        level(&mut run);
        scale(&mut run, 1, |s| 1.0 + 0.05 * f64::from(s.round % 4));
        assert_eq!(ids(&run), [("wide_interval", 1)]);
    }
}
