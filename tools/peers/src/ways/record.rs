//! The raw record, `ways.csv`: one line per figure, written as it happens, below comment lines with
//! the machine, the programs and the commands. The page is made from this file alone.

use crate::cell::{Cell, Path};
use crate::recorded;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path as FilePath;

/// The name of our side in the record.
pub const OURS: &str = "syscost";

/// One figure of one tool in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    pub contest: String,
    pub cell: Cell,
    pub round: u32,
    pub tool: String,
    /// In the contest's unit, or why there is no figure.
    pub outcome: Result<f64, String>,
    pub unit: String,
}

/// A whole record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Label and value: machine, programs, commands.
    pub facts: Vec<(String, String)>,
    pub visits: Vec<Visited>,
}

const COLUMNS: [&str; 9] =
    ["contest", "path", "nodelay", "message_bytes", "round", "tool", "value", "unit", "failure"];

pub struct Recorder {
    file: csv::Writer<File>,
}

impl Recorder {
    /// Begins with what is kept of an earlier record.
    pub fn create(path: &FilePath, facts: &[(String, String)], kept: &[Visited]) -> Result<Recorder> {
        let cannot = || format!("cannot write {}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(cannot)?;
        }
        let mut file = File::create(path).with_context(cannot)?;
        for (label, value) in facts {
            writeln!(file, "# {label}: {}", value.replace('\n', " "))?;
        }
        let mut file = csv::Writer::from_writer(file);
        file.write_record(COLUMNS)?;
        let mut recorder = Recorder { file };
        kept.iter().try_for_each(|visited| recorder.add(visited))?;
        recorder.file.flush()?;
        Ok(recorder)
    }

    pub fn add(&mut self, visited: &Visited) -> Result<()> {
        let (value, failure) = match &visited.outcome {
            Ok(value) => (value.to_string(), ""),
            Err(reason) => (String::new(), reason.as_str()),
        };
        let (round, bytes) = (visited.round.to_string(), visited.cell.message_bytes.to_string());
        self.file.write_record([
            &visited.contest,
            &visited.cell.path.to_string(),
            visited.cell.nodelay_text(),
            &bytes,
            &round,
            &visited.tool,
            &value,
            &visited.unit,
            failure,
        ])?;
        self.file.flush()?;
        Ok(())
    }
}

pub fn read(path: &FilePath) -> Result<Record> {
    let (facts, lines) = recorded::read(path, &COLUMNS)?;
    let visits = lines.iter().map(visit).collect::<Result<_>>()?;
    Ok(Record { facts, visits })
}

fn visit(line: &csv::StringRecord) -> Result<Visited> {
    let field = |index: usize| line.get(index).unwrap_or_default();
    let path: Path = field(1).parse().map_err(anyhow::Error::msg)?;
    let cell = Cell { path, nodelay: field(2) == "on", streams: 1, message_bytes: field(3).parse()? };
    let outcome = if field(6).is_empty() { Err(field(8).to_string()) } else { Ok(field(6).parse()?) };
    let (contest, tool, unit) = (field(0).to_string(), field(5).to_string(), field(7).to_string());
    Ok(Visited { contest, cell, round: field(4).parse()?, tool, outcome, unit })
}
