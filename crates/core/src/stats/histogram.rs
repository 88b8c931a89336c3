//! Distributions of single times: recorded in constant time, kept whole, merged without loss.
//!
//! [`HistogramRecorder`] counts into the buckets of an HDR histogram (three significant digits, so a value is
//! known to 0.1 %); [`Histogram`] is what was counted, sparse. A quantile is the value of its bucket's
//! upper end, and it is only given where enough values lie beyond it ([`ENOUGH`]): a quantile that
//! stands on three values is one of those values, not a property of the distribution.
//! Source: Tene, HdrHistogram.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Values that must lie beyond a quantile before it is given.
pub const ENOUGH: u64 = 10;

const SIGNIFICANT_DIGITS: u8 = 3;
/// A minute: what takes longer is counted as that.
pub const LARGEST_NS: u64 = 60_000_000_000;

/// Takes in values while something is measured: no allocation, a few nanoseconds each.
pub struct HistogramRecorder(hdrhistogram::Histogram<u64>);

impl Default for HistogramRecorder {
    fn default() -> HistogramRecorder {
        let mut counts = hdrhistogram::Histogram::new_with_bounds(1, LARGEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds and the digits are within what the crate allows");
        // Writes to every bucket, so that no first touch of a page falls between two measurements.
        counts.reset();
        HistogramRecorder(counts)
    }
}

impl HistogramRecorder {
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Forgets everything: the warm-up is over.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// What was recorded.
    pub fn histogram(&self) -> Histogram {
        let bucket = |step: hdrhistogram::iterators::IterationValue<u64>| {
            (step.value_iterated_to(), step.count_since_last_iteration())
        };
        Histogram { counts: self.0.iter_recorded().map(bucket).collect() }
    }
}

/// How many values fell into each bucket that has any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Histogram {
    /// The upper end of a bucket and its count; ends rise, no count is 0.
    counts: Vec<(u64, u64)>,
}

/// A text that is no histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not VALUE:COUNT with rising values and counts above 0")]
pub struct BadHistogram(String);

impl Histogram {
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|(_, n)| n).sum()
    }

    /// The upper end of each bucket that has any, rising, and its count.
    pub fn buckets(&self) -> &[(u64, u64)] {
        &self.counts
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds what another counted: the histogram of all values of both.
    pub fn merge(&mut self, other: &Histogram) {
        let (mine, theirs) = (std::mem::take(&mut self.counts), &other.counts);
        let (mut a, mut b) = (mine.iter().peekable(), theirs.iter().peekable());
        while let (Some(&&(x, n)), Some(&&(y, m))) = (a.peek(), b.peek()) {
            self.counts.push(match x.cmp(&y) {
                std::cmp::Ordering::Less => (x, n),
                std::cmp::Ordering::Greater => (y, m),
                std::cmp::Ordering::Equal => (x, n.saturating_add(m)),
            });
            if x <= y {
                a.next();
            }
            if y <= x {
                b.next();
            }
        }
        self.counts.extend(a.chain(b));
    }

    /// All of them as one.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Histogram>) -> Histogram {
        let mut whole = Histogram::default();
        parts.into_iter().for_each(|part| whole.merge(part));
        whole
    }

    /// How many of the values lie beyond a quantile: what it stands on.
    pub fn beyond(&self, quantile: f64) -> u64 {
        let count = self.count();
        count - Histogram::rank(quantile, count)
    }

    /// The value at a quantile; `None` where too few lie beyond it.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        self.quantile_with(quantile, ENOUGH)
    }

    /// The same with one value beyond it: one look of many.
    pub fn seen_quantile(&self, quantile: f64) -> Option<u64> {
        self.quantile_with(quantile, 1)
    }

    fn quantile_with(&self, quantile: f64, beyond: u64) -> Option<u64> {
        let enough = self.beyond(quantile) >= beyond;
        enough.then(|| self.at_rank(Histogram::rank(quantile, self.count())))?
    }

    pub fn max(&self) -> Option<u64> {
        self.counts.last().map(|(value, _)| *value)
    }

    pub fn mean(&self) -> Option<f64> {
        let count = self.count() as f64;
        let sum: f64 = self.counts.iter().map(|(value, n)| *value as f64 * *n as f64).sum();
        (count > 0.0).then(|| sum / count)
    }

    /// The smallest number of values that is at least this share of them; at least one.
    pub fn rank(quantile: f64, count: u64) -> u64 {
        // 0.99 x 1000 is 990, not the 991 that rounding up what floating point makes of it would give.
        ((quantile * count as f64 - 1e-6).ceil().max(1.0) as u64).min(count)
    }

    fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut seen = 0;
        let reached = |(value, n): &(u64, u64)| {
            seen += n;
            (seen >= rank).then_some(*value)
        };
        self.counts.iter().find_map(reached)
    }
}

