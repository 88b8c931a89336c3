//! The raw record: one line per visit, written as it happens, below comment lines with the machine,
//! the programs and the commands. The pages are made from this file alone.

use crate::cell::{Cell, Path};
use crate::recorded;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path as FilePath;

/// Who was visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Ours,
    Theirs,
}

/// One visit, of four that hold a program against ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    pub contest: String,
    pub cell: Cell,
    pub program: String,
    pub round: u32,
    /// Which of the four, from 0.
    pub turn: u32,
    pub side: Side,
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

const COLUMNS: [&str; 12] = [
    "contest",
    "path",
    "nodelay",
    "streams",
    "message_bytes",
    "program",
    "round",
    "turn",
    "side",
    "value",
    "unit",
    "failure",
];

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
            Ok(value) => (value.to_string(), String::new()),
            Err(reason) => (String::new(), reason.clone()),
        };
        let cell = &visited.cell;
        self.file.write_record([
            visited.contest.clone(),
            cell.path.to_string(),
            cell.nodelay_text().into(),
            cell.streams.to_string(),
            cell.message_bytes.to_string(),
            visited.program.clone(),
            visited.round.to_string(),
            visited.turn.to_string(),
            if visited.side == Side::Ours { "syscost" } else { "program" }.into(),
            value,
            visited.unit.clone(),
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
    let cell = Cell {
        path,
        nodelay: field(2) == "on",
        streams: field(3).parse()?,
        message_bytes: field(4).parse()?,
    };
    let outcome = if field(9).is_empty() { Err(field(11).to_string()) } else { Ok(field(9).parse()?) };
    Ok(Visited {
        contest: field(0).into(),
        cell,
        program: field(5).into(),
        round: field(6).parse()?,
        turn: field(7).parse()?,
        side: if field(8) == "syscost" { Side::Ours } else { Side::Theirs },
        outcome,
        unit: field(10).into(),
    })
}
