//! Which of two cases costs less, who wins at a place, and where one overtakes another.

pub mod groups;
pub mod log_ratios;
pub mod comparisons;
pub mod identical;
pub mod winners;
pub mod crossover;
pub mod study;
pub mod family;

pub use comparisons::{Comparison, Comparisons};
