//! Figures of everything that several rounds counted together, with intervals from the rounds.
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

/// A figure of many single times together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimesFigure {
    Quantile(f64),
    Mean,
    /// It has no interval: drawing rounds cannot show a longer one than was seen.
    Longest,
}

impl TimesFigure {
    pub fn of(self, times: &Histogram) -> Option<f64> {
        match self {
            TimesFigure::Quantile(q) => times.quantile(q).map(|ns| ns as f64),
            TimesFigure::Mean => times.mean(),
            TimesFigure::Longest => times.max().map(|ns| ns as f64),
        }
    }

    /// How many of the times lie above the figure.
    pub fn above(self, times: &Histogram) -> Option<u64> {
        match self {
            TimesFigure::Quantile(q) => Some(times.beyond(q)),
            TimesFigure::Mean => None,
            TimesFigure::Longest => Some(0),
        }
    }

    fn of_drawn(self, ends: &[u64], counts: &[u64]) -> f64 {
        let total: u64 = counts.iter().sum();
        match self {
            TimesFigure::Quantile(q) => value_at(ends, counts, q, total),
            TimesFigure::Mean => {
                let sum: f64 = ends.iter().zip(counts).map(|(end, n)| *end as f64 * *n as f64).sum();
                sum / total.max(1) as f64
            }
            TimesFigure::Longest => f64::NAN,
        }
    }
}

/// One estimate for each figure asked, in nanoseconds; `None` for a quantile that fewer than ten of all times lie
/// beyond. With too few rounds for an interval its ends are the value and its level is 0.
pub fn pooled_estimates(
    rounds: &[&Histogram],
    whole: &Histogram,
    figures: &[TimesFigure],
    level: f64,
) -> Vec<Option<Estimate>> {
    let drawn = if rounds.len() < FEWEST { Vec::new() } else { draws(rounds, whole, figures) };
    let estimate = |(place, figure): (usize, &TimesFigure)| {
        let value = figure.of(whole)?;
        let seen: Vec<f64> = drawn.iter().map(|draw| draw[place]).filter(|v| !v.is_nan()).collect();
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
    figures.iter().enumerate().map(estimate).collect()
}

/// The figures of each drawing of as many rounds as there are.
fn draws(rounds: &[&Histogram], whole: &Histogram, figures: &[TimesFigure]) -> Vec<Vec<f64>> {
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
        figures.iter().map(|figure| figure.of_drawn(&ends, &counts)).collect()
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
        let whole = Histogram::merged(rounds);
        let rounds: Vec<&Histogram> = rounds.iter().collect();
        pooled_estimates(&rounds, &whole, &[TimesFigure::Quantile(q)], 0.95)[0]
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
        assert_eq!(estimate(&[], 0.5), None);
    }

    /// One round of eight has a stall in which 3 % of all messages waited: no median of rounds shows it.
    #[test]
    fn a_stall_in_one_round_is_in_the_tail_of_all() {
        let calm: Histogram = "20000:1000".parse().unwrap();
        let mut all = vec![calm; 8];
        all[3] = "20000:760 1500000:240".parse().unwrap();
        let whole = Histogram::merged(&all);
        let rounds: Vec<&Histogram> = all.iter().collect();
        let figures = [TimesFigure::Quantile(0.99), TimesFigure::Mean, TimesFigure::Longest];
        let found = pooled_estimates(&rounds, &whole, &figures, 0.95);
        let p99 = found[0].unwrap();
        assert_eq!((p99.value, p99.low, p99.high), (1_500_000.0, 20_000.0, 1_500_000.0));
        assert_eq!(figures[0].above(&whole), Some(80));
        let mean = found[1].unwrap();
        assert!((mean.value - 64_400.0).abs() < 1.0 && mean.low == 20_000.0 && mean.high > 100_000.0);
        let longest = found[2].unwrap();
        assert_eq!((longest.value, longest.low, longest.level), (1_500_000.0, 1_500_000.0, 0.0));
    }
}
