//! The ratio of two costs, paired by round.
//!
//! A round visits every case once, so what disturbs a round disturbs both sides of a ratio: pairing
//! removes it. Everything is done on log ratios, which makes "a over b" and "b over a" the same
//! statement: the estimate is the exponential of the median log ratio, its interval that of
//! [`super::log_interval`]. Source: Kalibera and Jones, "Rigorous benchmarking in reasonable
//! time"; Hoefler and Belli, SC15.

use super::signed_rank::signed_rank;
use super::{Estimate, log_interval};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioEstimate {
    /// a / b, with its interval; `n` counts the rounds that have both.
    pub estimate: Estimate,
    /// Wilcoxon's signed-rank test of "the ratio is 1", two-sided, not adjusted for other tests.
    pub p: f64,
    /// Rounds that only one of the two has: not used.
    pub unpaired: u32,
}

/// The ratio a / b over the rounds that both have; both are (round, value) in ascending rounds.
///
/// `None` without a common round, and where the ratio of a common round does not exist because a
/// value is negative or exactly one of the two is zero: leaving such rounds out would favour a side.
pub fn paired_ratio(a: &[(u32, f64)], b: &[(u32, f64)], level: f64) -> Option<RatioEstimate> {
    let (rounds, unpaired) = paired_logs(a, b)?;
    let logs: Vec<f64> = rounds.iter().map(|(_, log)| *log).collect();
    let log = log_interval(&logs, level)?;
    let estimate = Estimate { value: log.value.exp(), low: log.low.exp(), high: log.high.exp(), ..log };
    Some(RatioEstimate { estimate, p: signed_rank(&logs).p, unpaired })
}

/// ln(a / b) by round; `None` where the ratio of a common round does not exist.
pub fn log_ratios(a: &[(u32, f64)], b: &[(u32, f64)]) -> Option<Vec<(u32, f64)>> {
    paired_logs(a, b).map(|(logs, _)| logs)
}

fn paired_logs(a: &[(u32, f64)], b: &[(u32, f64)]) -> Option<(Vec<(u32, f64)>, u32)> {
    let (mut i, mut j, mut unpaired) = (0, 0, 0);
    let mut logs = Vec::with_capacity(a.len().min(b.len()));
    while i < a.len() && j < b.len() {
        match a[i].0.cmp(&b[j].0) {
            std::cmp::Ordering::Less => (i, unpaired) = (i + 1, unpaired + 1),
            std::cmp::Ordering::Greater => (j, unpaired) = (j + 1, unpaired + 1),
            std::cmp::Ordering::Equal => {
                logs.push((a[i].0, log_ratio(a[i].1, b[j].1)?));
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    Some((logs, unpaired + (a.len() - i + b.len() - j) as u32))
}

fn log_ratio(a: f64, b: f64) -> Option<f64> {
    if a == b && a >= 0.0 {
        return Some(0.0);
    }
    (a > 0.0 && b > 0.0).then(|| a.ln() - b.ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;
    use proptest::prelude::*;

    fn rounds(values: &[f64]) -> Vec<(u32, f64)> {
        values.iter().enumerate().map(|(i, v)| (i as u32, *v)).collect()
    }

    #[test]
    fn pairs_by_round_and_counts_the_rest() {
        let a = [(0, 2.0), (1, 4.0), (3, 8.0), (4, 1.0)];
        let b = [(1, 2.0), (2, 9.0), (3, 4.0)];
        let ratio = paired_ratio(&a, &b, 0.95).unwrap();
        assert!((ratio.estimate.value - 2.0).abs() < 1e-12);
        assert_eq!((ratio.estimate.n, ratio.unpaired), (2, 3));
        assert_eq!(ratio.estimate.level, 0.0, "two rounds carry no interval");
    }

    #[test]
    fn zeros_have_a_ratio_only_with_each_other() {
        let zeros = rounds(&[0.0; 6]);
        assert_eq!(paired_ratio(&zeros, &zeros, 0.95).unwrap().p, 1.0);
        assert_eq!(paired_ratio(&zeros, &rounds(&[1.0; 6]), 0.95), None);
        assert_eq!(paired_ratio(&rounds(&[1.0]), &[(5, 1.0)], 0.95), None);
    }

    #[test]
    fn pairing_sees_through_noise_that_rounds_share() {
        let mut random = Random::new(3);
        let shared: Vec<f64> = (0..12).map(|_| 1.0 + 4.0 * random.unit()).collect();
        let a: Vec<f64> = shared.iter().map(|s| s * (1.05 + 0.01 * random.unit())).collect();
        let ratio = paired_ratio(&rounds(&a), &rounds(&shared), 0.95).unwrap();
        assert!(ratio.estimate.low > 1.04 && ratio.estimate.high < 1.07);
        assert!(ratio.p < 0.001);
    }

    proptest! {
        #[test]
        fn turning_a_ratio_round_inverts_it(v in prop::collection::vec((0.1f64..10.0, 0.1f64..10.0), 1..30)) {
            let (a, b): (Vec<f64>, Vec<f64>) = v.into_iter().unzip();
            let there = paired_ratio(&rounds(&a), &rounds(&b), 0.95).unwrap();
            let back = paired_ratio(&rounds(&b), &rounds(&a), 0.95).unwrap();
            prop_assert!((there.estimate.value * back.estimate.value - 1.0).abs() < 1e-9);
            prop_assert!((there.estimate.low * back.estimate.high - 1.0).abs() < 1e-9);
            prop_assert!((there.p - back.p).abs() < 1e-9);
        }
    }
}
