//! From a [`crate::run::Run`] to estimates, comparisons and findings. Pure and offline.

pub mod cells;

/// A cell that a sentence stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
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
