//! From a [`syscost_experiment::run::Run`] to estimates, comparisons and findings. Pure and offline.
//!
//! One file per finding. Nothing here measures, prints or marks up; a sentence is made from cells
//! and names them. A module imports only modules above it in this list.

pub mod answer;
pub mod problem;
pub mod words;
pub mod parallel;
pub mod level;
pub mod cells;
pub mod compare;
pub mod copies;
pub mod limits;
pub mod operations;
pub mod model;
pub mod recommend;
pub mod trust;
pub mod latency;
pub mod finding;
pub mod whole;
pub mod families;
pub mod refine;

#[cfg(test)]
pub mod synthetic;

pub use answer::CellRef;
pub use problem::Problem;

/// A sentence and the cells that show it. No sentence about figures without cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub text: String,
    pub cells: Vec<CellRef>,
}
