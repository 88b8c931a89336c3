//! Units, statistics, axes and samples: what every other room speaks of. Pure.
//!
//! A module imports only modules above it in this list.

pub mod units;
pub mod stats;
pub mod axis;
pub mod sample;
