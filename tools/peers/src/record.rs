//! A raw record as all comparisons write it: comment lines with the machine, the programs and the commands, then a line
//! for each visit, written as it happens. The pages are made from this file alone.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Write;
use std::path::Path;

const BEGIN: &str = "<!-- peers:begin (generated; edits are lost) -->";
const END: &str = "<!-- peers:end -->";

/// A whole record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<T> {
    /// Label and value: machine, programs, commands.
    pub facts: Vec<(String, String)>,
    pub visits: Vec<T>,
}

pub struct Recorder {
    file: csv::Writer<File>,
}

impl Recorder {
    /// Begins with what is kept of an earlier record.
    pub fn create<T: Serialize>(path: &Path, facts: &[(String, String)], kept: &[T]) -> Result<Recorder> {
        let cannot = || format!("cannot write {}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(cannot)?;
        }
        let mut file = File::create(path).with_context(cannot)?;
        for (label, value) in facts {
            writeln!(file, "# {label}: {}", value.replace('\n', " "))?;
        }
        let mut recorder = Recorder { file: csv::Writer::from_writer(file) };
        kept.iter().try_for_each(|visited| recorder.add(visited))?;
        Ok(recorder)
    }

    pub fn add<T: Serialize>(&mut self, visited: &T) -> Result<()> {
        self.file.serialize(visited)?;
        Ok(self.file.flush()?)
    }
}

pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Record<T>> {
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
    Ok(Record { facts, visits })
}

/// Replaces what is between a page's markers.
pub fn splice(file: &Path, generated: &str) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (Some(begin), Some(end)) = (text.find(BEGIN), text.find(END)) else {
        bail!("{} lacks the markers {BEGIN} and {END}", file.display());
    };
    let spliced = format!("{}{BEGIN}\n\n{generated}\n{}", &text[..begin], &text[end..]);
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
