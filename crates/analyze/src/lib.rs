//! From a [`syscost_experiment::run::Run`] to estimates, comparisons and findings. Pure and offline.
//!
//! One file per finding. Nothing here measures, prints, marks up or says a sentence: every answer is a value that
//! names its cells. A module imports only modules above it in this list.

pub mod answer;
pub mod problem;
pub mod varied;
pub mod grouped;
pub mod parallel;
pub mod level;
pub mod cells;
pub mod compare;
pub mod copies;
pub mod operations;
pub mod profile;
pub mod model;
pub mod limits;
pub mod recommend;
pub mod latency;
pub mod finding;
pub mod trust;
pub mod whole;
pub mod families;
pub mod refine;
pub mod sides;

#[cfg(any(test, feature = "synthetic"))]
#[path = "../tests/synthetic/mod.rs"]
pub mod synthetic;

pub use answer::CellRef;
pub use problem::Problem;
