//! The statistics of measurements: estimates, intervals, comparisons, outliers, change points.
//!
//! Pure functions of slices of numbers; nothing here knows what was measured.

pub mod random;

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
    /// Confidence that the interval really has, at least (0 = too few rounds for any interval:
    /// `low` and `high` are then the extremes seen).
    pub level: f64,
    /// Independent replicates (rounds) behind it.
    pub n: u32,
    pub unit: Unit,
}
