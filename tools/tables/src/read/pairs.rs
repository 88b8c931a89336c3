//! What programs print of each run: `key=value` or `Key: value`, several in a line or one below the other, under a line
//! that names the way. A key that comes again begins the next row.

use super::heading::TableHeading;
use super::layout::TableRecord;
use super::worded::{self, WordedLine};
use super::{row_labels, titles};
use crate::{ColumnMapping, TableColumn, cells, naming, unit, vocabulary};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::count;

/// Of the lines, so many must hold pairs or names.
const MOST: f64 = 0.5;
/// Of lines among others.
const FEWEST_KEYS: usize = 3;
/// A longer key is a sentence.
const LONGEST_KEY: usize = 40;

pub struct PairsRecords {
    pub all: Vec<TableRecord>,
    /// A line that was taken for a name says figures.
    pub figures: bool,
    /// What is left out.
    pub said: Option<String>,
}

/// `None`: another text.
pub fn records(text: &str, mapping: &ColumnMapping) -> Option<PairsRecords> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.chars().any(char::is_alphanumeric));
    let known = lines.clone().filter(|(_, line)| !pairs(line).1.is_empty()).count();
    // To look for names costs time.
    if (known as f64) < MOST * lines.clone().count() as f64 && !alike(text) {
        return None;
    }
    let mut blocks = PairsReading::default();
    let (mut figures, mut sums) = (false, 0);
    for (index, line) in lines {
        let (before, pairs) = pairs(line);
        let alone = pairs.is_empty();
        if blocks.is_sum(&pairs) {
            blocks.end();
            sums += 1;
            continue;
        }
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
            blocks.name = name.unwrap_or_else(|| named(before).into());
        } else if let Some(label) = label(before, mapping) {
            blocks.end();
            blocks.name = label.into();
        }
        pairs.into_iter().for_each(|(key, value)| blocks.add(index + 1, key, value));
    }
    blocks.end();
    blocks.without_repeated();
    let said = (sums > 0).then(|| format!("{} of averages of others left out", count(sums, "line")));
    let understood = |key: &&String| TableHeading::of(key, mapping).is_plain();
    // One row alone must say what its figures are.
    let measured = |row: &PairsRow| {
        row.pairs.iter().any(|(_, value)| {
            unit::number(value, unit::DecimalMark::Point)
                .is_some_and(|(.., of)| of.is_some_and(|of| unit::parse(of).is_ok()))
        })
    };
    let enough = blocks.rows.len() > 1 || blocks.rows.iter().any(measured);
    (enough && blocks.keys.iter().filter(understood).count() > 1).then(|| PairsRecords {
        all: blocks.records(),
        figures,
        said,
    })
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

fn named(line: &str) -> &str {
    let name = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    // `call (0 args)`
    name.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == ')' && name.contains('(')))
}

/// `getpid: mean = 25.7, sd = 3.6`: whose pairs these are. The number of a run is no name.
fn label<'t>(before: &'t str, mapping: &ColumnMapping) -> Option<&'t str> {
    let name = before.trim().strip_suffix(':').filter(|name| name.starts_with(char::is_alphabetic))?;
    let last = name.rsplit([' ', '#']).next().unwrap_or_default();
    let counts = last.bytes().all(|b| b.is_ascii_digit()) || TableHeading::of(name, mapping).place.is_some();
    (!counts).then_some(named(name))
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

    /// `size: 64, average time: 12.1, average cycles: 320` below rows with a time and cycles.
    fn is_sum(&self, pairs: &[(&str, String)]) -> bool {
        let of_others = |key: &str| {
            let (first, rest) = key.split_once([' ', '_']).unwrap_or((key, ""));
            naming::MEANS.contains(&first.to_lowercase().as_str())
                && self.keys.iter().any(|known| known == rest)
        };
        let results: Vec<&str> = pairs.iter().map(|(key, _)| *key).filter(|key| is_result(key)).collect();
        results.len() > 1 && results.into_iter().all(of_others)
    }

    /// What the next row says, too, beside its results is no row.
    fn without_repeated(&mut self) {
        let results = |row: &PairsRow| row.pairs.iter().any(|(key, _)| is_result(key));
        let columns = |row: &PairsRow| row.pairs.iter().map(|(key, _)| column(key)).collect::<BTreeSet<_>>();
        let repeated = |pair: &[PairsRow]| {
            !results(&pair[0]) && results(&pair[1]) && columns(&pair[0]).is_subset(&columns(&pair[1]))
        };
        let mut kept = self.rows.windows(2).map(|pair| !repeated(pair)).collect::<Vec<_>>().into_iter();
        self.rows.retain(|_| kept.next().unwrap_or(true));
        let used = |key: &String| self.rows.iter().any(|row| row.pairs.iter().any(|(known, _)| known == key));
        self.keys = self.keys.iter().filter(|key| used(key)).cloned().collect();
    }

    fn records(self) -> Vec<TableRecord> {
        let names: BTreeSet<&String> = self.rows.iter().map(|row| &row.name).collect();
        // `IPC-Method: pipe`: a key that all names have is no part of them.
        let keys: BTreeSet<_> = names.iter().map(|name| name.split_once(": ").map(|(key, _)| key)).collect();
        let keyed = keys.len() == 1 && !keys.contains(&None);
        let bare =
            |name: &String| name.split_once(": ").filter(|_| keyed).map_or(name.clone(), |(_, of)| of.into());
        // A name above a mean and its deviation is no way to send.
        let mean = |key: &&String| row_labels::MEANS.contains(&vocabulary::bare(key).as_str());
        let spread = |key: &String| column(key) == Some(TableColumn::Spread);
        let means = self.keys.iter().find(mean).filter(|mean| {
            !self.named && self.keys.len() > 1 && self.keys.iter().all(|key| key == *mean || spread(key))
        });
        // Rows that name the way themselves take no name from the lines between them.
        let own = |key: &String| column(key) == Some(TableColumn::Mechanism);
        let named = (self.named || names.len() > 1) && !self.keys.iter().any(own);
        let name = |text: &str| named.then(|| text.to_string());
        let whose = name(if means.is_some() { "operation" } else { "mechanism" });
        let heading = |key: &String| if means == Some(key) { "measured".into() } else { key.clone() };
        let first = whose.into_iter().chain(self.keys.iter().map(heading)).collect();
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

fn column(key: &str) -> Option<TableColumn> {
    naming::column_of(key).map(|named| named.column)
}

/// What a run is made for: how many messages there were is told of it.
fn is_result(key: &str) -> bool {
    column(key).is_some_and(|of| of.is_measure() && of != TableColumn::Messages)
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
        let key = head[from..].trim_start_matches(['.', ' ']).trim_end();
        let rest = &line[found + 1..];
        let next = rest.find(mark).map_or(rest.len(), |next| {
            let until = rest[..next].trim_end();
            // `12 us, Avg Latency: `: a key of several words stands behind a mark.
            let several =
                until.rfind([',', ';', '|', '\t']).or_else(|| until.rfind(". ")).filter(|_| mark == ':');
            // `683732 per elem: 0.68 ns`
            let each = || until.rfind(" per ");
            several.or_else(each).or_else(|| until.rfind([' ', ',', ';', '\t'])).unwrap_or(next)
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
            let records = records(text, &ColumnMapping::default()).map_or(Vec::new(), |records| records.all);
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
