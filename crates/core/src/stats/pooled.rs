//! Quantiles of everything that several rounds counted together, with intervals from the rounds.
//!
//! The value is that of the merged histogram, so that a tail which no single round could show is seen.
//! Times inside one round are not independent of one another, so the interval is a percentile bootstrap
//! that draws whole rounds, with replacement, by a fixed seed. With fewer than [`FEWEST`] rounds there is
//! none. Source: Efron and Tibshirani, "An introduction to the bootstrap"; Kalibera and Jones, "Rigorous
//! benchmarking in reasonable time" (resampling at the highest level only).

use super::Estimate;
use super::histogram::Histogram;
use super::order::quantile;
use super::random::Random;
use crate::units::Unit;

/// Rounds below which drawing among them says nothing.
pub const FEWEST: usize = 6;
const DRAWS: usize = 300;
const SEED: u64 = 0x5eed_1a7e;

/// One estimate for each quantile asked, in nanoseconds; `None` where fewer than ten of all times lie
/// beyond it. With too few rounds for an interval its ends are the value and its level is 0.
pub fn pooled_quantiles(rounds: &[&Histogram], quantiles: &[f64], level: f64) -> Vec<Option<Estimate>> {
    let whole = Histogram::merged(rounds.iter().copied());
    let drawn = if rounds.len() < FEWEST { Vec::new() } else { draws(rounds, &whole, quantiles) };
    let estimate = |(place, q): (usize, &f64)| {
        let value = whole.quantile(*q)? as f64;
        let seen: Vec<f64> = drawn.iter().map(|draw| draw[place]).collect();
        let end = |share: f64| quantile(&seen, share).unwrap_or(value);
        Some(Estimate {
            value,
            low: end((1.0 - level) / 2.0).min(value),
            high: end((1.0 + level) / 2.0).max(value),
            level: if seen.is_empty() { 0.0 } else { level },
            n: rounds.len() as u32,
            unit: Unit::Nanoseconds,
        })
    };
    quantiles.iter().enumerate().map(estimate).collect()
}

/// The quantiles of each drawing of as many rounds as there are.
fn draws(rounds: &[&Histogram], whole: &Histogram, quantiles: &[f64]) -> Vec<Vec<f64>> {
    let ends: Vec<u64> = whole.buckets().iter().map(|(end, _)| *end).collect();
    let mut random = Random::new(SEED);
    let mut counts = vec![0u64; ends.len()];
    let draw = |_| {
        counts.fill(0);
        for _ in rounds {
            let round = rounds[random.below(rounds.len())].buckets();
            let mut at = 0;
            for (end, n) in round {
                while ends[at] < *end {
                    at += 1;
                }
                counts[at] += n;
            }
        }
        let total: u64 = counts.iter().sum();
        quantiles.iter().map(|q| value_at(&ends, &counts, *q, total)).collect()
    };
    (0..DRAWS).map(draw).collect()
}

fn value_at(ends: &[u64], counts: &[u64], quantile: f64, total: u64) -> f64 {
    let rank = Histogram::rank(quantile, total);
    let mut seen = 0;
    for (end, n) in ends.iter().zip(counts) {
        seen += n;
        if seen >= rank {
            return *end as f64;
        }
    }
    ends.last().map_or(0.0, |end| *end as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::histogram::HistogramRecorder;

    fn round(random: &mut Random, centre: f64) -> Histogram {
        let mut recorder = HistogramRecorder::default();
        for _ in 0..500 {
            // Exponential above a base that differs from round to round.
            recorder.record((centre * (10_000.0 - 4_000.0 * (1.0 - random.unit()).ln())) as u64);
        }
        recorder.histogram()
    }

    fn rounds(random: &mut Random, count: usize) -> Vec<Histogram> {
        let centres: Vec<f64> = (0..count).map(|_| 1.0 + 0.2 * (random.unit() - 0.5)).collect();
        centres.into_iter().map(|centre| round(random, centre)).collect()
    }

    fn estimate(rounds: &[Histogram], q: f64) -> Option<Estimate> {
        let rounds: Vec<&Histogram> = rounds.iter().collect();
        pooled_quantiles(&rounds, &[q], 0.95)[0]
    }

    #[test]
    fn the_interval_holds_the_truth_mostly() {
        let mut random = Random::new(7);
        let truth = Histogram::merged(&rounds(&mut random, 2_000)).quantile(0.9).unwrap() as f64;
        let tries = 100;
        let held = (0..tries)
            .filter(|_| {
                estimate(&rounds(&mut random, 12), 0.9).is_some_and(|e| e.low <= truth && truth <= e.high)
            })
            .count();
        // A bootstrap of a dozen rounds falls somewhat short of the level asked.
        assert!(held >= 85, "{held} of {tries}");
    }

    #[test]
    fn a_tail_that_no_round_has_is_that_of_all() {
        let mut random = Random::new(1);
        let all = rounds(&mut random, 24);
        assert!(all.iter().all(|round| round.quantile(0.999).is_none()));
        let whole = estimate(&all, 0.999).unwrap();
        assert_eq!(whole.value, Histogram::merged(&all).quantile(0.999).unwrap() as f64);
        assert!(whole.low < whole.value && whole.level == 0.95 && whole.n == 24);
        assert_eq!(estimate(&all, 0.9999), None, "two lie beyond");
        assert_eq!(estimate(&all, 0.999), estimate(&all, 0.999), "the same at every rebuild");
    }

    #[test]
    fn few_rounds_have_no_interval() {
        let mut random = Random::new(2);
        let few = estimate(&rounds(&mut random, 3), 0.5).unwrap();
        assert_eq!((few.low, few.high, few.level), (few.value, few.value, 0.0));
        assert_eq!(pooled_quantiles(&[], &[0.5], 0.95), [None]);
    }
}
