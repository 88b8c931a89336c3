//! The rank-sum test of Mann, Whitney and Wilcoxon, one-sided: are these values larger than those?
//!
//! A normal approximation with correction for ties and continuity: fair from three values against five. Source: Mann
//! and Whitney, Annals of Mathematical Statistics 18, 1947; Conover, section 5.1.

use super::order::ranks;
use super::signed_rank::two_sided_normal;

/// The chance of ranks as high as those of `larger`, where both are alike; 1 where either is empty.
pub fn rank_sum_p(larger: &[f64], smaller: &[f64]) -> f64 {
    let (n, m) = (larger.len() as f64, smaller.len() as f64);
    let all: Vec<f64> = larger.iter().chain(smaller).copied().collect();
    let ranks = ranks(&all);
    let sum: f64 = ranks[..larger.len()].iter().sum();
    let total = n + m;
    let mean = n * (total + 1.0) / 2.0;
    // Equal values share a mean rank, which lowers the variance of all ranks below that of 1 to N.
    let spread: f64 = ranks.iter().map(|r| (r - (total + 1.0) / 2.0).powi(2)).sum();
    let variance = n * m * spread / (total * (total - 1.0));
    if variance.is_nan() || variance <= 0.0 {
        return 1.0;
    }
    let z = (sum - mean - 0.5) / variance.sqrt();
    let tail = two_sided_normal(z) / 2.0;
    if z > 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn it_is_near_the_exact_chance() {
        // All of three above all of eight: 1 in C(11, 3) = 165.
        let p = rank_sum_p(&[9.0, 10.0, 11.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert!((p - 1.0 / 165.0).abs() < 0.004, "{p}");
        let other = rank_sum_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0, 8.0]);
        assert!(other > 0.95, "{other}");
        assert_eq!((rank_sum_p(&[], &[1.0]), rank_sum_p(&[2.0, 2.0], &[2.0, 2.0])), (1.0, 1.0));
    }

    #[test]
    fn where_nothing_differs_few_are_small() {
        let mut random = Random::new(5);
        let tries = 4_000;
        // Few distinct values, as counters have.
        let mut draw = |n: usize| (0..n).map(|_| (random.unit() * 6.0).floor()).collect::<Vec<_>>();
        let small = (0..tries).filter(|_| rank_sum_p(&draw(4), &draw(8)) < 0.05).count();
        assert!(small * 100 < tries * 6, "{small} of {tries}");
    }
}
