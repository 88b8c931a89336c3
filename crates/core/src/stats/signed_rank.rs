//! Wilcoxon's signed-rank test: do paired differences lie around zero?
//!
//! Exact up to 25 differences by counting all sign patterns (ties included), a normal
//! approximation with tie and continuity correction beyond. Needs differences that are symmetric
//! about their centre, which holds for log ratios of two like-distributed costs. Zero differences
//! are left out, as Wilcoxon did. Sources: Wilcoxon, Biometrics Bulletin 1, 1945; Conover,
//! section 5.7; erfc: Press et al., "Numerical recipes", section 6.2.

use super::order::ranks;
use std::sync::OnceLock;

/// Up to here every sign pattern is counted.
const EXACT: usize = 25;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Differences that are not zero.
    pub n: usize,
    /// Sum of the ranks of the positive differences.
    pub positive_ranks: f64,
    /// Two-sided.
    pub p: f64,
}

pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = moved.iter().map(|d| d.abs()).collect();
    let ranks = ranks(&sizes);
    let positive_ranks = ranks.iter().zip(&moved).filter(|(_, d)| **d > 0.0).map(|(r, _)| r).sum();
    let p = match moved.len() {
        0 => 1.0,
        1..=EXACT => exact_p(&ranks, positive_ranks),
        _ => normal_p(&ranks, positive_ranks),
    };
    SignedRank { n: moved.len(), positive_ranks, p }
}

/// How many sign patterns of 1, 2, .. n have at most each sum of positive ranks. Without ties every sample of a
/// size has the same: a large run asks a million times.
static WITHOUT_TIES: [OnceLock<Vec<f64>>; EXACT + 1] = [const { OnceLock::new() }; EXACT + 1];

/// Share of the 2^n sign patterns at least as far out.
fn exact_p(ranks: &[f64], positive: f64) -> f64 {
    let n = ranks.len();
    // A tie gives two the same rank; whole ranks alone do not exclude that.
    let tied = ranks.iter().enumerate().any(|(i, r)| r.fract() != 0.0 || ranks[..i].contains(r));
    // Ranks are doubled to be whole with ties.
    let scale = if tied { 2.0 } else { 1.0 };
    let seen = (scale * positive).round() as usize;
    let total = (scale * ranks.iter().sum::<f64>()).round() as usize;
    // The distribution is symmetric about total / 2, so one tail is enough.
    let near = seen.min(total - seen);
    let tail = if tied {
        at_most(ranks.iter().map(|r| (scale * r).round() as usize))[near]
    } else {
        WITHOUT_TIES[n].get_or_init(|| at_most(1..=n))[near]
    };
    (2.0 * tail * 0.5f64.powi(n as i32)).min(1.0)
}

/// Of the sign patterns of these ranks, how many have at most each sum of positive ones: whole numbers below
/// 2^53, so that no order of adding matters.
fn at_most(ranks: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut patterns = vec![1.0];
    for rank in ranks {
        let reach = patterns.len() - 1 + rank;
        patterns.resize(reach + 1, 0.0);
        for sum in (rank..=reach).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    let mut below = 0.0;
    for count in &mut patterns {
        below += *count;
        *count = below;
    }
    patterns
}

fn normal_p(ranks: &[f64], positive: f64) -> f64 {
    let mean = ranks.iter().sum::<f64>() / 2.0;
    // With midranks the sum of squares is already smaller: this is the tie correction.
    let deviation = (ranks.iter().map(|r| r * r).sum::<f64>() / 4.0).sqrt();
    let z = ((positive - mean).abs() - 0.5).max(0.0) / deviation;
    two_sided_normal(z)
}

/// P(|Z| >= z) of a standard normal Z, with a relative error below 1.2e-7.
pub(super) fn two_sided_normal(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let terms = [
        -1.26551223,
        1.00002368,
        0.37409196,
        0.09678418,
        -0.18628806,
        0.27886807,
        -1.13520398,
        1.48851587,
        -0.82215223,
        0.17087277,
    ];
    let series = terms.iter().rev().fold(0.0, |sum, term| sum * t + term);
    (t * (-x * x + series).exp()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn known_p_values() {
        // R: wilcox.test(c(1.1, 2.2, 3.3, 4.4, 5.5, 6.6))$p.value is 0.03125.
        assert_eq!(signed_rank(&[1.1, 2.2, 3.3, 4.4, 5.5, 6.6]).p, 0.03125);
        // The worked table: W = 3 of n = 8 has a two-sided p of 10/256.
        let e = signed_rank(&[-3.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!((e.positive_ranks, e.p), (33.0, 10.0 / 256.0));
        assert_eq!(signed_rank(&[0.0, 0.0]).p, 1.0);
        assert_eq!(signed_rank(&[1.0, -1.0]).p, 1.0);
    }

    #[test]
    fn the_table_without_ties_is_that_of_doubled_ranks() {
        for n in 0..=EXACT {
            let (plain, doubled) = (at_most(1..=n), at_most((1..=n).map(|rank| 2 * rank)));
            assert!(plain.iter().enumerate().all(|(sum, count)| doubled[2 * sum] == *count), "{n}");
            assert_eq!(plain.last(), Some(&2f64.powi(n as i32)));
        }
        // Ranks 1.5, 1.5 and 3, of which 4.5 are positive: 3 of the 8 patterns lie as far out on each side.
        assert_eq!(signed_rank(&[1.0, -1.0, 2.0]).p, 0.75);
    }

    #[test]
    fn normal_tail() {
        assert!((two_sided_normal(1.959964) - 0.05).abs() < 1e-7);
        assert!((two_sided_normal(6.0) / 1.973175e-9 - 1.0).abs() < 1e-5);
        assert!((two_sided_normal(0.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_approximation_continues_the_exact_test() {
        let mut random = Random::new(4);
        for _ in 0..50 {
            let differences: Vec<f64> = (0..25).map(|_| random.unit() - 0.4).collect();
            let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
            let ranks = ranks(&sizes);
            let exact = signed_rank(&differences);
            let approximate = normal_p(&ranks, exact.positive_ranks);
            assert!((exact.p - approximate).abs() < 0.01, "{} and {approximate}", exact.p);
        }
    }

    #[test]
    fn false_alarms_stay_below_the_level() {
        let mut random = Random::new(9);
        for n in [6, 10, 20, 40] {
            let runs = 1_500;
            let alarms = (0..runs)
                .filter(|_| {
                    // Steps of a tenth: many ties and some zeros.
                    let d: Vec<f64> = (0..n).map(|_| (20.0 * (random.unit() - 0.5)).round() / 10.0).collect();
                    signed_rank(&d).p < 0.05
                })
                .count();
            assert!((alarms as f64) < 0.065 * f64::from(runs), "n={n}: {alarms} of {runs}");
        }
    }
}
