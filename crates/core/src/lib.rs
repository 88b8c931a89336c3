//! Units, statistics, axes, samples and the shape of visible lists: what every other room speaks of. Pure.
//!
//! A module imports only modules above it in this list.

pub mod registry;
pub mod units;
pub mod stats;
pub mod decide;
pub mod axis;
pub mod sample;
