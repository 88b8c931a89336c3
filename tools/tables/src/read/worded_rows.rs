//! Lines in words that say the same again with other figures are rows: which figures belong together, and whose they are.

use super::layout::TableRecord;
use super::worded::{self, WordedItem, WordedLine};
use crate::ColumnMapping;
use std::collections::{BTreeMap, BTreeSet};

/// Of the lines with figures, so many must come again.
const MOST: f64 = 0.5;
const PLACES: &[&str] = &["mechanism", "variant", "size", "threads", "run"];

pub struct WordedRecords<'t> {
    pub all: Vec<TableRecord>,
    /// Lines with figures that are not read.
    pub left: Vec<&'t str>,
    /// Lines with figures that nothing calls by a name.
    pub lost: Vec<&'t str>,
}

/// `None`: another text.
pub fn records<'t>(text: &'t str, mapping: &ColumnMapping) -> Option<WordedRecords<'t>> {
    let lines = worded::lines(text, mapping);
    let mut shapes: BTreeMap<Vec<String>, Vec<&WordedLine>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.has_figures()) {
        shapes.entry(line.shape()).or_default().push(line);
    }
    let figures: usize = shapes.values().map(Vec::len).sum();
    shapes.retain(|_, all| all.len() > 1);
    let regular: usize = shapes.values().map(Vec::len).sum();
    if figures == 0 || (regular as f64) < MOST * figures as f64 {
        return None;
    }
    let names: BTreeMap<usize, String> = shapes.values().flat_map(|all| names(all)).collect();
    let left = |line: &&WordedLine| {
        let silent = line.items.is_empty() && line.text.contains(|c: char| c.is_ascii_digit());
        line.has_figures() && !shapes.contains_key(&line.shape()) || silent
    };
    let rows = |behind| {
        let mut rows = WordedRows { behind, ..Default::default() };
        for line in lines.iter().filter(|line| !left(line)) {
            if let Some(name) = names.get(&line.line) {
                rows.add(line, &WordedItem::Place("variant", name.clone()));
            }
            line.items.iter().for_each(|item| rows.add(line, item));
        }
        rows.end();
        rows
    };
    // Places stand before their figures or behind them: as fewer are missing.
    let rows = [false, true].map(rows).into_iter().min_by_key(WordedRows::missing)?;
    let (all, others) = rows.records()?;
    let lost = lines.iter().filter(|line| line.lost && !left(line)).map(|line| line.text).collect();
    let left = lines.iter().filter(|line| left(line) || others.contains(&line.line));
    Some(WordedRecords { all, left: left.map(|line| line.text).collect(), lost })
}

/// The words in which lines of one shape differ are names, each by its line.
fn names(lines: &[&WordedLine]) -> Vec<(usize, String)> {
    let words = |line: &WordedLine| -> Vec<String> {
        line.rest.iter().filter(|word| !is_clock(word)).cloned().collect()
    };
    let rests: Vec<Vec<String>> = lines.iter().map(|line| words(line)).collect();
    let width = rests[0].len();
    let alike = rests.iter().all(|rest| rest.len() == width);
    let values = |at: usize| rests.iter().map(|rest| rest[at].as_str()).collect::<BTreeSet<_>>();
    // Numbers that never come again count lines, or name processes.
    let counts = |all: &BTreeSet<&str>| {
        all.len() == lines.len() && all.iter().all(|word| !word.contains(char::is_alphabetic))
    };
    let differs = |at: &usize| values(*at).len() > 1 && !counts(&values(*at));
    let differing: Vec<usize> = if alike { (0..width).filter(differs).collect() } else { Vec::new() };
    let name = |rest: &Vec<String>| match alike {
        true => differing.iter().map(|at| rest[*at].clone()).collect::<Vec<_>>().join(" "),
        false => rest.join(" "),
    };
    let all = lines.iter().zip(&rests).map(|(line, rest)| (line.line, name(rest)));
    all.filter(|(_, name)| name.contains(char::is_alphanumeric)).collect()
}

/// `12:00:01`, `2026-02-04`
fn is_clock(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let marks = word.chars().filter(|c| matches!(c, ':' | '-' | '/' | '.')).count();
    digits > 2 && marks > 1 && !word.contains(|c: char| c.is_alphabetic() && c != 'T' && c != 'Z')
}

#[derive(Default)]
struct WordedRow {
    line: usize,
    cells: BTreeMap<String, String>,
    /// It has a figure that a run is made for.
    results: bool,
    figures: bool,
}

/// A row ends where one of its columns comes again; places that stand before figures hold until others are said.
#[derive(Default)]
struct WordedRows {
    /// Keys of columns in order, each with its heading.
    columns: Vec<(String, String)>,
    rows: Vec<WordedRow>,
    row: WordedRow,
    /// Places that still hold.
    above: BTreeMap<String, String>,
    /// Places may stand behind figures; these do.
    behind: bool,
    places_behind: BTreeSet<String>,
}

