//! What other tools write for machines: one typed reader each, in one visible list. Streams and jobs that ran at the same time
//! are summed where the form says that they did, and refused where it leaves that open.

mod bench;
mod fio;
mod iperf3;
mod keys;
mod lmbench;
mod perf;
mod sockperf;

use crate::dictionary::DICTIONARY;
use crate::{PublishedRow, PublishedTable, TableColumn};
use serde_json::Value;

/// A reader says `None` of what its tool did not write; else rows, and how they are understood.
type ToolRows = Option<Result<(Vec<PublishedRow>, String), String>>;

impl PublishedRow {
    /// The figures of a document, by where they stand, what they are, and their base units; of those of one column, the last
    /// that is there.
    fn read<S: AsRef<str>>(mut self, of: Option<&Value>, figures: &[(S, TableColumn, f64)]) -> PublishedRow {
        let at = |path: &S| of?.pointer(path.as_ref())?.as_f64();
        self.set(figures.iter().filter_map(|(path, column, scale)| Some((*column, at(path)? * scale))));
        self
    }
}

const OF_JSON: [fn(&Value) -> ToolRows; 6] =
    [iperf3::rows, fio::rows, bench::google, bench::hyperfine, keys::netperf_json, perf::json];
const OF_LINES: [fn(&str) -> ToolRows; 5] =
    [keys::netperf, keys::neper, sockperf::rows, lmbench::rows, perf::separated];

/// The tools that are read, for people.
pub fn tools() -> &'static [String] {
    &DICTIONARY.tools
}

pub fn read(text: &str) -> Option<Result<PublishedTable, String>> {
    let rows = if text.trim_start().starts_with(['{', '[']) {
        let json = documents(text)?;
        OF_JSON.iter().find_map(|read| read(&json))
    } else {
        OF_LINES.iter().find_map(|read| read(text))
    };
    rows.map(|rows| rows.map(|(rows, understood)| PublishedTable::of_tool(rows, understood)))
}

/// One document, or one a line: those are a list.
fn documents(text: &str) -> Option<Value> {
    let whole = serde_json::from_str(text).ok();
    whole.or_else(|| {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let all: Option<Vec<Value>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
        all.filter(|all| !all.is_empty()).map(Value::Array)
    })
}

/// Results of one case in one file may be of processes that ran at once: nobody can tell.
fn several(tool: &str, results: usize) -> String {
    format!(
        "{tool}: {results} results of one case stand in one file, and nothing says whether they ran at the same time: write a file a \
         run, and name the runs with --name '{{mechanism}}_{{run}}'"
    )
}

fn number(of: &Value, path: &str) -> Option<f64> {
    of.pointer(path).and_then(Value::as_f64)
}

fn text<'v>(of: &'v Value, path: &str) -> Option<&'v str> {
    of.pointer(path).and_then(Value::as_str)
}

/// Every tool of the list, and nothing else, with a file of each: tests of the readers.
#[cfg(test)]
mod tests;
