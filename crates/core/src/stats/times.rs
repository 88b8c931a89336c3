//! Figures of many single times: a case's figure from its rounds, and that of all rounds' times together.
//!
//! The figure of a case is the median of its rounds' own figures, with the interval of a median over rounds: rounds are
//! independent, times inside one round are not. The pooled figure is that of all times of all rounds. One stall of one
//! round can make a pooled tail; [`Stall`] says so.

use super::histogram::Histogram;
use super::{Estimate, rounds_interval};
use crate::units::Unit;
use serde::Serialize;

/// A figure of many single times together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimesFigure {
    Quantile(f64),
    Mean,
    /// Of all rounds: it has no interval, because more rounds show a longer one.
    Longest,
}

/// The rounds that make a pooled tail.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stall {
    /// So few of the rounds have a figure as high as the pooled one.
    pub rounds: usize,
    pub of: usize,
    /// The longest time of those rounds.
    pub longest_ns: u64,
}

/// Up to this share of all rounds are few.
const FEW: f64 = 1.0 / 3.0;
/// A pooled figure is made by some rounds where it is so many times the median of rounds.
const FAR: f64 = 2.0;

impl TimesFigure {
    /// Of all times together; `None` for a quantile that fewer than ten lie beyond.
    pub fn pooled(self, times: &Histogram) -> Option<f64> {
        match self {
            TimesFigure::Quantile(q) => times.quantile(q).map(|ns| ns as f64),
            TimesFigure::Mean => times.mean(),
            TimesFigure::Longest => times.max().map(|ns| ns as f64),
        }
    }

    /// Of one round: what lies beyond a quantile may be a single time, since the median is over rounds.
    pub fn of_round(self, times: &Histogram) -> Option<f64> {
        match self {
            TimesFigure::Quantile(q) => times.seen_quantile(q).map(|ns| ns as f64),
            TimesFigure::Mean | TimesFigure::Longest => self.pooled(times),
        }
    }

    /// How many of the times lie above the pooled figure.
    pub fn above(self, times: &Histogram) -> Option<u64> {
        match self {
            TimesFigure::Quantile(q) => Some(times.beyond(q)),
            TimesFigure::Mean => None,
            TimesFigure::Longest => Some(0),
        }
    }

    /// The figure of a case; `None` for a quantile that fewer than ten of all times lie beyond, or that no round has.
    pub fn over_rounds(self, rounds: &[Histogram], whole: &Histogram, level: f64) -> Option<Estimate> {
        let value = self.pooled(whole)?;
        let own: Vec<f64> = rounds.iter().filter_map(|round| self.of_round(round)).collect();
        if self == TimesFigure::Longest {
            let n = own.len() as u32;
            return Some(Estimate { value, low: value, high: value, level: 0.0, n, unit: Unit::Nanoseconds });
        }
        rounds_interval(&own, level, Unit::Nanoseconds)
    }

    /// The rounds that make the pooled figure, where it is far above that of the case and few have one as high.
    pub fn stall(self, rounds: &[Histogram], whole: &Histogram, figure: &Estimate) -> Option<Stall> {
        let pooled = self.pooled(whole).filter(|pooled| *pooled >= FAR * figure.value)?;
        let own = rounds.iter().filter_map(|round| Some((self.of_round(round)?, round.max()?)));
        let own: Vec<(f64, u64)> = own.collect();
        let made: Vec<u64> = own.iter().filter(|(own, _)| *own >= pooled).map(|(_, max)| *max).collect();
        let few = made.len() as f64 <= FEW * own.len() as f64;
        few.then_some(Stall { rounds: made.len(), of: own.len(), longest_ns: made.into_iter().max()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P99: TimesFigure = TimesFigure::Quantile(0.99);

    fn rounds(texts: &[&str]) -> (Vec<Histogram>, Histogram) {
        let rounds: Vec<Histogram> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let whole = Histogram::merged(&rounds);
        (rounds, whole)
    }

    /// It was said: p99 of 49 ms within 99 %, where ten of eleven rounds had 47 to 75 us.
    #[test]
    fn a_stall_of_one_round_is_no_figure_of_the_case_and_is_told() {
        let mut texts = vec!["20000:980 60000:20"; 11];
        texts[3] = "20000:600 49000000:240";
        let (rounds, whole) = rounds(&texts);
        let p99 = P99.over_rounds(&rounds, &whole, 0.95).unwrap();
        assert_eq!((p99.value, p99.high, p99.n), (60_000.0, 60_000.0, 11));
        assert!(p99.level >= 0.95);
        assert_eq!((P99.pooled(&whole), P99.above(&whole)), (Some(49e6), Some(108)));
        let stall = P99.stall(&rounds, &whole, &p99).unwrap();
        assert_eq!(stall, Stall { rounds: 1, of: 11, longest_ns: 49_000_000 });
        let longest = TimesFigure::Longest.over_rounds(&rounds, &whole, 0.95).unwrap();
        assert_eq!((longest.value, longest.low, longest.level), (49e6, 49e6, 0.0));
        let mean = TimesFigure::Mean.over_rounds(&rounds, &whole, 0.95).unwrap();
        assert_eq!(mean.value, 20_800.0);
        assert!(TimesFigure::Mean.stall(&rounds, &whole, &mean).is_some());
        assert_eq!(TimesFigure::Quantile(0.5).stall(&rounds, &whole, &p99), None);
    }

    #[test]
    fn a_tail_that_many_rounds_have_is_no_stall() {
        let mut texts = vec!["20000:980 60000:20"; 7];
        texts[..3].fill("20000:900 49000000:100");
        let (rounds, whole) = rounds(&texts);
        let p99 = P99.over_rounds(&rounds, &whole, 0.95).unwrap();
        assert_eq!((p99.value, p99.high), (60_000.0, 49e6));
        assert_eq!(P99.stall(&rounds, &whole, &p99), None);
    }

    #[test]
    fn a_quantile_needs_ten_times_beyond_it_in_all_and_one_in_a_round() {
        let deep = TimesFigure::Quantile(0.999);
        let (few, whole) = rounds(&["20000:1990 60000:10"; 4]);
        assert_eq!(deep.over_rounds(&few, &whole, 0.95), None, "eight lie beyond");
        let (many, whole) = rounds(&["20000:1990 60000:10"; 6]);
        assert_eq!(deep.over_rounds(&many, &whole, 0.95).map(|e| e.value), Some(60_000.0));
        let (short, whole) = rounds(&["20000:490 60000:10"; 30]);
        assert_eq!(deep.over_rounds(&short, &whole, 0.95), None, "no round has one beyond it");
        assert!(deep.pooled(&whole).is_some());
        assert_eq!(P99.over_rounds(&[], &Histogram::default(), 0.95), None);
    }
}