/// `4095:17 4097:3`
impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (value, n)) in self.counts.iter().enumerate() {
            write!(f, "{}{value}:{n}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl FromStr for Histogram {
    type Err = BadHistogram;

    fn from_str(text: &str) -> Result<Histogram, BadHistogram> {
        let mut counts: Vec<(u64, u64)> = Vec::new();
        let mut total = 0u64;
        for pair in text.split_ascii_whitespace() {
            let bad = || BadHistogram(pair.chars().take(40).collect());
            let (value, n) = pair.split_once(':').ok_or_else(bad)?;
            let (value, n): (u64, u64) = (value.parse().map_err(|_| bad())?, n.parse().map_err(|_| bad())?);
            total = total.checked_add(n).ok_or_else(bad)?;
            if n == 0 || counts.last().is_some_and(|(last, _)| *last >= value) {
                return Err(bad());
            }
            counts.push((value, n));
        }
        Ok(Histogram { counts })
    }
}

impl From<Histogram> for String {
    fn from(histogram: Histogram) -> String {
        histogram.to_string()
    }
}

impl TryFrom<String> for Histogram {
    type Error = BadHistogram;

    fn try_from(text: String) -> Result<Histogram, BadHistogram> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut recorder = HistogramRecorder::default();
        values.into_iter().for_each(|ns| recorder.record(ns));
        recorder.histogram()
    }

    fn near(found: Option<u64>, wanted: u64) -> bool {
        found.is_some_and(|ns| ns >= wanted && ns as f64 <= wanted as f64 * 1.001 + 1.0)
    }

    #[test]
    fn quantiles_of_known_values() {
        let all = of((1..=10_000).map(|i| i * 1_000));
        assert_eq!(all.count(), 10_000);
        for (quantile, wanted, beyond) in
            [(0.5, 5_000_000, 5_000), (0.9, 9_000_000, 1_000), (0.99, 9_900_000, 100), (0.999, 9_990_000, 10)]
        {
            assert!(near(all.quantile(quantile), wanted), "{quantile}: {:?}", all.quantile(quantile));
            assert_eq!(all.beyond(quantile), beyond);
        }
        assert!(near(all.max(), 10_000_000));
        assert!((all.mean().unwrap() / 5_000_500.0 - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_quantile_that_stands_on_too_little_is_not_given() {
        let few = of((1..=9_999).map(|i| i * 1_000));
        assert_eq!((few.beyond(0.999), few.quantile(0.999)), (9, None));
        assert!(few.quantile(0.99).is_some());
        assert_eq!((of([]).quantile(0.5), of([]).max(), of([]).mean()), (None, None, None));
    }

    #[test]
    fn a_warm_up_is_forgotten_and_what_is_too_long_counts_as_the_longest() {
        let mut recorder = HistogramRecorder::default();
        recorder.record(7);
        recorder.reset();
        recorder.record(u64::MAX);
        assert_eq!(recorder.histogram().count(), 1);
        assert!(recorder.histogram().max().unwrap() >= LARGEST_NS);
    }

    proptest! {
        #[test]
        fn merging_is_recording_together(a in prop::collection::vec(0u64..2_000_000, 0..80),
                                         b in prop::collection::vec(0u64..2_000_000, 0..80)) {
            let merged = Histogram::merged([&of(a.clone()), &of(b.clone())]);
            prop_assert_eq!(merged, of(a.into_iter().chain(b)));
        }

        #[test]
        fn a_text_reads_back(values in prop::collection::vec(any::<u64>(), 0..80)) {
            let histogram = of(values);
            prop_assert_eq!(histogram.to_string().parse::<Histogram>(), Ok(histogram));
        }

        #[test]
        fn no_text_panics(text in "[0-9: x]{0,60}") {
            let _ = text.parse::<Histogram>();
        }
    }

    #[test]
    fn disorder_and_nothing_are_refused() {
        for text in ["5:1 5:1", "5:1 4:1", "5:0", "5", "a:1", "1:18446744073709551615 2:1"] {
            assert!(text.parse::<Histogram>().is_err(), "{text}");
        }
        assert_eq!("".parse(), Ok(Histogram::default()));
    }
}
