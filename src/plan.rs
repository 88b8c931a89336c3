//! The cases of a run, their seeded interleaved order, and what is skipped and why.

use crate::axis::Point;
use crate::host::Unavailable;
use serde::{Deserialize, Serialize};

/// A probe at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Index in the plan; `case` column of the files.
    pub index: usize,
    pub probe: String,
    pub point: Point,
    /// This case repeats that one, to measure the noise floor (A/A). Never part of a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<usize>,
}

/// A case that was asked for and cannot run here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skip {
    pub probe: String,
    pub point: Point,
    #[serde(flatten)]
    pub why: Unavailable,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub cases: Vec<Case>,
    pub skips: Vec<Skip>,
}
