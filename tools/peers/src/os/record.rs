//! The raw record, `operations.csv`: one line per figure, written as it happens, below comment
//! lines with the machine, the programs and the command. The page is made from this file alone.

use super::row;
use crate::recorded;
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The name of our side in the record.
pub const OURS: &str = "syscost";

/// One figure of one tool in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    pub round: u32,
    pub row: String,
    pub tool: String,
    /// What was run, as a person would type it.
    pub command: String,
    /// In the row's unit, or why there is no figure.
    pub outcome: Result<f64, String>,
}

/// A whole record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Label and value: machine, programs, command.
    pub facts: Vec<(String, String)>,
    pub visits: Vec<Visited>,
}

const COLUMNS: [&str; 8] = ["sequence", "round", "row", "tool", "value", "unit", "failure", "command"];

pub struct Recorder {
    file: csv::Writer<File>,
    sequence: u64,
}

/// What has to be alike in all sessions of a record.
const SAME: [&str; 4] = [OURS, "CPU", "kernel", "CPUs used"];

impl Recorder {
    /// Goes on with a record of the same binary and machine; the first round that it lacks.
    pub fn add_to(path: &Path, facts: &[(String, String)]) -> Result<(Recorder, u32)> {
        let record = read(path)?;
        let fact = |facts: &[(String, String)], label: &str| {
            facts.iter().find(|(known, _)| known == label).map(|(_, value)| value.clone())
        };
        for label in SAME {
            let (then, now) = (fact(&record.facts, label), fact(facts, label));
            ensure!(then == now, "the record is of another {label}: {then:?}, not {now:?}");
        }
        let last = record.visits.iter().map(|visit| visit.round).max();
        let file = File::options().append(true).open(path)?;
        let sequence = record.visits.len() as u64;
        Ok((Recorder { file: csv::Writer::from_writer(file), sequence }, last.map_or(0, |last| last + 1)))
    }

    pub fn create(path: &Path, facts: &[(String, String)]) -> Result<Recorder> {
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
        file.flush()?;
        Ok(Recorder { file, sequence: 0 })
    }

    pub fn add(&mut self, visited: &Visited) -> Result<()> {
        let unit = row::find(&visited.row).map_or("", |row| row.unit.symbol());
        let (value, failure) = match &visited.outcome {
            Ok(value) => (value.to_string(), ""),
            Err(reason) => (String::new(), reason.as_str()),
        };
        let (sequence, round) = (self.sequence.to_string(), visited.round.to_string());
        self.file.write_record([
            &sequence,
            &round,
            &visited.row,
            &visited.tool,
            &value,
            unit,
            failure,
            &visited.command,
        ])?;
        self.sequence += 1;
        self.file.flush()?;
        Ok(())
    }
}

pub fn read(path: &Path) -> Result<Record> {
    let (facts, lines) = recorded::read(path, &COLUMNS)?;
    let visits = lines.iter().map(visit).collect::<Result<_>>()?;
    Ok(Record { facts, visits })
}

fn visit(line: &csv::StringRecord) -> Result<Visited> {
    let field = |index: usize| line.get(index).unwrap_or_default();
    let (round, value) = (field(1).parse()?, field(4));
    let outcome = if value.is_empty() { Err(field(6).to_string()) } else { Ok(value.parse()?) };
    let (row, tool, command) = (field(2).to_string(), field(3).to_string(), field(7).to_string());
    if row::find(&row).is_some_and(|known| known.unit.symbol() != field(5)) {
        bail!("row {row} is recorded in {:?}", field(5));
    }
    Ok(Visited { round, row, tool, command, outcome })
}
