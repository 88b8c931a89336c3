//! The raw record: one line per visit of a tool, written as it happens, so that an interrupted
//! comparison keeps what it has.

use crate::cell::Cell;
use anyhow::{Context, Result};
use std::fs::File;
use std::path::Path;

/// One visit of one tool to one cell.
#[derive(Clone, Debug)]
pub struct Visited {
    pub round: u32,
    pub cell: Cell,
    pub tool: &'static str,
    /// Payload bits per second, or why there is no figure.
    pub outcome: Result<f64, String>,
}

/// `runs.csv`.
pub struct Recorder {
    file: csv::Writer<File>,
    sequence: u64,
}

impl Recorder {
    pub fn create(path: &Path) -> Result<Recorder> {
        let mut file =
            csv::Writer::from_path(path).with_context(|| format!("cannot write {}", path.display()))?;
        file.write_record([
            "sequence",
            "round",
            "path",
            "nodelay",
            "streams",
            "message_bytes",
            "tool",
            "throughput_bits_per_second",
            "failure",
        ])?;
        file.flush()?;
        Ok(Recorder { file, sequence: 0 })
    }

    pub fn add(&mut self, visited: &Visited) -> Result<()> {
        let cell = &visited.cell;
        let (figure, failure) = match &visited.outcome {
            Ok(bits_per_second) => (bits_per_second.to_string(), String::new()),
            Err(reason) => (String::new(), reason.clone()),
        };
        self.file.write_record([
            self.sequence.to_string(),
            visited.round.to_string(),
            cell.path.to_string(),
            cell.nodelay_text().to_string(),
            cell.streams.to_string(),
            cell.message_bytes.to_string(),
            visited.tool.to_string(),
            figure,
            failure,
        ])?;
        self.sequence += 1;
        self.file.flush()?;
        Ok(())
    }
}
