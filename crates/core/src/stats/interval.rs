//! The nonparametric interval of a median, and the rule that decides whether more rounds are needed.
//!
//! Between the k-th smallest and the k-th largest of n independent values lies the median of
//! their distribution with probability 1 - 2 P(Binomial(n, 1/2) < k), whatever the (continuous)
//! distribution: no normality, no resampling. The level really reached is recorded, because it
//! jumps with n. Source: Conover, "Practical nonparametric statistics", section 3.2; Hoefler and
//! Belli, SC15, rule 6.

use super::order::{median_of_sorted, sorted};
use super::{Estimate, student};
use crate::units::Unit;

/// The median with the narrowest symmetric order-statistic interval of at least `level`. Too few values for that carry no
/// interval: both ends are the median, and the level is 0. `None` for no values.
pub fn median_interval(values: &[f64], level: f64, unit: Unit) -> Option<Estimate> {
    let sorted = sorted(values);
    let value = median_of_sorted(&sorted)?;
    let n = sorted.len();
    let (depth, reached) = depth_for(n, level);
    let [low, high, level] =
        if reached < level { [value, value, 0.0] } else { [sorted[depth], sorted[n - 1 - depth], reached] };
    Some(Estimate { value, low, high, level, n: n as u32, unit })
}

/// The same of what rounds measured. Three to five positive values, which are too few for order statistics at the usual
/// level, have an interval by t on their logarithms.
pub fn rounds_interval(values: &[f64], level: f64, unit: Unit) -> Option<Estimate> {
    let median = median_interval(values, level, unit)?;
    if median.level > 0.0 || values.iter().any(|value| *value <= 0.0) {
        return Some(median);
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let log = log_interval(&logs, level)?;
    let (low, high) = (log.low.exp().min(median.value), log.high.exp().max(median.value));
    Some(Estimate { low, high, level: log.level, ..median })
}

/// The same of logarithms, as they are: three to five of them have an interval by t.
pub fn log_interval(logs: &[f64], level: f64) -> Option<Estimate> {
    let median = median_interval(logs, level, Unit::Ratio)?;
    if median.level > 0.0 || logs.len() < LEAST_BY_T {
        return Some(median);
    }
    let Some((mean, half)) = student::mean_interval(logs, level) else { return Some(median) };
    let (low, high) = ((mean - half).min(median.value), (mean + half).max(median.value));
    Some(Estimate { low, high, level, ..median })
}

/// Of two values t has one degree of freedom: the interval would span a factor of a thousand.
const LEAST_BY_T: usize = 3;

/// How many values to leave out at each end, and the level that leaves.
fn depth_for(n: usize, level: f64) -> (usize, f64) {
    // Summed through logarithms: 2^-n is not a number any more beyond a thousand rounds.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = log_term.exp();
    let mut best = (0, (1.0 - 2.0 * below).max(0.0));
    for depth in 1..n.div_ceil(2) {
        log_term += ((n + 1 - depth) as f64 / depth as f64).ln();
        below += log_term.exp();
        let reached = 1.0 - 2.0 * below;
        if reached < level {
            break;
        }
        best = (depth, reached);
    }
    best
}

/// Does a case need another round? `values` are its rounds in time order. No when `max` rounds are
/// done, or when the interval of the median has at least `confidence` and its wider half is at most
/// `precision`; always yes below `min` rounds.
///
/// Looking after every round and stopping at the first narrow interval favours lucky rounds:
/// simulated, a 95 % interval then covers 92 %. So the interval must be narrow twice in a row,
/// except at the first look, which has no such choice. That restores 95 % (tests below).
pub fn needs_more(values: &[f64], precision: f64, confidence: f64, min: u32, max: u32) -> bool {
    let n = values.len();
    if n >= max as usize {
        return false;
    }
    if n < min as usize || !narrow(values, precision, confidence) {
        return true;
    }
    let first_look = n == min as usize || depth_for(n - 1, confidence).1 < confidence;
    !first_look && !narrow(&values[..n - 1], precision, confidence)
}

fn narrow(values: &[f64], precision: f64, confidence: f64) -> bool {
    depth_for(values.len(), confidence).1 >= confidence
        && median_interval(values, confidence, Unit::Ratio)
            .is_some_and(|e| e.relative_half_width() <= precision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;
    use proptest::prelude::*;

    /// A distribution by name, with its true median.
    type Source = (&'static str, fn(&mut Random) -> f64, f64);

    const SOURCES: &[Source] = &[
        ("normal", |r| 100.0 + r.normal(), 100.0),
        ("lognormal", |r| r.normal().exp(), 1.0),
        // Symmetric about 5: the median lies in the sparse middle, the hardest place.
        ("bimodal", |r| if r.below(2) == 0 { r.normal() } else { 10.0 + r.normal() }, 5.0),
        ("Cauchy", |r| (std::f64::consts::PI * (r.unit() - 0.5)).tan(), 0.0),
    ];

    #[test]
    fn coverage_is_what_it_says_for_every_shape() {
        let runs = 2_000;
        for (name, draw, truth) in SOURCES {
            for n in [6, 8, 9, 12, 17, 25, 40] {
                let mut random = Random::new(0x5eed + n as u64);
                let (mut hits, mut level) = (0, 0.0);
                for _ in 0..runs {
                    let values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
                    let e = median_interval(&values, 0.95, Unit::Ratio).unwrap();
                    hits += u32::from(e.low <= *truth && *truth <= e.high);
                    level = e.level;
                }
                let coverage = f64::from(hits) / f64::from(runs);
                assert!(level >= 0.95, "{name} n={n}: level {level}");
                assert!(coverage >= 0.95 - 0.015, "{name} n={n}: coverage {coverage}");
                // The recorded level is the real one, not only a lower bound (4 standard errors).
                assert!((coverage - level).abs() < 0.02, "{name} n={n}: {coverage} is not {level}");
            }
        }
    }

    #[test]
    fn coverage_after_optional_stopping() {
        let runs = 2_000;
        for spread in [0.02, 0.05, 0.07, 0.1, 0.15] {
            let mut random = Random::new(77);
            let mut hits = 0;
            for _ in 0..runs {
                let mut values = Vec::new();
                while needs_more(&values, 0.05, 0.95, 6, 40) {
                    values.push(100.0 * (spread * random.normal()).exp());
                }
                let e = median_interval(&values, 0.95, Unit::Ratio).unwrap();
                hits += u32::from(e.low <= 100.0 && 100.0 <= e.high);
            }
            let coverage = f64::from(hits) / f64::from(runs);
            assert!(coverage >= 0.95 - 0.015, "spread {spread}: coverage {coverage}");
        }
    }

    #[test]
    fn known_levels() {
        let level = |n: usize| depth_for(n, 0.95);
        assert_eq!(level(1), (0, 0.0));
        assert_eq!(level(5), (0, 0.9375));
        assert_eq!(level(6), (0, 0.96875));
        assert_eq!(level(8).0, 0);
        assert_eq!(level(9).0, 1);
        assert!((level(9).1 - 0.9609375).abs() < 1e-12);
        let (depth, reached) = level(5_000);
        assert!(depth > 2_400 && (0.95..0.96).contains(&reached));
    }

    #[test]
    fn too_few_values_say_so() {
        assert_eq!(median_interval(&[], 0.95, Unit::Count), None);
        let one = median_interval(&[7.0], 0.95, Unit::Count).unwrap();
        assert_eq!((one.low, one.high, one.level, one.n), (7.0, 7.0, 0.0, 1));
        let two = median_interval(&[3.0, 1.0], 0.95, Unit::Count).unwrap();
        assert_eq!((two.low, two.high, two.level), (2.0, 2.0, 0.0), "no interval of 95 %");
        let mut random = Random::new(3);
        let holds = |n: usize, random: &mut Random| {
            let values: Vec<f64> = (0..n).map(|_| (0.2 * random.normal()).exp()).collect();
            let e = rounds_interval(&values, 0.95, Unit::Count).unwrap();
            e.level == 0.95 && e.low <= 1.0 && 1.0 <= e.high
        };
        for n in 3..6 {
            let held = (0..4000).filter(|_| holds(n, &mut random)).count();
            assert!((3760..3900).contains(&held), "{held} of 4000 with {n} values");
        }
    }

    #[test]
    fn more_rounds_until_narrow_enough_or_the_limit() {
        let tight = [100.0, 100.5, 99.5, 100.2, 99.8, 100.1];
        assert!(needs_more(&tight[..5], 0.05, 0.95, 3, 40), "five values cannot reach 95 %");
        assert!(!needs_more(&tight, 0.05, 0.95, 3, 40));
        assert!(needs_more(&tight, 0.05, 0.95, 8, 40), "the minimum comes first");
        assert!(needs_more(&tight, 0.001, 0.95, 3, 40));
        assert!(!needs_more(&tight, 0.001, 0.95, 3, 6), "the maximum ends it");
        assert!(needs_more(&[], 0.05, 0.95, 0, 6));
    }

    #[test]
    fn one_look_is_enough_only_where_it_is_the_first() {
        // Nine values leave out one at each end, eight none: narrow at nine, wide at eight.
        let values = [100.0, 100.5, 99.5, 100.2, 99.8, 100.1, 100.3, 130.0, 99.9];
        assert!(narrow(&values, 0.05, 0.95) && !narrow(&values[..8], 0.05, 0.95));
        assert!(!needs_more(&values, 0.05, 0.95, 9, 40), "the first look has no luck to choose by");
        assert!(needs_more(&values, 0.05, 0.95, 6, 40), "a second narrow one confirms a later look");
    }

    proptest! {
        #[test]
        fn the_value_lies_in_its_interval(v in prop::collection::vec(-1e12f64..1e12, 1..60), level in 0f64..1.0) {
            let e = median_interval(&v, level, Unit::Count).unwrap();
            prop_assert!(e.low <= e.value && e.value <= e.high);
            prop_assert!((0.0..1.0).contains(&e.level));
            prop_assert!(e.level >= level || (e.low, e.high, e.level) == (e.value, e.value, 0.0), "{e:?}");
            prop_assert_eq!(e.n as usize, v.len());
        }
    }
}
