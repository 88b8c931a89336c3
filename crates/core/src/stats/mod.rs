//! The statistics of measurements: estimates, intervals, comparisons, outliers, change points.
//!
//! Pure functions of slices of numbers; nothing here knows what was measured.

pub mod histogram;
mod interval;
mod levels;
pub mod local;
mod moderated;
mod multiple;
mod order;
mod outlier;
pub mod polish;
pub mod random;
mod rank_sum;
mod ratio;
mod signed_rank;
mod steady;
pub mod student;
pub mod times;
mod two_modes;

pub use interval::{log_interval, median_interval, needs_more, rounds_interval};
pub use levels::{Level, levels};
pub use moderated::{Variance, moderated};
pub use multiple::{benjamini_hochberg, holm, holm_weighted};
pub use order::{mad, median, quantile, quantile_of_sorted, ranks};
pub use outlier::{Outlier, outliers};
pub use rank_sum::rank_sum_p;
pub use ratio::{RatioEstimate, log_ratios, paired_ratio};
pub use signed_rank::{SignedRank, signed_rank};
pub use steady::{Steadiness, steadiness, trend_p};
pub use two_modes::{TWO_MODES_FEWEST, TwoModes, two_modes};

use crate::units::Unit;
use serde::{Deserialize, Serialize};

/// A value with its interval: what every figure of a report is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The median over rounds (or what the unit's metric says).
    pub value: f64,
    /// Lower end of the interval; NaN-free: equal to `value` never means "no interval", see `level`.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Confidence that the interval really has, at least what was asked. 0: too few rounds for one; both ends are the value.
    pub level: f64,
    /// Independent replicates (rounds) behind it.
    pub n: u32,
    pub unit: Unit,
}

impl Estimate {
    /// The wider half of the interval relative to the value: what `--precision` asks to be small, and what stands behind
    /// `±` (half of the whole width would place an end of a lopsided interval inside).
    /// Infinite where the value is zero and the interval is not a point.
    pub fn relative_half_width(&self) -> f64 {
        let half = (self.high - self.value).max(self.value - self.low);
        if half == 0.0 { 0.0 } else { half / self.value.abs() }
    }

    /// Does the interval have at least this confidence?
    pub fn reaches(&self, confidence: f64) -> bool {
        self.level >= confidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_lopsided_interval_lie_within_its_half_width() {
        let of = |value, low, high| Estimate { value, low, high, level: 0.95, n: 8, unit: Unit::Nanoseconds };
        assert_eq!(of(30.0, 24.0, 75.0).relative_half_width(), 1.5);
        assert_eq!(of(-10.0, -14.0, -9.0).relative_half_width(), 0.4);
        assert_eq!((of(0.0, 0.0, 0.0).relative_half_width(), of(0.0, 0.0, 1.0).relative_half_width()), {
            (0.0, f64::INFINITY)
        });
    }
}
