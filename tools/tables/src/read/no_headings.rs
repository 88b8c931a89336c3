//! Why a text is no table: which of its lines hold figures, and what they lack.

use super::layout::TableRecord;
use crate::cells;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::count;

/// Of a line that is cited.
const CITED: usize = 60;
/// Of a heading; a longer one is prose.
const MOST_WORDS: usize = 7;

/// No line has two columns.
pub fn one_column(all: &[TableRecord]) -> String {
    match with_figures(all) {
        None => "no table: none of its lines has two columns".into(),
        Some((many, line)) => format!(
            "no table: no heading says what the figures of {} such as {line:?} are: give them as a CSV, such as \
             mechanism,size,threads,throughput_gbps",
            count(many, "line")
        ),
    }
}

/// No line is one of headings.
pub fn unknown(all: &[TableRecord]) -> String {
    let named =
        |record: &&TableRecord| record.cells.len() > 1 && record.cells.iter().all(|cell| !is_prose(cell));
    // Above rows of figures stands what should name them.
    let above = all.iter().take_while(|record| !has_figure(&text(record))).count();
    let heads = all[..above].last().filter(|record| above < all.len() && named(record));
    let seen = match (heads, with_figures(all).filter(|(many, _)| *many > 1)) {
        (None, Some((many, line))) => format!(" ({} such as {line:?})", count(many, "line")),
        _ => heads
            .or_else(|| all.iter().find(named))
            .map_or(String::new(), |record| format!(" (its first: {:?})", cited(&text(record)))),
    };
    format!("no line of headings is known here{seen}: name them in a mapping file (--mapping FILE)")
}

/// The most frequent kind of line with figures: how many there are, and the first. Of as many, those that differ.
fn with_figures(all: &[TableRecord]) -> Option<(usize, String)> {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in all.iter().map(text).filter(|line| has_figure(line)) {
        kinds.entry(kind(&line)).or_default().push(line);
    }
    let rank = |lines: &Vec<String>| (lines.len(), lines.iter().collect::<BTreeSet<_>>().len());
    let lines = kinds.into_values().max_by_key(rank)?;
    Some((lines.len(), cited(&lines[0])))
}

fn is_prose(cell: &str) -> bool {
    cell.split_whitespace().count() > MOST_WORDS
}

fn text(record: &TableRecord) -> String {
    let filled = record.cells.iter().filter(|cell| !cells::is_empty(cell));
    filled.cloned().collect::<Vec<_>>().join(", ")
}

fn cited(line: &str) -> String {
    line.chars().take(CITED).collect()
}

/// A word that is a number, alone or behind a key.
fn has_figure(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || ['=', ':', ',', ';'].contains(&c));
    // `--mtu=9000` is what was asked for.
    !line.starts_with(['-', '$'])
        && words.any(|word| word.trim_end_matches(['.', ')']).parse::<f64>().is_ok())
}

/// Lines of one kind differ in their digits alone; those of several figures may have more of them.
fn kind(line: &str) -> String {
    let mut kind = String::new();
    for c in line.chars() {
        if !(c.is_ascii_digit() || c == '.') {
            kind.push(c);
        } else if !kind.ends_with('0') {
            kind.push('0');
        }
        if kind.ends_with("0 0") {
            kind.truncate(kind.len() - 2);
        }
    }
    kind
}
