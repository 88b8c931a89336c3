//! From a [`syscost_experiment::run::Run`] to estimates, comparisons and findings. Pure and offline.
//!
//! One file per finding. Nothing here measures, prints or marks up; a sentence is made from cells
//! and names them.

pub mod accuracy;
pub mod advice;
pub mod beside;
pub mod batching;
pub mod cells;
pub mod choice;
pub mod compare;
pub mod copies;
pub mod costs;
pub mod crossover;
pub mod curves;
pub mod data_path;
pub mod finding;
pub mod groups;
pub mod latency;
pub mod levels;
pub mod limiter;
pub mod model;
pub mod noise_floor;
pub mod operations;
pub mod parallel;
pub mod quality;
pub mod refine;
pub mod regions;
pub mod received;
pub mod reference;
pub mod rounds;
pub mod rulers;
pub mod sanity;
pub mod seen;
pub mod study;
pub mod verdict;
pub mod whole;
pub mod winners;
pub mod words;
pub mod zero_copy;

#[cfg(test)]
pub mod synthetic;

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

/// Something wrong with a case's figures, for the report's warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// `impossible_bytes`, `wide_interval`, `two_levels`
    pub id: &'static str,
    pub case: usize,
    pub statement: Statement,
}
