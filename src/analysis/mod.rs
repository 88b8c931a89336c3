//! From a [`crate::run::Run`] to estimates, comparisons and findings. Pure and offline.
//!
//! One file per finding. Nothing here measures, prints or marks up; a sentence is made from cells
//! and names them.

pub mod cells;
pub mod compare;
pub mod crossover;
pub mod groups;
pub mod noise_floor;
#[cfg(test)]
mod synthetic;
pub mod winners;

/// A cell that a sentence stands on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellRef {
    pub case: usize,
    pub metric: &'static str,
}

/// A sentence and the cells that show it. No sentence about figures without cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub text: String,
    pub cells: Vec<CellRef>,
}
