//! Does a series keep its level? Drift, shifts and their absence, over rounds in time order.
//!
//! Two rank tests, so that no distribution is assumed: Mann and Kendall's for a trend (exact
//! without ties) and, for a change of level, the range of the running sum of ranks (Pettitt's
//! sum, Kuiper's range), its null distribution simulated once per length with a fixed seed. Level
//! changes are then cut apart until no part shows another one. Sources: Mann, Econometrica 13,
//! 1945; Pettitt, Applied Statistics 28, 1979; the words steady,
//! warm-up and "no steady state" as in Barrett et al., "Virtual machine warmup blows hot and cold".

use super::random::Random;
use super::signed_rank::two_sided_normal;
use super::{median, ranks};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Fewer values cannot show a change at any level worth claiming.
const FEWEST: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steadiness {
    /// Fewer than eight values: not assessed.
    TooFew,
    Steady,
    /// The level moves one way all along; relative change from the first part to the last.
    Drift {
        change: f64,
    },
    /// One change of level, then steady: the first `at` values are apart (a warm-up, or a
    /// disturbance of the machine).
    Shift {
        at: usize,
        change: f64,
    },
    /// The level goes up and down, or changed so late that nothing can be said about what follows.
    NoSteadyState,
}

impl Steadiness {
    /// Was a change seen?
    pub fn unsteady(self) -> bool {
        !matches!(self, Steadiness::TooFew | Steadiness::Steady)
    }
}

/// Judges a series in time order; `alpha` is the chance to call a steady series unsteady.
pub fn steadiness(values: &[f64], alpha: f64) -> Steadiness {
    if values.len() < FEWEST {
        return Steadiness::TooFew;
    }
    // Two tests are made, so each gets half of the error.
    let alpha = alpha / 2.0;
    let trend = trend_p(values) < alpha;
    let mut cuts = Vec::new();
    cut(values, 0, alpha, &mut cuts);
    if cuts.is_empty() {
        let third = values.len() / 3;
        let change = relative_change(&values[..third], &values[values.len() - third..]);
        return if trend { Steadiness::Drift { change } } else { Steadiness::Steady };
    }
    let parts = parts(values, &cuts);
    let levels: Vec<f64> = parts.iter().filter_map(|p| median(p)).collect();
    let rises = levels.windows(2).all(|w| w[0] < w[1]);
    let falls = levels.windows(2).all(|w| w[0] > w[1]);
    let tail = parts[parts.len() - 1];
    let change = relative_change(parts[0], tail);
    let moving = tail.len() >= FEWEST && trend_p(tail) < alpha;
    if !(rises || falls) {
        Steadiness::NoSteadyState
    } else if parts.len() > 2 || moving {
        Steadiness::Drift { change }
    } else if tail.len() * 3 < values.len() {
        Steadiness::NoSteadyState
    } else {
        Steadiness::Shift { at: cuts[0], change }
    }
}

fn relative_change(from: &[f64], to: &[f64]) -> f64 {
    match (median(from), median(to)) {
        (Some(from), Some(to)) if from != 0.0 => (to - from) / from.abs(),
        _ => 0.0,
    }
}

fn parts<'a>(values: &'a [f64], cuts: &[usize]) -> Vec<&'a [f64]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(values.len()));
    starts.zip(ends).map(|(a, b)| &values[a..b]).collect()
}

/// Collects the change points of a part that starts at `offset`, in ascending order.
fn cut(values: &[f64], offset: usize, alpha: f64, cuts: &mut Vec<usize>) {
    if values.len() < FEWEST {
        return;
    }
    let centre = (values.len() + 1) as f64;
    let steps: Vec<f64> = ranks(values).into_iter().map(|rank| 2.0 * rank - centre).collect();
    let statistic = sum_range(&steps);
    let null = shift_null(values.len());
    let reached = null.len() - null.partition_point(|s| *s < statistic);
    let p = (reached + 1) as f64 / (null.len() + 1) as f64;
    if p < alpha {
        let at = best_cut(values);
        cut(&values[..at], offset, alpha, cuts);
        cuts.push(offset + at);
        cut(&values[at..], offset + at, alpha, cuts);
    }
}

/// The place that leaves the least absolute deviation from the two parts' medians. (Ranks decide
/// whether there is a change; they place it late or early, because they forget its size.)
fn best_cut(values: &[f64]) -> usize {
    let deviation = |part: &[f64]| {
        let centre = median(part).unwrap_or(0.0);
        part.iter().map(|v| (v - centre).abs()).sum::<f64>()
    };
    let cost = |at: &usize| deviation(&values[..*at]) + deviation(&values[*at..]);
    (1..values.len()).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(1)
}

/// The range of the running sum: it also sees a level that comes back.
fn sum_range(steps: &[f64]) -> f64 {
    let (mut sum, mut low, mut high) = (0.0f64, 0.0f64, 0.0f64);
    for step in steps {
        sum += step;
        low = low.min(sum);
        high = high.max(sum);
    }
    high - low
}

