//! What lmbench prints: the lines of its single programs are operations; so is each column of its summary, whose
//! headings of two lines stand above rules. Source: lmbench 3, lat_syscall(8), scripts/getsummary.

use super::{BadTable, PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a figure is in, by a line of a program or the title of a block.
const UNITS: [(&str, &str); 4] =
    [("microseconds", "us"), ("nanoseconds", "ns"), ("MB/sec", "MB/s"), ("MB/s", "MB/s")];
/// What stands below each block's first two columns: host and system.
const RULE: &str = "--------- -------------";
/// Columns of the machine, and what lmbench thinks of it.
const NO_OPERATIONS: [&str; 2] = ["Mhz", "Guesses"];

/// `None`: not of lmbench.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    if text.trim_start().starts_with("\"stride=") {
        let why = "lat_mem_rd of lmbench: memory latencies are no transfers of messages".to_string();
        return Some(PublishedTable::of_one(name, Err(why), Vec::new()));
    }
    let of_summary = |line: &str| {
        // Others write "lower is better".
        let better = [" - smaller is better", " - bigger is better"].iter().any(|end| line.contains(end));
        let together = line.replace(' ', "");
        better && UNITS.iter().any(|(unit, _)| line.contains(unit))
            || together.contains("LMBENCH") && together.contains("SUMMARY")
    };
    if text.contains(RULE) || text.lines().take(10).any(of_summary) {
        let (rows, runs) = summary(text);
        let why = "a summary of lmbench without the rules below its headings: give it as lmbench prints it";
        let rows = if rows.is_empty() { Err(why.to_string()) } else { Ok(rows) };
        let mut table = told(name, rows, "lmbench's summary: a column of a block is an operation");
        if let Ok(table) = &mut table {
            table.understood.extend(runs);
        }
        return Some(table);
    }
    let operation = |(index, line): (usize, &str)| {
        // `stdio BS= 1024: 969 MB/sec` is another program's: lmbench gives no parameters so.
        let (title, rest) = line.rsplit_once(':').filter(|(title, _)| !title.contains('='))?;
        let (value, of) = rest.trim().split_once(' ')?;
        let (_, unit) = UNITS.iter().find(|(written, _)| *written == of.trim())?;
        Some(row(index, title.trim(), value.parse().ok()?, unit))
    };
    let rows: Vec<PublishedRow> = text.lines().enumerate().filter_map(operation).collect();
    (rows.len() > 1).then(|| told(name, Ok(rows), "lmbench: a line is an operation"))
}

fn told(name: &str, rows: Result<Vec<PublishedRow>, String>, said: &str) -> Result<PublishedTable, BadTable> {
    let table = PublishedTable::of_one(name, rows, vec![said.into()]);
    table.map(|table| PublishedTable { single: false, ..table })
}

fn row(index: usize, operation: &str, value: f64, unit: &str) -> PublishedRow {
    let texts = [(TableColumn::Operation, operation.to_string()), (TableColumn::Unit, unit.to_string())];
    let figures = BTreeMap::from([(TableColumn::Measured, PublishedFigure::exact(value))]);
    PublishedRow { line: index + 1, texts: texts.into(), figures }
}

/// A block of a summary: its title, the unit that this gives, and where each operation stands.
struct SummaryBlock<'t> {
    title: &'t str,
    unit: &'static str,
    host: [Range<usize>; 2],
    columns: Vec<(Range<usize>, String)>,
}

/// What a block says of a host in one line, and the remark right above it.
struct HostLine<'t> {
    rows: Vec<PublishedRow>,
    remark: Option<&'t str>,
}

impl HostLine<'_> {
    fn host(&self) -> &str {
        self.rows.first().and_then(|row| row.text(TableColumn::Variant)).unwrap_or_default()
    }
}

/// The rows, and which lines are taken as runs.
fn summary(text: &str) -> (Vec<PublishedRow>, Option<String>) {
    let (mut title, mut heads, mut block, mut remark) = ("", Vec::new(), None, None);
    let mut blocks: Vec<Vec<HostLine>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.contains(" is better") {
            (title, block) = (line, None);
            heads.clear();
        } else if line.contains(RULE) {
            block = SummaryBlock::of(title, &heads, line);
            (title, heads, remark) = ("", Vec::new(), None);
            blocks.push(Vec::new());
        } else if line.trim_end().ends_with("--") {
            heads.clear();
        } else if block.is_none() {
            heads.push(line);
        } else if let (Some(known), Some(hosts)) = (&block, blocks.last_mut())
            && line.contains(char::is_alphanumeric)
        {
            let rows = known.rows(index, line).filter(|_| !line.starts_with('#')).unwrap_or_default();
            if rows.is_empty() {
                remark = remark.or(Some(line));
                continue;
            }
            let of = HostLine { rows, remark: remark.take() };
            // Below other text than a comment, only a host that is known is one.
            let known = of.remark.is_none_or(|remark| remark.starts_with('#'))
                || hosts.iter().any(|known| known.host() == of.host());
            hosts.extend(Some(of).filter(|_| known));
        }
    }
    let runs = blocks.iter_mut().filter_map(|hosts| told_apart(hosts)).next();
    (blocks.into_iter().flatten().flat_map(|host| host.rows).collect(), runs)
}

