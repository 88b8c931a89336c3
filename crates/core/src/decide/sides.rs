//! Two sides that were measured apart: runs of one build and of another, boots of one kernel and of another.
//!
//! The replicates of a side are independent of those of the other. Replicates that share a stratum (a boot on which both sides ran)
//! are compared within it. The scatter is the question's own: pooled over questions, or moderated, simulated comparisons
//! erred in up to 40 % and 9 % where questions scatter differently (`tests/deciding/sides.rs` has the rule that is used).

use super::estimate::RoundsEvidence;
use super::{Decision, Looks, family};

/// Fewer replicates of a side say nothing of what it scatters by.
pub const FEWEST: usize = 2;

/// Degrees of freedom of an error that is known.
const KNOWN: f64 = 1e6;

/// The replicates of both sides in one stratum, as logarithms of costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stratum {
    pub base: Vec<f64>,
    pub candidate: Vec<f64>,
    /// What the logarithm of the ratio is uncertain by, whatever replicates agree on: counts of one boot agree to the
    /// instruction, and those of two builds that cost the same do not.
    pub least_error: f64,
}

/// One question: candidate / base, over its strata.
pub type SideContrast = Vec<Stratum>;

impl Stratum {
    /// The same question, of a base that costs so much more (a logarithm): `More` says that the budget is exceeded.
    pub fn with_budget(mut self, budget: f64) -> Stratum {
        self.base.iter_mut().for_each(|value| *value += budget);
        self
    }
}

/// Answers a family of questions of a comparison, which is looked at once. `families` share the error; ratios within
/// `margin` are the same.
pub fn decide_sides(
    contrasts: &[SideContrast],
    confidence: f64,
    families: f64,
    margin: f64,
) -> Vec<Decision> {
    let known: Vec<RoundsEvidence> = contrasts.iter().map(|strata| evidence(strata)).collect();
    family::answers(&known, &Looks { whole: 1.0 - confidence, now: 1.0 - confidence }, families, margin)
}

fn evidence(strata: &[Stratum]) -> RoundsEvidence {
    let both: Vec<&Stratum> =
        strata.iter().filter(|s| !s.base.is_empty() && !s.candidate.is_empty()).collect();
    let number = |of: fn(&Stratum) -> &Vec<f64>| both.iter().map(|s| of(s).len()).sum::<usize>();
    let fewest = number(|s| &s.base).min(number(|s| &s.candidate));
    let unknown = RoundsEvidence {
        mean: 0.0,
        error: f64::INFINITY,
        freedom: 1.0,
        rounds: fewest as u32,
        by_rounds: 1.0,
        weight: 1.0,
    };
    if fewest == 0 {
        return unknown;
    }
    let weight = |s: &Stratum| {
        let (n, m) = (s.base.len() as f64, s.candidate.len() as f64);
        n * m / (n + m)
    };
    let all: f64 = both.iter().map(|s| weight(s)).sum();
    let difference = |s: &Stratum| mean(&s.candidate) - mean(&s.base);
    let middle = both.iter().map(|s| weight(s) * difference(s)).sum::<f64>() / all;
    // Strata may differ in their difference too: an additive model, whose residuals hold what they disagree by.
    let within = both.iter().map(|s| squares(&s.base) + squares(&s.candidate)).sum::<f64>();
    let between = both.iter().map(|s| weight(s) * (difference(s) - middle).powi(2)).sum::<f64>();
    let replicates = both.iter().map(|s| s.base.len() + s.candidate.len()).sum::<usize>();
    let freedom = replicates.saturating_sub(both.len() + 1) as f64;
    if fewest < FEWEST || freedom < 1.0 {
        return RoundsEvidence { mean: middle, ..unknown };
    }
    let error = ((within + between) / freedom / all).sqrt();
    let least = both.iter().map(|s| s.least_error).fold(0.0, f64::max);
    // A known error has no degrees of freedom to lose.
    let (error, freedom) = if error < least { (least, KNOWN) } else { (error, freedom) };
    RoundsEvidence { mean: middle, error, freedom, ..unknown }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squares(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{MARGIN, Verdict};

    fn one(strata: &[(&[f64], &[f64])]) -> Decision {
        let of = |(base, candidate): &(&[f64], &[f64])| Stratum {
            base: base.to_vec(),
            candidate: candidate.to_vec(),
            ..Stratum::default()
        };
        decide_sides(&[strata.iter().map(of).collect()], 0.95, 1.0, MARGIN)[0]
    }

    #[test]
    fn the_interval_is_that_of_the_two_sample_t_test() {
        // R: t.test(c(.1, .14, .12), c(.01, .03, .02), var.equal = TRUE)
        let answer = one(&[(&[0.01, 0.03, 0.02], &[0.1, 0.14, 0.12])]);
        assert!(
            (answer.low.ln() - 0.064158).abs() < 1e-5 && (answer.high.ln() - 0.135842).abs() < 1e-5,
            "{answer:?}"
        );
        assert_eq!(answer.verdict, Verdict::More);
        assert_eq!(one(&[(&[0.1, 0.14, 0.12], &[0.01, 0.03, 0.02])]).verdict, Verdict::Less);
    }

    #[test]
    fn one_replicate_of_a_side_decides_nothing() {
        let answer = one(&[(&[0.0, 0.001, 0.002, 0.001], &[3.0])]);
        assert_eq!((answer.verdict, answer.rounds), (Verdict::Undecided, 1));
        assert_eq!(one(&[]).verdict, Verdict::Undecided);
    }

    #[test]
    fn what_a_stratum_shares_cancels() {
        let boots = [(&[0.0][..], &[0.1][..]), (&[0.5], &[0.605]), (&[-0.4], &[-0.305]), (&[0.2], &[0.3])];
        assert_eq!(one(&boots).verdict, Verdict::More);
        let (base, candidate): (Vec<f64>, Vec<f64>) = boots.iter().map(|(b, c)| (b[0], c[0])).unzip();
        assert_eq!(one(&[(&base, &candidate)]).verdict, Verdict::Undecided, "without strata");
    }

    #[test]
    fn the_same_is_shown_within_the_margin() {
        assert_eq!(one(&[(&[0.0, 0.001, 0.002], &[0.001, 0.002, 0.001])]).verdict, Verdict::Same);
    }

    #[test]
    fn a_budget_is_kept_or_exceeded_by_the_whole_interval() {
        let at = |by: f64| {
            let candidate = vec![by, by + 0.004, by - 0.004];
            let stratum = Stratum { base: vec![0.0, 0.004, -0.004], candidate, ..Stratum::default() };
            let answer = decide_sides(&[vec![stratum.with_budget(1.05f64.ln())]], 0.95, 1.0, MARGIN)[0];
            (answer.high < 1.0, answer.low > 1.0)
        };
        assert_eq!([at(0.0), at(0.049), at(0.1)], [(true, false), (false, false), (false, true)]);
    }

    #[test]
    fn counts_that_agree_are_not_certain_beyond_what_builds_differ_by() {
        let counts = |base: f64, candidate: f64| {
            let of = |value: f64| vec![value.ln(); 3];
            let stratum = Stratum { base: of(base), candidate: of(candidate), least_error: 2e-4 };
            decide_sides(&[vec![stratum]], 0.95, 1.0, 0.005)[0]
        };
        assert_eq!(counts(25_000.0, 25_010.0).verdict, Verdict::Same, "0.04 %");
        assert_eq!(counts(25_000.0, 25_250.0).verdict, Verdict::More, "1 %");
        assert_eq!(counts(25_250.0, 25_000.0).verdict, Verdict::Less);
    }
}