/// The ascending null distribution of the range for a length, from seeded shuffles.
fn shift_null(n: usize) -> Arc<Vec<f64>> {
    static KNOWN: Mutex<BTreeMap<usize, Arc<Vec<f64>>>> = Mutex::new(BTreeMap::new());
    const SHUFFLES: usize = 2_000;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = known.entry(n).or_insert_with(|| {
        let mut random = Random::new(n as u64);
        let centre = (n + 1) as f64;
        let mut steps: Vec<f64> = (1..=n).map(|r| 2.0 * r as f64 - centre).collect();
        let mut null: Vec<f64> = (0..SHUFFLES)
            .map(|_| {
                random.shuffle(&mut steps);
                sum_range(&steps)
            })
            .collect();
        null.sort_by(f64::total_cmp);
        Arc::new(null)
    });
    Arc::clone(entry)
}

/// Two-sided p-value of Mann and Kendall's trend test.
pub fn trend_p(values: &[f64]) -> f64 {
    let n = values.len();
    let mut score = 0i64;
    let mut tied = false;
    for i in 0..n {
        for j in i + 1..n {
            score += i64::from(values[j] > values[i]) - i64::from(values[j] < values[i]);
            tied |= values[i] == values[j];
        }
    }
    // Beyond 40 values the normal approximation is as good as exact.
    if tied || n > 40 { normal_trend_p(values, score) } else { exact_trend_p(n, score) }
}

/// Counts permutations by their inversions: each new value adds 0 to i inversions.
fn exact_trend_p(n: usize, score: i64) -> f64 {
    let pairs = n * n.saturating_sub(1) / 2;
    let mut share = vec![0.0; pairs + 1];
    share[0] = 1.0;
    for i in 1..n {
        let mut sum = 0.0;
        let before = share.clone();
        for inversions in 0..=pairs {
            sum += before[inversions];
            if inversions > i {
                sum -= before[inversions - i - 1];
            }
            share[inversions] = sum / (i + 1) as f64;
        }
    }
    let fewest = (pairs - score.unsigned_abs() as usize) / 2;
    (2.0 * share[..=fewest].iter().sum::<f64>()).clamp(0.0, 1.0)
}

fn normal_trend_p(values: &[f64], score: i64) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let sorted = super::order::sorted(values);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|t| term(t.len() as f64)).sum();
    let variance = (term(values.len() as f64) - ties) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    two_sided_normal((score.abs() as f64 - 1.0).max(0.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn known_trends() {
        // All of 5! orders, one of which rises throughout: 2/120.
        assert!((trend_p(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 2.0 / 120.0).abs() < 1e-12);
        assert_eq!(trend_p(&[1.0, 1.0, 1.0]), 1.0);
        assert_eq!(trend_p(&[]), 1.0);
        let rising: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(trend_p(&rising) < 1e-9);
    }

    #[test]
    fn steady_series_are_rarely_called_unsteady() {
        let mut random = Random::new(5);
        for n in [8, 12, 24, 40] {
            let runs = 1_000;
            let alarms = (0..runs)
                .filter(|_| {
                    let v: Vec<f64> = (0..n).map(|_| noise(&mut random).exp()).collect();
                    steadiness(&v, 0.05).unsteady()
                })
                .count();
            assert!((alarms as f64) < 0.075 * f64::from(runs), "n={n}: {alarms} of {runs}");
        }
    }

    #[test]
    fn planted_changes_are_found_and_named() {
        let mut random = Random::new(6);
        let mut seen = [0; 3];
        for _ in 0..100 {
            let warm: Vec<f64> =
                (0..30).map(|i| if i < 10 { 120.0 } else { 100.0 } + noise(&mut random)).collect();
            let Steadiness::Shift { at, change } = steadiness(&warm, 0.01) else {
                println!("{:?}", steadiness(&warm, 0.01));
                continue;
            };
            seen[0] += i32::from((9..=11).contains(&at) && (-0.19..-0.14).contains(&change));
        }
        for _ in 0..100 {
            let drift: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i) + noise(&mut random)).collect();
            seen[1] +=
                i32::from(matches!(steadiness(&drift, 0.01), Steadiness::Drift { change } if change > 0.1));
        }
        for _ in 0..100 {
            let waves: Vec<f64> =
                (0..40).map(|i| 100.0 + 20.0 * f64::from(i / 14 % 2) + noise(&mut random)).collect();
            seen[2] += i32::from(steadiness(&waves, 0.01) == Steadiness::NoSteadyState);
        }
        assert!(seen.iter().all(|n| *n >= 90), "{seen:?}");
    }

    /// Where a third of the rounds or more follow a change, they are a level; fewer say nothing of one.
    #[test]
    fn a_level_that_holds_for_a_third_of_the_rounds_is_steady() {
        let mut random = Random::new(8);
        let mut counted = |tail: u32| {
            let of = |_| {
                let level = |i: u32| if i < 30 - tail { 120.0 } else { 100.0 };
                let values: Vec<f64> = (0..30).map(|i| level(i) + noise(&mut random)).collect();
                usize::from(matches!(steadiness(&values, 0.01), Steadiness::Shift { .. }))
            };
            (0..100).map(of).sum::<usize>()
        };
        let (twelve, seven) = (counted(12), counted(7));
        assert!(twelve >= 90 && seven <= 10, "{twelve}, {seven}");
    }

    #[test]
    fn short_and_constant_series() {
        assert_eq!(steadiness(&[1.0; 7], 0.05), Steadiness::TooFew);
        assert_eq!(steadiness(&[1.0; 20], 0.05), Steadiness::Steady);
    }
}
