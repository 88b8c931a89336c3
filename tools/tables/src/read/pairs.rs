//! What programs print of each run: `key=value` or `Key: value`, several in a line or one below the other, under a line
//! that names the way. A key that comes again begins the next row.

use super::heading::TableHeading;
use super::layout::TableRecord;
use super::titles;
use super::worded::{self, WordedLine};
use crate::{ColumnMapping, TableColumn, cells, naming, unit};
use std::collections::{BTreeMap, BTreeSet};

/// Of the lines, so many must hold pairs or names.
const MOST: f64 = 0.5;
/// Of lines among others.
const FEWEST_KEYS: usize = 3;
/// A longer key is a sentence.
const LONGEST_KEY: usize = 40;

/// And whether a line that was taken for a name says figures. `None`: another text.
pub fn records(text: &str, mapping: &ColumnMapping) -> Option<(Vec<TableRecord>, bool)> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.chars().any(char::is_alphanumeric));
    let known = lines.clone().filter(|(_, line)| !pairs(line).1.is_empty()).count();
    // To look for names costs time.
    if (known as f64) < MOST * lines.clone().count() as f64 && !alike(text) {
        return None;
    }
    let mut blocks = PairsReading::default();
    let mut figures = false;
    for (index, line) in lines {
        let (before, pairs) = pairs(line);
        let alone = pairs.is_empty();
        figures = figures || alone && worded::lines(line, mapping).iter().any(WordedLine::has_figures);
        let place = titles::of(before, mapping).map(|title| title.place).unwrap_or_default();
        let name = place.mechanism.clone();
        if name.is_some() || alone {
            blocks.end();
            if alone {
                blocks.places =
                    place.as_cells().into_iter().filter(|(heading, _)| *heading != "mechanism").collect();
            }
            blocks.named = name.is_some() || blocks.named;
            blocks.name = name.unwrap_or_else(|| before.trim_matches(|c: char| !c.is_alphanumeric()).into());
        }
        pairs.into_iter().for_each(|(key, value)| blocks.add(index + 1, key, value));
    }
    blocks.end();
    let understood = |key: &&String| TableHeading::of(key, mapping).is_plain();
    // One row alone must say what its figures are.
    let measured = |row: &PairsRow| {
        row.pairs.iter().any(|(_, value)| {
            unit::number(value, unit::DecimalMark::Point)
                .is_some_and(|(.., of)| of.is_some_and(|of| unit::parse(of).is_ok()))
        })
    };
    let enough = blocks.rows.len() > 1 || blocks.rows.iter().any(measured);
    (enough && blocks.keys.iter().filter(understood).count() > 1).then(|| (blocks.records(), figures))
}

/// The figures of one run whose keys are known. `None`: it has none.
pub fn of_one_run(text: &str) -> Option<Vec<TableRecord>> {
    let known = |key: &str| {
        TableHeading::of(key, &ColumnMapping::default()).column.is_some_and(TableColumn::is_measure)
    };
    let all: Vec<(&str, String)> =
        text.lines().flat_map(|line| pairs(line).1).filter(|(key, _)| known(key)).collect();
    let (keys, values): (Vec<String>, Vec<String>) =
        all.into_iter().map(|(key, of)| (key.to_string(), of)).unzip();
    // A table has two columns.
    let record = |line, first: &str, cells: Vec<String>| TableRecord {
        line,
        cells: [vec![first.into()], cells].concat(),
    };
    (!keys.is_empty()).then(|| vec![record(1, "mechanism", keys), record(2, "program", values)])
}

/// Among other lines, those of results have the same keys.
fn alike(text: &str) -> bool {
    let keys = |line| pairs(line).1.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    let mut all: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for keys in text.lines().map(keys).filter(|keys| keys.len() >= FEWEST_KEYS) {
        *all.entry(keys).or_default() += 1;
    }
    all.values().any(|lines| *lines > 1)
}

struct PairsRow {
    line: usize,
    name: String,
    pairs: Vec<(String, String)>,
}

/// The rows so far, and the one that is being read.
#[derive(Default)]
struct PairsReading {
    keys: Vec<String>,
    rows: Vec<PairsRow>,
    row: Vec<(String, String)>,
    line: usize,
    name: String,
    /// The size and the threads that a line above says.
    places: Vec<(&'static str, String)>,
    /// A name of a way to send was among the lines.
    named: bool,
}

impl PairsReading {
    fn add(&mut self, line: usize, key: &str, value: String) {
        if self.row.iter().any(|(known, _)| known == key) {
            self.end();
        }
        if self.row.is_empty() {
            self.line = line;
        }
        if !self.keys.iter().any(|known| known == key) {
            self.keys.push(key.into());
        }
        self.row.push((key.into(), value));
    }

    fn end(&mut self) {
        if !self.row.is_empty() {
            let mut pairs = std::mem::take(&mut self.row);
            let column = |key: &str| naming::column_of(key).map(|named| named.column);
            for (heading, text) in self.places.clone() {
                if !pairs.iter().any(|(known, _)| column(known) == column(heading)) {
                    if !self.keys.iter().any(|known| known == heading) {
                        self.keys.push(heading.into());
                    }
                    pairs.push((heading.into(), text));
                }
            }
            self.rows.push(PairsRow { line: self.line, name: self.name.clone(), pairs });
        }
    }