/// Remarks are parts of the names where each line of a host but the first has one: before and after a switch.
fn told_apart(hosts: &mut [HostLine]) -> Option<String> {
    let mut runs: Vec<usize> = Vec::new();
    for at in 0..hosts.len() {
        let host = hosts[at].host().to_string();
        let alike: Vec<usize> = (at..hosts.len()).filter(|other| hosts[*other].host() == host).collect();
        let remarks: BTreeSet<&str> = alike.iter().filter_map(|of| hosts[*of].remark).collect();
        if alike.len() < 2 || !runs.is_empty() {
            continue;
        }
        if remarks.len() + 1 >= alike.len() && alike[1..].iter().all(|of| hosts[*of].remark.is_some()) {
            for host in alike {
                let Some(remark) = hosts[host].remark.map(|of| of.trim_matches(['#', ' ', ':'])) else {
                    continue;
                };
                for row in &mut hosts[host].rows {
                    *row.texts.entry(TableColumn::Variant).or_default() += &format!(", {remark}");
                }
            }
        } else {
            runs = alike.iter().map(|of| hosts[*of].rows[0].line).collect();
        }
    }
    let lines: Vec<String> = runs.iter().map(usize::to_string).collect();
    (!runs.is_empty()).then(|| {
        let at = syscost_core::units::and(&lines);
        format!("lines of one host and system in a block are taken as runs of one case, such as lines {at}")
    })
}

impl<'t> SummaryBlock<'t> {
    fn of(title: &'t str, heads: &[&str], rule: &str) -> Option<SummaryBlock<'t>> {
        let (_, unit) = UNITS.iter().find(|(written, _)| title.contains(written))?;
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
        Some(SummaryBlock { title, unit, host: [host.clone(), system.clone()], columns })
    }

    /// Of one host; `None`: no line of the block.
    fn rows(&self, index: usize, line: &str) -> Option<Vec<PublishedRow>> {
        let [host, system] = self.host.clone().map(|span| line.get(span).unwrap_or_default().trim());
        let figures = line.get(self.host[1].end..).filter(|_| !host.is_empty())?;
        let mut taken = BTreeMap::new();
        for (span, word) in words(&format!("{:1$}{figures}", "", self.host[1].end)) {
            let nearest = |(_, (column, _)): &(usize, &(Range<usize>, String))| overlap(column, &span);
            let (at, (column, name)) = self.columns.iter().enumerate().max_by_key(nearest)?;
            if overlap(column, &span) == 0 || NO_OPERATIONS.contains(&name.as_str()) {
                continue;
            }
            let digits = word.trim_end_matches(['K', 'M']);
            let factor = [("K", 1e3), ("M", 1e6)].iter().find(|(mark, _)| word.ends_with(mark));
            let value = digits.parse::<f64>().ok()? * factor.map_or(1.0, |(_, factor)| *factor);
            // Two figures below one heading: they stand elsewhere than their rules.
            if taken.insert(at, value).is_some() {
                return Some(Vec::new());
            }
        }
        let named = taken.into_iter().map(|(at, value)| (self.columns[at].1.as_str(), value));
        let known = named.filter(|(name, _)| !name.is_empty());
        let of_host = |(name, value): (&str, f64)| {
            let mut row = row(index, &format!("{}: {name}", self.title), value, self.unit);
            row.texts.insert(TableColumn::Variant, format!("{host}, {system}"));
            row
        };
        Some(known.map(of_host).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_operations() {
        let table = from_lines("l", "Simple syscall: 0.0512 microseconds\nSimple read: 0.1 microseconds\n")
            .unwrap()
            .unwrap();
        assert_eq!(table.rows[1].text(TableColumn::Operation), Some("Simple read"));
        assert_eq!(table.rows[0].value(TableColumn::Measured), Some(0.0512));
    }

    #[test]
    fn columns_of_a_summary_are_operations() {
        let text = "File & VM system latencies in microseconds - smaller is better\n\
            -------------------------------------------------------------\n\
            Host                 OS   0K File      10K File     Mmap     \n\
            \x20                       Create Delete Create Delete Latency\n\
            --------- ------------- ------ ------ ------ ------ -------\n\
            one       Linux 5.4.0-4 6.4120           13.7 7.2110   27.1K\n\nThat was it, at 40 degrees\n";
        let table = from_lines("l", text).unwrap().unwrap();
        let rows = table.rows.iter().map(|row| {
            (row.text(TableColumn::Operation).unwrap(), row.value(TableColumn::Measured).unwrap())
        });
        let title = "File & VM system latencies";
        let expected = [
            ("0K File Create", 6.412),
            ("10K File Create", 13.7),
            ("10K File Delete", 7.211),
            ("Mmap Latency", 27100.0),
        ];
        let expected = expected.map(|(name, value)| (format!("{title}: {name}"), value));
        assert_eq!(rows.map(|(name, value)| (name.to_string(), value)).collect::<Vec<_>>(), expected);
        let bare = from_lines("l", "\n   L M B E N C H  3 . 0   S U M M A R Y\n  ----\n").unwrap();
        assert!(bare.unwrap_err().to_string().contains("summary of lmbench"));
    }
}
