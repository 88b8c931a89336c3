//! A program that is compared, as an entry of `transfers.toml` or `operations.toml`: where it is, how it is called, what is
//! read of what it prints, and what ours is told beside it.

use crate::cell::Cell;
use crate::read::Reading;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use syscost_sys::program;

/// Axes of ours by id, values as on the command line.
pub type Settings = Vec<(String, String)>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Program {
    pub id: String,
    /// What contests call it, where two entries are one program.
    key: Option<String>,
    /// Where to get it.
    pub source: String,
    /// What prints its version; none: the hash of its file is recorded.
    version: Option<String>,
    pub environment: BTreeMap<String, String>,
    /// A transfer's command lines; without a client it is ours, with other settings.
    pub client: Option<String>,
    pub server: Option<String>,
    /// A pair of processes for each stream.
    pub each_stream: bool,
    /// The server ends too and prints the figure, or a part of it.
    pub server_reports: bool,
    /// Seconds after which timeout(1) ends what would not end by itself.
    client_ends_after: Option<u32>,
    server_ends_after: Option<u32>,
    pub read: Option<Reading>,
    /// It is searched for the highest rate (`{rate}`, in bits `{bit_rate}`) that arrives: what it sends and what comes, in one unit.
    pub sent: Option<Reading>,
    pub arrived: Option<Reading>,
    /// What ours is told beside it.
    ours: BTreeMap<String, String>,
    one_thread: bool,
    /// All streams share one thread in versions before this.
    one_thread_before: Option<(u32, u32)>,
    /// Cells that it can do: sizes of a message, streams, TCP_NODELAY.
    bytes: Option<(u64, u64)>,
    streams: Option<(u32, u32)>,
    nodelay: Option<bool>,
    /// Commands that measure operations.
    pub measure: Vec<Measure>,
}

/// One command, and the operations that it measures.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    pub command: String,
    /// A server to start first; it must stay in the foreground and listen on `{port}`.
    pub server: Option<String>,
    /// Two CPUs on different cores; a server gets the second for itself.
    pub two_cpus: bool,
    pub environment: BTreeMap<String, String>,
    /// `{file}` has to be in the page cache when the command starts, page by page.
    pub of_cached_file: bool,
    pub figures: BTreeMap<String, Reading>,
    /// What it does otherwise than we do, and which way that moves the figure.
    pub differs: String,
}

impl Program {
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.id)
    }

    /// The command that measures this operation.
    pub fn measures(&self, contest: &str) -> Option<&Measure> {
        self.measure.iter().find(|measure| measure.figures.contains_key(contest))
    }

    /// The command lines of a client, or of what measures an operation, and of its server.
    pub fn lines(&self, measure: Option<&Measure>) -> Result<(String, Option<String>)> {
        if let Some(measure) = measure {
            return Ok((measure.command.clone(), measure.server.clone()));
        }
        let timed = |line: &String, seconds: Option<u32>| match seconds {
            Some(seconds) => format!("timeout -s INT {seconds} {line}"),
            None => line.clone(),
        };
        let client = self.client.as_ref().context("a transfer has a client")?;
        let server = self.server.as_ref().map(|line| timed(line, self.server_ends_after));
        Ok((timed(client, self.client_ends_after), server))
    }

    /// Finds it on this machine, and what it says of its version; or says why not.
    pub fn find(&self) -> Result<String, String> {
        let lines = self.client.iter().chain(&self.server);
        let mut files = Vec::new();
        for line in lines.chain(self.measure.first().map(|measure| &measure.command)) {
            files.push(file(line.split_whitespace().next().unwrap_or_default())?);
        }
        match &self.version {
            Some(line) => said(line),
            None => files.first().map_or_else(|| Ok("a variant of syscost".into()), |file| fingerprint(file)),
        }
    }

    /// Can it do this cell on equal terms?
    pub fn applies(&self, cell: &Cell) -> bool {
        self.bytes.is_none_or(|(low, high)| (low..=high).contains(&cell.message_bytes))
            && self.streams.is_none_or(|(low, high)| (low..=high).contains(&cell.streams))
            && self.nodelay.is_none_or(|on| on == cell.nodelay)
    }

    /// What ours is told beside it, so that both do the same work.
    pub fn alike(&self, cell: &Cell, version: &str) -> Settings {
        let mut settings: Settings = self.ours.clone().into_iter().collect();
        if self.one_thread || self.one_thread_before.is_some_and(|since| number(version) < since) {
            settings.push(("threads".into(), "1".into()));
            settings.push(("connections".into(), cell.streams.to_string()));
        }
        settings
    }
}

/// `iperf 3.21+ (cJSON 1.7.15)`: 3 and 21.
fn number(version: &str) -> (u32, u32) {
    let digits = version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut numbers = digits.map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The first line that it prints about itself.
pub fn said(line: &str) -> Result<String, String> {
    let mut words = line.split_whitespace();
    let program = file(words.next().unwrap_or_default())?;
    let output = Command::new(&program).args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{} does not start: {error}", program.display()))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map(String::from).ok_or_else(|| format!("{} prints no version", program.display()))
}

/// The file of a name on the PATH, or why it is not here; `{self}` is this program.
fn file(name: &str) -> Result<PathBuf, String> {
    if name == "{self}" {
        // A link to it that was replaced by a new build still runs.
        return Ok(PathBuf::from("/proc").join(std::process::id().to_string()).join("exe"));
    }
    program::named(name, &[]).ok_or_else(|| format!("{name} is not on the PATH"))
}

/// What tells a program without a version from another.
fn fingerprint(file: &Path) -> Result<String, String> {
    let hash = program::sha256_of(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(format!("prints no version; SHA-256 {}", &hash[..12]))
}

/// A command line with what its placeholders stand for; `{name:TEXT}` is the text where the name has a value, else nothing.
pub fn filled(line: &str, values: &[(&str, String)]) -> String {
    let mut text = line.to_string();
    for (name, value) in values {
        text = text.replace(&format!("{{{name}}}"), value);
        while let Some((before, rest)) = text.split_once(&format!("{{{name}:")) {
            let (conditional, after) = rest.split_once('}').unwrap_or((rest, ""));
            text = format!("{before}{}{after}", if value.is_empty() { "" } else { conditional });
        }
    }
    text
}

/// The program and the arguments of a command line, split at blanks.
pub fn words(line: &str) -> Result<(PathBuf, Vec<String>)> {
    let mut words = line.split_whitespace();
    let name = words.next().context("a command names a program")?;
    Ok((file(name).map_err(anyhow::Error::msg)?, words.map(String::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_numbers_and_flags_are_conditional() {
        let versions =
            ["iperf 3.12 (cJSON 1.7.15)", "iperf 3.16", "iperf 3.21+ (cJSON 1.7.15)", "iperf 4.0", "?"];
        assert_eq!(versions.map(|version| number(version) < (3, 16)), [true, false, false, false, true]);
        let values =
            |on: &str| [("streams", "2".to_string()), ("several", on.into()), ("nodelay", on.into())];
        assert_eq!(filled("a {several:-N{streams}} {nodelay:-D} b", &values("x")), "a -N2 -D b");
        assert_eq!(filled("a {several:-N{streams}}{nodelay:-D} b", &values("")), "a  b");
    }
}