    fn records(self) -> Vec<TableRecord> {
        let names: BTreeSet<&String> = self.rows.iter().map(|row| &row.name).collect();
        // `IPC-Method: pipe`: a key that all names have is no part of them.
        let keys: BTreeSet<_> = names.iter().map(|name| name.split_once(": ").map(|(key, _)| key)).collect();
        let keyed = keys.len() == 1 && !keys.contains(&None);
        let bare =
            |name: &String| name.split_once(": ").filter(|_| keyed).map_or(name.clone(), |(_, of)| of.into());
        // Rows that name the way themselves take no name from the lines between them.
        let own =
            |key: &String| naming::column_of(key).is_some_and(|named| named.column == TableColumn::Mechanism);
        let named = (self.named || names.len() > 1) && !self.keys.iter().any(own);
        let name = |text: &str| named.then(|| text.to_string());
        let first = name("mechanism").into_iter().chain(self.keys.iter().cloned()).collect();
        let row = |row: &PairsRow| {
            let cell = |key: &String| {
                row.pairs
                    .iter()
                    .find(|(known, _)| known == key)
                    .map(|(_, text)| text.clone())
                    .unwrap_or_default()
            };
            let cells = name(&bare(&row.name)).into_iter().chain(self.keys.iter().map(cell)).collect();
            TableRecord { line: row.line, cells }
        };
        let rows: Vec<TableRecord> = self.rows.iter().map(row).collect();
        std::iter::once(TableRecord { line: 1, cells: first }).chain(rows).collect()
    }
}

/// What stands before the pairs of a line, and the pairs.
fn pairs(line: &str) -> (&str, Vec<(&str, String)>) {
    let mark = if line.contains('=') { '=' } else { ':' };
    let mut pairs: Vec<(&str, String)> = Vec::new();
    let mut before = None;
    let mut at = 0;
    while let Some(found) = line[at..].find(mark).map(|found| at + found) {
        let head = &line[at..found];
        let from = if mark == '=' {
            head.trim_end().rfind([' ', ',', ';', '\t', '[', '(']).map_or(0, |i| i + 1)
        } else {
            head.rfind([',', ';', ']', '|', '\t']).map_or(0, |i| i + 1)
        };
        // `Procedure call, 7 args: 12.9 cycles` is one name.
        let whole = mark == ':' && at == 0 && line.matches(mark).count() == 1;
        let from = if whole && naming::column_of(head[from..].trim()).is_none() { 0 } else { from };
        let key = head[from..].trim();
        let rest = &line[found + 1..];
        let next = rest.find(mark).map_or(rest.len(), |next| {
            let until = rest[..next].trim_end();
            // `12 us, Avg Latency: `: a key of several words stands behind a mark.
            let several = until.rfind([',', ';', '|', '\t']).filter(|_| mark == ':');
            several.or_else(|| until.rfind([' ', ',', ';', '\t'])).unwrap_or(next)
        });
        let value = rest[..next].trim().trim_end_matches([',', ';', ']', ')', '|']).trim();
        let is_key =
            key.starts_with(char::is_alphabetic) && key.len() <= LONGEST_KEY && !line.starts_with('|');
        let figure = unit::number(cells::plain(value), unit::DecimalMark::Point).is_some();
        if is_key && (figure || mark == '=' && !value.is_empty()) {
            before.get_or_insert(&line[..at + from]);
            pairs.push((key, value.to_string()));
        }
        at = found + 1 + next;
    }
    (before.unwrap_or(line), pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_blocks_are_rows() {
        let of = |text: &str| -> Vec<String> {
            let (records, _) = records(text, &ColumnMapping::default()).unwrap_or_default();
            records.iter().map(|record| record.cells.join("|")).collect()
        };
        let rows = ["mechanism|size|threads|throughput", "two_copy|64|1|0.25 Gbps", "one_copy|64|1|0.5 Gbps"];
        assert_eq!(
            of(
                "[two_copy] size=64 threads=1 throughput=0.25 Gbps\n[one_copy] size=64, threads=1, throughput=0.5 Gbps\n"
            ),
            rows
        );
        let block = |name: &str, gbps: &str| {
            format!("=== Running {name} ===\nsize: 64, threads: 1\n  throughput: {gbps} Gbps\n\n")
        };
        assert_eq!(of(&(block("two_copy", "0.25") + &block("one_copy", "0.5"))), rows);
        let pipe =
            |name: &str| format!("#### {name}:\n```\nMessage size: 128\nMessage rate: 36539 msg/s\n```\n");
        assert_eq!(of(&(pipe("Pipe") + &pipe("FIFO")))[1], "Pipe|128|36539 msg/s");
        for text in [
            "impl,size,T=1\nA1,64,2\nA2,64,3\n",
            "time,impl\n2026-02-01 10:00:01,A1\n2026-02-01 10:00:02,A1\n",
        ] {
            assert!(of(text).is_empty(), "{text}");
        }
    }
}
