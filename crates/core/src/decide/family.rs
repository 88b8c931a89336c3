//! The answers to one family of questions: Holm's correction, once for differences and once for equivalences.
//!
//! After K of m differences are found, the others are tested among m - K: Holm, Scandinavian Journal of Statistics 6, 1979, any dependence. Equivalences are
//! counted for themselves: a pair that differs is no candidate, but which pairs are candidates is not known beforehand.
//! All rows of a kind have the interval of the last step, so that interval and verdict always agree.

use super::estimate::RoundsEvidence;
use super::{Decision, Looks, Verdict};
use crate::stats::{holm_weighted, student};
use std::collections::HashMap;

/// `families` share the error of the look; ratios within `margin` are the same.
pub fn answers(evidence: &[RoundsEvidence], looks: &Looks, families: f64, margin: f64) -> Vec<Decision> {
    let margin = margin.ln_1p();
    let error = looks.now / families;
    let weights: Vec<f64> = evidence.iter().map(|e| e.weight).collect();
    let step = |p: Vec<f64>, error: f64| HolmStep::last(&p, &weights, error);
    let differ = step(evidence.iter().map(RoundsEvidence::p_differs).collect(), error);
    // Twice this is outside of the interval, which is never narrower than the confidence that was asked for.
    let least = error.min(looks.whole / 2.0);
    let same = step(evidence.iter().map(|e| e.p_outside(margin)).collect(), least);
    let mut critical = Critical::default();
    evidence
        .iter()
        .enumerate()
        .map(|(i, e)| {
            let differs = differ.error_of(e.weight);
            // Two one-sided tests: each may err by the whole, so the interval leaves out twice that.
            let equals = 2.0 * same.error_of(e.weight);
            let (step, outside) = if same.rejects(i) { (&same, equals) } else { (&differ, differs) };
            let half = critical.of(outside, e.freedom) * e.error;
            let verdict = match () {
                () if same.rejects(i) => Verdict::Same,
                () if !differ.rejects(i) => Verdict::Undecided,
                () if e.mean < 0.0 => Verdict::Less,
                () => Verdict::More,
            };
            let rounds_needed = (verdict == Verdict::Undecided)
                .then(|| [differs, equals].map(|outside| critical.of(outside, e.freedom)))
                .and_then(|[differs, same]| e.rounds_needed(differs, same, margin));
            Decision {
                ratio: e.mean.exp(),
                low: (e.mean - half).exp(),
                high: (e.mean + half).exp(),
                level: if e.error.is_finite() { 1.0 - outside } else { 0.0 },
                rounds: e.rounds,
                p_adjusted: (looks.whole / step.family * step.adjusted[i]).min(1.0),
                verdict,
                rounds_needed,
            }
        })
        .collect()
}

/// Where Holm's procedure ends.
struct HolmStep {
    adjusted: Vec<f64>,
    family: f64,
    /// What a hypothesis of weight 1 that is left may err by.
    error: f64,
}

impl HolmStep {
    fn last(p: &[f64], weights: &[f64], family: f64) -> HolmStep {
        let adjusted = holm_weighted(p, weights);
        let of = |rejected: bool| {
            let those = adjusted.iter().zip(weights).filter(move |(p, _)| (**p <= family) == rejected);
            those.map(|(_, weight)| *weight)
        };
        // Where all are rejected, what the last one was tested at.
        let left: f64 = of(false).sum();
        let least = of(true).fold(f64::INFINITY, f64::min);
        HolmStep { error: family / if left > 0.0 { left } else { least }, adjusted, family }
    }

    fn error_of(&self, weight: f64) -> f64 {
        (self.error * weight).min(self.family)
    }

    fn rejects(&self, i: usize) -> bool {
        self.adjusted[i] <= self.family
    }
}

/// Quantiles of t: a family has few different degrees of freedom.
#[derive(Default)]
struct Critical(HashMap<(u64, u64), f64>);

impl Critical {
    fn of(&mut self, p: f64, freedom: f64) -> f64 {
        let key = (p.to_bits(), freedom.to_bits());
        *self.0.entry(key).or_insert_with(|| student::critical(p, freedom))
    }
}
