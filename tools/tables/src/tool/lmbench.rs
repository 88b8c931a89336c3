//! The summary of lmbench: each column of its blocks is an operation; headings of two lines stand above rules. Source:
//! lmbench 3, scripts/getsummary.

use super::ToolRows;
use crate::unit::{self, UnitScale};
use crate::{PublishedRow, TableColumn::*};
use std::collections::BTreeMap;
use std::ops::Range;

/// What stands below each block's first two columns: host and system.
const RULE: &str = "--------- -------------";
pub fn rows(text: &str) -> ToolRows {
    let mut first = text.lines().take(10).map(|line| line.replace(' ', ""));
    let titled = first.any(|line| line.contains("LMBENCH") && line.contains("SUMMARY"));
    if !text.contains(RULE) && !titled {
        return None;
    }
    let (mut title, mut heads, mut block) = ("", Vec::new(), None);
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.contains(" is better") {
            (title, block) = (line, None);
            heads.clear();
        } else if line.contains(RULE) {
            block = SummaryBlock::of(title, &heads, line);
            (title, heads) = ("", Vec::new());
        } else if line.trim_end().ends_with("--") {
            heads.clear();
        } else if let Some(known) = block.as_ref().filter(|_| !line.starts_with('#')) {
            rows.extend(known.rows(index + 1, line).unwrap_or_default());
        } else {
            heads.push(line);
        }
    }
    let why = "a summary of lmbench without the rules below its headings: give it as lmbench prints it";
    let told = "lmbench's summary: a column of a block is an operation, lines of one host are runs of it";
    Some(if rows.is_empty() { Err(why.into()) } else { Ok((rows, told.into())) })
}

/// A block of a summary: its title, the unit that this gives, where host and system end, and where each operation stands.
struct SummaryBlock<'t> {
    title: &'t str,
    unit: UnitScale,
    ends: [usize; 2],
    columns: Vec<(Range<usize>, String)>,
}

impl<'t> SummaryBlock<'t> {
    fn of(title: &'t str, heads: &[&str], rule: &str) -> Option<SummaryBlock<'t>> {
        let unit = unit::parse(title.rsplit_once(" in ")?.1.split(" - ").next()?).ok()?;
        let ends = [" - ", " in "].iter().filter_map(|mark| title.find(mark));
        let title = title[..ends.min()?].trim().trim_start_matches('*').trim_end();
        let spans: Vec<Range<usize>> = words(rule).into_iter().map(|(span, _)| span).collect();
        let [host, system, spans @ ..] = &spans[..] else { return None };
        let mut columns: Vec<(Range<usize>, String)> =
            spans.iter().map(|span| (span.clone(), String::new())).collect();
        for line in heads {
            for (span, word) in groups(line, spans) {
                let over = columns.iter_mut().filter(|(column, _)| overlap(column, &span) > 0);
                over.for_each(|(_, name)| *name = format!("{name} {word}").trim().to_string());
            }
        }
        Some(SummaryBlock { title, unit, ends: [host.end, system.end], columns })
    }

    /// Of one host; `None`: no line of the block.
    fn rows(&self, number: usize, line: &str) -> Option<Vec<PublishedRow>> {
        let [host, system] =
            [line.get(..self.ends[0])?, line.get(self.ends[0]..self.ends[1])?].map(str::trim);
        let machine = Some(format!("{host}, {system}")).filter(|_| !host.is_empty())?;
        let mut rows = BTreeMap::new();
        for (span, word) in words(line).into_iter().filter(|(span, _)| span.start >= self.ends[1]) {
            let nearest = |(_, (column, _)): &(usize, &(Range<usize>, String))| overlap(column, &span);
            let (at, (column, name)) = self.columns.iter().enumerate().max_by_key(nearest)?;
            // Columns of the machine, and what lmbench thinks of it, are no operations.
            if overlap(column, &span) == 0 || ["", "Mhz", "Guesses"].contains(&name.as_str()) {
                continue;
            }
            let (value, _, thousands) = unit::number(word, '.')?;
            let factor = thousands.map_or(Some(1.0), |of| Some(unit::count(of)?.factor))?;
            let operation = format!("{}: {name}", self.title);
            let texts = [(Operation, &*operation), (Unit, self.unit.base.symbol()), (Variant, &*machine)];
            let mut row = PublishedRow::of_tool(number, &texts);
            row.set([(Measured, value * factor * self.unit.factor)]);
            // Two figures below one heading: they stand elsewhere than their rules.
            if rows.insert(at, row).is_some() {
                return None;
            }
        }
        Some(rows.into_values().collect())
    }
}

/// Words of a heading line with their places: one that reaches over two columns belongs with the one before it to both.
fn groups<'l>(line: &'l str, spans: &[Range<usize>]) -> Vec<(Range<usize>, &'l str)> {
    let mut all: Vec<(Range<usize>, &str)> = Vec::new();
    for (span, word) in words(line) {
        let wide = spans.iter().filter(|column| overlap(column, &span) > 0).count() > 1;
        match all.last_mut().filter(|(before, _)| wide && before.end + 1 == span.start) {
            Some(last) => *last = (last.0.start..span.end, &line[last.0.start..span.end]),
            None => all.push((span, word)),
        }
    }
    all
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

fn words(line: &str) -> Vec<(Range<usize>, &str)> {
    let at = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    line.split_whitespace().map(|word| (at(word)..at(word) + word.len(), word)).collect()
}
