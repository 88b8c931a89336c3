//! A raw record as all comparisons write it: comment lines with the machine, the programs and the commands, then a line
//! for each visit or trial, written as it happens. The pages are made from this file alone.

use crate::cell::{Cell, Path};
use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
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

/// Label and value: machine, programs, commands.
pub type Facts = Vec<(String, String)>;

/// A whole record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub facts: Facts,
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
            // The first colon ends the label.
            writeln!(file, "# {}: {}", label.replace(':', ","), value.replace('\n', " "))?;
        }
        Ok(Recorder { file: csv::Writer::from_writer(file) })
    }

    pub fn add(&mut self, line: &impl Serialize) -> Result<()> {
        self.file.serialize(line)?;
        Ok(self.file.flush()?)
    }
}

/// The facts of a record, and its lines.
pub fn lines<T: DeserializeOwned>(path: &FilePath) -> Result<(Facts, Vec<T>)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (facts, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("# "));
    let fact = |line: &str| {
        let (label, value) = line.strip_prefix("# ")?.split_once(": ")?;
        Some((label.to_string(), value.to_string()))
    };
    let facts = facts.into_iter().filter_map(fact).collect();
    let lines = csv::Reader::from_reader(lines.join("\n").as_bytes()).deserialize().collect::<Result<_, _>>();
    let lines = lines.with_context(|| format!("{} is not a record of this comparison", path.display()))?;
    Ok((facts, lines))
}

pub fn read(path: &FilePath) -> Result<Record> {
    let (facts, visits) = lines(path)?;
    Ok(Record { facts, visits })
}

/// The facts as a table.
pub fn measured_with(facts: &Facts) -> String {
    let row = |(label, value): &(String, String)| vec![label.clone(), value.replace('|', "/")];
    table(&["measured with", ""], facts.iter().map(row))
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
