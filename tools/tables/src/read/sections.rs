//! The headings of a page or a log: what stands below different ones was measured apart.

use super::heading::TableHeading;
use crate::{ColumnMapping, PublishedTable};
use std::collections::{BTreeMap, BTreeSet};

/// Of a heading without a mark of its level.
const UNMARKED: usize = 7;
/// Longer lines are prose.
const LONGEST: usize = 80;
/// A line that ends with a colon and has more words is a sentence.
const MOST_WORDS: usize = 5;

/// A part of a text: the headings above it, the outermost first, and its lines.
pub struct PageSection<'t> {
    pub titles: Vec<&'t str>,
    /// Of its first line, from 0.
    pub line: usize,
    pub text: &'t str,
}

/// A part begins at each heading.
pub fn sections(text: &str) -> Vec<PageSection<'_>> {
    let mut all = Vec::new();
    let mut above: Vec<PageHeading> = Vec::new();
    let mut titles: Vec<&str> = Vec::new();
    let (mut fenced, mut begin, mut line, mut at) = (false, 0, 0, 0);
    let mut previous = "";
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        fenced ^= whole.starts_with("```");
        if let Some(heading) = heading(whole.trim_end(), previous).filter(|_| !fenced) {
            all.push(PageSection { titles, line, text: &text[begin..at] });
            let empty = text[begin..at].lines().skip(1).all(|line| line.trim().is_empty());
            heading.close(&mut above, empty);
            above.push(heading);
            titles = above.iter().map(|known| known.title).collect();
            (begin, line) = (at, index);
        }
        previous = whole.trim();
        at += whole.len();
    }
    all.push(PageSection { titles, line, text: &text[begin..] });
    all
}

struct PageHeading<'t> {
    level: usize,
    /// What it begins with: `===`. A heading without a level that has the same one stands beside it.
    mark: &'t str,
    title: &'t str,
}

impl PageHeading<'_> {
    /// Ends the headings that it is not below: `=== Test 4 ===` and right after it `===== RESULTS =====` are one below the other.
    fn close(&self, above: &mut Vec<PageHeading>, empty: bool) {
        let alike = above.iter().position(|known| known.level == self.level && known.mark == self.mark);
        let below =
            empty && self.level == UNMARKED && above.last().is_some_and(|last| last.level == UNMARKED);
        match alike {
            Some(at) => above.truncate(at),
            None if below => {}
            None => above.retain(|known| known.level < self.level),
        }
    }
}

/// `## Before`, `=== Before ===`, `**Before**`, `// Before`, and `Before:` below an empty line or a rule.
fn heading<'t>(line: &'t str, previous: &str) -> Option<PageHeading<'t>> {
    if line.len() > LONGEST || !line.contains(char::is_alphanumeric) {
        return None;
    }
    let plain = line.trim_matches(['#', '=', '*', '-', '/', ' ', ':']);
    // `# iperf3 -c host`: a prompt, and no heading.
    let commands = plain.contains(" -") && !plain.contains(" - ");
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let framed = ["==", "**", "--"].iter().any(|mark| line.starts_with(mark) && line.ends_with(mark))
        || line.trim_start().starts_with("//");
    let named = line.ends_with(':')
        && !previous.contains(char::is_alphanumeric)
        && !line.starts_with(char::is_whitespace)
        && line.split_whitespace().count() <= MOST_WORDS;
    match level {
        // Lines of ping and of perf.
        _ if commands || plain.ends_with(" statistics") || plain.starts_with("started on ") => None,
        0 if framed || named => {
            let line = line.trim_start();
            let mark = &line[..line.find(|c| !['=', '*', '-', '/'].contains(&c)).unwrap_or(0)];
            Some(PageHeading { level: UNMARKED, mark, title: plain })
        }
        0 => None,
        level => Some(PageHeading { level, mark: "", title: plain }),
    }
}

/// Rows of one case below different headings are no runs of it: the headings are a part of the name.
pub fn entitle(table: &mut PublishedTable, text: &str, mapping: &ColumnMapping) {
    let parts = sections(text);
    let counts =
        |title: &&str| TableHeading::of(title, mapping).place.is_some_and(|place| place.repetition.is_some());
    let titles: Vec<Vec<&str>> = parts
        .iter()
        .map(|part| part.titles.iter().filter(|title| !counts(title)).copied().collect())
        .collect();
    let names = told_apart(&titles);
    let of = |line: usize| names[part_of(&parts, line)].as_str();
    if !table.differs_below(of) {
        return;
    }
    table.entitle(of);
    table.understood.push("the headings above rows are a part of the name".into());
}

/// The part in which a line stands, from 1.
pub fn part_of(parts: &[PageSection], line: usize) -> usize {
    parts.partition_point(|part| part.line < line).saturating_sub(1)
}

/// What each is called: its last title, with outer ones where another has the same.
pub fn told_apart(titles: &[Vec<&str>]) -> Vec<String> {
    let called = |of: &[&str], many: usize| of[of.len().saturating_sub(many)..].join(", ");
    let mut names: Vec<String> = titles.iter().map(|of| called(of, 1)).collect();
    let deepest = titles.iter().map(Vec::len).max().unwrap_or(0);
    for many in 2..=deepest {
        let mut known: BTreeMap<String, BTreeSet<&[&str]>> = BTreeMap::new();
        for (name, of) in names.iter().zip(titles) {
            known.entry(name.clone()).or_default().insert(of);
        }
        for (name, of) in names.iter_mut().zip(titles) {
            if known[name].len() > 1 {
                *name = called(of, many);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use crate::{ColumnMapping, TableColumn, read};

    #[test]
    fn rows_above_the_first_heading_keep_their_names() {
        let runs = "pipe BS=512: 3 Gbps\nunix BS=512: 4 Gbps\n";
        let table = read("log", &format!("{runs}\n## Later\n{runs}"), &ColumnMapping::default()).unwrap();
        let names: Vec<&str> = table
            .rows
            .iter()
            .flat_map(|row| [row.text(TableColumn::Mechanism), row.text(TableColumn::Variant)])
            .flatten()
            .collect();
        assert!(names.iter().any(|name| name.starts_with("Later")), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with(',')), "{names:?}");
    }
}