impl WordedRows {
    fn add(&mut self, line: &WordedLine, item: &WordedItem) {
        let key = item.key();
        let (heading, cell, place) = match item {
            WordedItem::Place(heading, cell) => (heading.to_string(), cell, true),
            WordedItem::Figure { heading, cell, .. } => (heading.clone(), cell, false),
        };
        let known = self.columns.iter().any(|(known, _)| *known == key);
        if self.behind && place && self.row.results && !known {
            self.places_behind.insert(key.clone());
        }
        let titled = !self.places_behind.contains(&key) && !line.has_figures();
        let begins = place && self.row.results && (self.above.contains_key(&key) || titled);
        if self.row.cells.contains_key(&key) || begins {
            self.end();
        }
        if !known {
            self.columns.push((key.clone(), heading));
        }
        if !self.row.figures {
            self.row.line = line.line;
        }
        self.row.cells.insert(key.clone(), cell.clone());
        self.row.results |= item.is_result();
        self.row.figures |= !place;
        if place && !self.places_behind.contains(&key) {
            self.above.insert(key, cell.clone());
        }
    }

    fn end(&mut self) {
        if self.row.figures {
            let mut row = std::mem::take(&mut self.row);
            for (key, cell) in &self.above {
                row.cells.entry(key.clone()).or_insert_with(|| cell.clone());
            }
            self.rows.push(row);
        }
    }

    /// Cells without a figure or a place; and places without figures at the end.
    fn missing(&self) -> usize {
        let cells: usize = self.rows.iter().map(|row| self.columns.len() - row.cells.len()).sum();
        cells + if self.row.cells.is_empty() { 0 } else { self.rows.len() }
    }

    /// And the lines of rows without results. `None`: too few rows with results.
    fn records(mut self) -> Option<(Vec<TableRecord>, BTreeSet<usize>)> {
        let others = self.rows.iter().filter(|row| !row.results).map(|row| row.line).collect();
        self.rows.retain(|row| row.results);
        // Places first, as in a table.
        self.columns.sort_by_key(|(key, _)| !PLACES.contains(&key.as_str()));
        let used = |key: &String| self.rows.iter().any(|row| row.cells.contains_key(key));
        let columns: Vec<&(String, String)> = self.columns.iter().filter(|(key, _)| used(key)).collect();
        let heading = columns.iter().map(|(_, heading)| heading.clone()).collect();
        let cells = |row: &WordedRow| {
            columns.iter().map(|(key, _)| row.cells.get(key).cloned().unwrap_or_default()).collect()
        };
        let rows = self.rows.iter().map(|row| TableRecord { line: row.line, cells: cells(row) });
        let line = self.rows.first().filter(|_| self.rows.len() > 1)?.line;
        Some((std::iter::once(TableRecord { line, cells: heading }).chain(rows).collect(), others))
    }
}

#[cfg(test)]
mod tests {
    use crate::ColumnMapping;

    fn rows(text: &str) -> Vec<String> {
        let records = super::records(text, &ColumnMapping::default());
        records.map_or(Vec::new(), |of| of.all.iter().map(|record| record.cells.join("|")).collect())
    }

    #[test]
    fn places_stand_above_before_or_behind_figures() {
        let expected = ["mechanism|throughput|latency", "A1|3 Gbps|5 us", "A2|4 Gbps|6 us"];
        assert_eq!(rows("## A1\n3 Gbps, latency 5 us\n## A2\n4 Gbps, latency 6 us\n"), expected);
        assert_eq!(rows("A1: 3 Gbps, latency 5 us\nA2: 4 Gbps, latency 6 us\n"), expected);
        assert_eq!(rows("3 Gbps, latency 5 us (A1)\n4 Gbps, latency 6 us (A2)\n"), expected);
        let blocks =
            "Throughput: 3 Gbps\nLatency: 5 us\nMode: A1\nThroughput: 4 Gbps\nLatency: 6 us\nMode: A2\n";
        assert_eq!(rows(blocks)[1..], expected[1..]);
        let nested = "1 thread:\nA1 3 Gbps\nA2 4 Gbps\n2 threads:\nA1 5 Gbps\nA2 6 Gbps\n";
        assert_eq!(rows(nested)[1..], ["1|A1|3 Gbps", "1|A2|4 Gbps", "2|A1|5 Gbps", "2|A2|6 Gbps"]);
    }

    #[test]
    fn words_that_differ_are_names_and_counters_are_none() {
        let lines = "10:00:01 run 7 of pipe: 3 Gbps\n10:00:02 run 8 of unix: 4 Gbps\n10:00:03 run 9 of pipe: 5 Gbps\n";
        let names: Vec<String> =
            rows(lines).iter().map(|row| row.split('|').next().unwrap().into()).collect();
        assert_eq!(names[1..], ["pipe", "unix", "pipe"], "{:?}", rows(lines));
        assert!(rows("We saw 3 Gbps.\nIt took 5 s.\nA call has 3 us of latency.\n").is_empty());
    }
}
