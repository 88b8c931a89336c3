//! Estimates of every metric of every case: the cells that all tables, plots and sentences name.

use crate::stats::Estimate;

/// One metric of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Index of the case in the plan.
    pub case: usize,
    pub metric: &'static str,
    pub estimate: Estimate,
    /// The metric's value in each round that has one: (round, median over its usable samples).
    pub rounds: Vec<(u32, f64)>,
}
