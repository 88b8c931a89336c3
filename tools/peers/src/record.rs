//! A raw record as all comparisons write it: comment lines with the machine, the programs and the commands, then a line
//! for each visit, written as it happens. The pages are made from this file alone.

use crate::cell::{Cell, Path};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path as FilePath;

/// The fact that names our build.
pub const OURS: &str = "syscost";

/// Who was visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    #[serde(rename = "syscost")]
    Ours,
    #[serde(rename = "program")]
    Theirs,
}

/// One visit, of four that hold a program against ours: a line of the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Visited {
    #[serde(alias = "row")]
    pub contest: String,
    pub path: Path,
    /// `on` or `off`
    pub nodelay: String,
    pub streams: u32,
    pub message_bytes: u64,
    #[serde(alias = "tool")]
    pub program: String,
    pub round: u32,
    /// Which of the four, from 0.
    pub turn: u32,
    /// Always known but in docs/runs/operations.csv, whose rounds have one visit of ours for all programs.
    pub side: Option<Side>,
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

/// A whole record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Label and value: machine, programs, commands.
    pub facts: Vec<(String, String)>,
    pub visits: Vec<Visited>,
}

pub struct Recorder {
    file: csv::Writer<File>,
}

impl Recorder {
    pub fn create(path: &FilePath, facts: &[(String, String)]) -> Result<Recorder> {
        let cannot = || format!("cannot write {}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(cannot)?;
        }
        let mut file = File::create(path).with_context(cannot)?;
        for (label, value) in facts {
            writeln!(file, "# {label}: {}", value.replace('\n', " "))?;
        }
        Ok(Recorder { file: csv::Writer::from_writer(file) })
    }

    pub fn add(&mut self, visited: &Visited) -> Result<()> {
        self.file.serialize(visited)?;
        Ok(self.file.flush()?)
    }
}

pub fn read(path: &FilePath) -> Result<Record> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let facts = text
        .lines()
        .map_while(|line| line.strip_prefix("# ")?.split_once(": "))
        .map(|(label, value)| (label.to_string(), value.to_string()))
        .collect();
    let body: String =
        text.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
    let visits = csv::Reader::from_reader(body.as_bytes()).deserialize().collect::<Result<_, _>>();
    let visits = visits.with_context(|| format!("{} is not a record of this comparison", path.display()))?;
    Ok(Record { facts, visits: quads(visits) })
}

/// Where a round has one visit of ours for all programs, each program beside it, as a quad in which both count twice.
fn quads(visits: Vec<Visited>) -> Vec<Visited> {
    let (mut quads, single): (Vec<Visited>, Vec<Visited>) =
        visits.into_iter().partition(|visit| visit.side.is_some());
    let (ours, theirs): (Vec<Visited>, Vec<Visited>) =
        single.into_iter().partition(|visit| visit.program == OURS);
    // Variants of ours, which were measured then, are no programs.
    for visit in theirs.into_iter().filter(|visit| !visit.program.starts_with(OURS)) {
        let same = |one: &&Visited| (&one.contest, one.round) == (&visit.contest, visit.round);
        let own = ours.iter().find(same).map(|own| Visited { program: visit.program.clone(), ..own.clone() });
        let both = own.map(|own| (own, Side::Ours)).into_iter().chain([(visit, Side::Theirs)]);
        quads.extend(
            both.flat_map(|(one, side)| [0, 1].map(|turn| Visited { turn, side: Some(side), ..one.clone() })),
        );
    }
    quads
}

/// Replaces what is between a page's markers of this name.
pub fn splice(file: &FilePath, mark: &str, generated: &str) -> Result<()> {
    let begins = format!("<!-- peers:begin {mark} (generated; edits are lost) -->");
    let ends = format!("<!-- peers:end {mark} -->");
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (Some(begin), Some(end)) = (text.find(&begins), text.find(&ends)) else {
        bail!("{} lacks the markers {begins} and {ends}", file.display());
    };
    let spliced = format!("{}{begins}\n\n{generated}\n{}", &text[..begin], &text[end..]);
    std::fs::write(file, spliced).with_context(|| format!("cannot write {}", file.display()))
}

/// A Markdown table.
pub fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head = format!("| {} |\n|{}\n", headers.join(" | "), "---|".repeat(headers.len()));
    head + &rows.into_iter().map(|cells| line(&cells)).collect::<String>()
}

/// The command line as a user would type it.
pub fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo run --release -p syscost-peers -- {}", arguments.join(" "))
}
