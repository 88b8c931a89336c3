//! Estimates of every metric of every case, from its samples; what is wrong with a sample or an estimate.

pub mod rounds;
pub mod turn_metrics;
pub mod estimates;
pub mod precision;
pub mod reference;
pub mod sanity;
pub mod quality;
pub mod seen;
pub mod turns;

pub use estimates::{Cell, Cells, Pooled, metric, times_of_round};
