//! A visit as a line of the record.

use crate::cell::{Cell, Path};
use serde::{Deserialize, Serialize};

/// Who was visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    #[serde(rename = "syscost")]
    Ours,
    #[serde(rename = "program")]
    Theirs,
}

/// One visit, of four that hold a program against ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visited {
    pub contest: String,
    pub path: Path,
    /// `on` or `off`
    pub nodelay: String,
    pub streams: u32,
    pub message_bytes: u64,
    pub program: String,
    pub round: u32,
    /// Which of the four, from 0.
    pub turn: u32,
    pub side: Side,
    /// In the contest's unit; none: there is a failure.
    pub value: Option<f64>,
    pub unit: String,
    pub failure: String,
}

impl Visited {
    pub fn cell(&self) -> Cell {
        let (path, streams, message_bytes) = (self.path, self.streams, self.message_bytes);
        Cell { path, nodelay: self.nodelay == "on", streams, message_bytes }
    }
}
