//! What perf stat writes: its text, or `-x` with any separator. A file is a case, and its name says which.
//! Source: perf-stat(1), "CSV FORMAT".

use super::file_name::{self, NamePlace};
use super::unit::{self, DecimalMark};
use super::{BadTable, PublishedRow, PublishedTable, TableColumn, naming};
use std::collections::BTreeMap;

/// An event, its count (`None`: not counted), and the share of the time that it was on the counter.
struct PerfCount {
    event: String,
    value: Option<f64>,
    running: f64,
}

/// `None`: not of perf stat.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    if is_of_intervals(text) {
        let why = "perf stat -I: counts of intervals are not read: leave -I away".to_string();
        return Some(PublishedTable::of_one(name, Err(why), Vec::new()));
    }
    let blocks: Vec<&str> = text.split(BLOCK).skip(1).collect();
    let cases: Vec<(PublishedRow, Vec<String>)> = match blocks[..] {
        [] => vec![case(name, "", text, separated(text)?)],
        [one] => vec![case(name, "", one, plain(one))],
        // Several commands in one file: each is a case.
        _ => blocks.iter().map(|block| case(name, command(block), block, plain(block))).collect(),
    };
    let (rows, told): (Vec<PublishedRow>, Vec<Vec<String>>) = cases.into_iter().unzip();
    let what = if rows.len() > 1 { "each command is a case" } else { "the file is a case" };
    let mut understood = vec![format!("perf stat: {what}")];
    told.into_iter().flatten().for_each(|text| {
        if !understood.contains(&text) {
            understood.push(text);
        }
    });
    let none = rows.iter().all(|row| row.figures.is_empty());
    let rows = if none { Err("perf stat: no count that is known here".to_string()) } else { Ok(rows) };
    Some(PublishedTable::of_one(name, rows, understood))
}

/// Stands before the counts of a command.
const BLOCK: &str = "Performance counter stats for";

/// ` './server 4 1024' (5 runs):`
fn command(block: &str) -> &str {
    let line = block.lines().next().unwrap_or_default();
    line.split_once('\'').and_then(|(_, rest)| Some(rest.rsplit_once('\'')?.0)).unwrap_or(line).trim()
}

/// A row, and what there is to say of its counts.
fn case(name: &str, variant: &str, text: &str, counts: Vec<PerfCount>) -> (PublishedRow, Vec<String>) {
    let elapsed = text.lines().find_map(|line| {
        let (seconds, _) = line.split_once("seconds time elapsed")?;
        unit::number(&seconds.split("+-").next()?.trim().replace(',', "."), DecimalMark::Point)
            .map(|(value, ..)| value)
    });
    let mut figures: BTreeMap<TableColumn, f64> = BTreeMap::new();
    let (mut understood, mut user) = (Vec::new(), false);
    for count in &counts {
        let event = count.event.split(':').next().unwrap_or_default().trim_end_matches('/');
        let event = event.rsplit('/').next().unwrap_or(event);
        let Some(column) = naming::column_of(event).map(|named| named.column).filter(counted) else {
            continue;
        };
        let Some(value) = count.value else {
            understood.push(format!("{} was not counted", count.event));
            continue;
        };
        user |= count.event.ends_with(":u");
        if count.running < 99.0 {
            understood.push(format!(
                "{} was on a counter for {:.0} % of the time: estimated",
                count.event, count.running
            ));
        }
        // A machine with two kinds of cores counts each.
        *figures.entry(column).or_default() += value;
    }
    if user {
        understood.push("user mode only (:u): what the kernel spent is not in the counts".into());
    }
    let (mechanism, places) = of_name(name);
    let all = figures.into_iter().chain(elapsed.map(|s| (TableColumn::Elapsed, s * 1e9))).chain(places);
    let row = PublishedRow::of_one(&mechanism, variant, all.map(|(column, value)| (column, Some(value))));
    (row, understood)
}

/// `1.000145,2634,,context-switches,...`: a time stands before each count.
fn is_of_intervals(text: &str) -> bool {
    let line =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let fields: Vec<&str> = line.split([',', ';', '\t', '|']).map(str::trim).collect();
    let [time, count, unit, event, _, running, ..] = fields[..] else { return false };
    let number = |text: &str| text.parse::<f64>().is_ok();
    time.contains('.')
        && number(time)
        && (number(count) || count.starts_with("<not"))
        && !number(unit)
        && event.starts_with(char::is_alphabetic)
        && number(running)
}

fn counted(column: &TableColumn) -> bool {
    use TableColumn::{CacheMisses, ContextSwitches, Cycles, Instructions, L1Misses, LlcMisses};
    [Cycles, Instructions, CacheMisses, LlcMisses, L1Misses, ContextSwitches].contains(column)
}

/// `  1,234,567      cycles      #  3.2 GHz     (83.33%)`
fn plain(text: &str) -> Vec<PerfCount> {
    let count = |line: &str| {
        let line = line.trim();
        let (value, rest) = match line.strip_prefix("<not ") {
            Some(rest) => (None, rest.split_once('>')?.1),
            None => {
                let (value, rest) = line.split_once(char::is_whitespace)?;
                (Some(whole(value)?), rest)
            }
        };
        let event = rest.split_whitespace().next()?.to_string();
        let share =
            line.rsplit_once('(').and_then(|(_, share)| share.trim_end().strip_suffix("%)")?.parse().ok());
        Some(PerfCount { event, value, running: share.unwrap_or(100.0) })
    };
    text.lines().filter_map(count).collect()
}

/// A count with groups of any locale.
fn whole(text: &str) -> Option<f64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let marks = text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | '\u{202f}' | '\''));
    if marks { digits.parse().ok() } else { None }
}

/// `1234567,,cycles,5000000,100.00,3.2,GHz`: count, unit, event, time, share.
fn separated(text: &str) -> Option<Vec<PerfCount>> {
    let of = |separator| text.lines().filter_map(|line| counted_line(line, separator)).collect::<Vec<_>>();
    let counts = [',', ';', '\t', '|'].into_iter().map(of).max_by_key(Vec::len)?;
    let known = counts
        .iter()
        .any(|count| naming::column_of(&count.event).is_some_and(|named| counted(&named.column)));
    (known && counts.len() >= FEWEST_COUNTS).then_some(counts)
}

/// What perf counts in.
const UNITS: &[&str] = &["", "msec", "ns", "Joules", "MiB", "Bytes", "C"];
/// A line alone may be one of another table.
const FEWEST_COUNTS: usize = 2;

fn counted_line(line: &str, separator: char) -> Option<PerfCount> {
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    let [value, unit, event, _, running, ..] = fields[..] else { return None };
    let known = (value.starts_with("<not") || value.parse::<f64>().is_ok()) && UNITS.contains(&unit);
    let share = running.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share))?;
    let named = event.starts_with(char::is_alphabetic) && !event.contains(' ');
    (known && named).then(|| PerfCount { event: event.into(), value: value.parse().ok(), running: share })
}

/// What the file is called, and the size and threads in its name: `perf_a1_1024_4t.txt`.
fn of_name(name: &str) -> (String, BTreeMap<TableColumn, f64>) {
    let said = NamePlace::of(&file_name::words(name).1, true);
    let names = || Some(said.rest.join("_")).filter(|names| !names.is_empty());
    (said.mechanism.clone().or_else(names).unwrap_or_else(|| "perf stat".into()), said.places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_separated_are_the_same_case() {
        let text = " Performance counter stats for './server':\n\n     1,234,567,890      cycles        #    3.210 GHz     (83.3%)\n\
                    \x20  <not supported>      LLC-load-misses\n            1,999      context-switches\n\n       5.012345678 seconds time elapsed\n";
        let table = from_lines("perf_a1_1024_4t.txt", text).unwrap().unwrap();
        let row = &table.rows[0];
        assert_eq!(
            (row.value(TableColumn::Cycles), row.value(TableColumn::ContextSwitches)),
            (Some(1234567890.0), Some(1999.0))
        );
        assert_eq!(
            (row.count(TableColumn::MessageBytes), row.count(TableColumn::Threads)),
            (Some(1024), Some(4))
        );
        assert_eq!((row.text(TableColumn::Mechanism), row.value(TableColumn::LlcMisses)), (Some("a1"), None));
        assert_eq!(row.value(TableColumn::Elapsed), Some(5.012345678e9));
        let told = table.understood.join("; ");
        assert!(
            told.contains("LLC-load-misses was not counted") && told.contains("83 % of the time"),
            "{told}"
        );
        let csv = "1234567890,,cycles:u,5000000000,100.00,3.2,GHz\n<not supported>,,LLC-load-misses,0,100.00,,\n1999,,context-switches,5000,100.00,,\n";
        let table = from_lines("a1.csv", csv).unwrap().unwrap();
        assert_eq!(table.rows[0].value(TableColumn::Cycles), Some(1234567890.0));
        assert!(table.understood.join("; ").contains("user mode only"));
        let twice = from_lines("a1.txt", &format!("{text}{text}")).unwrap().unwrap();
        assert_eq!(twice.rows.len(), 2, "nothing is added up");
        assert_eq!(
            (twice.rows[1].text(TableColumn::Variant), twice.rows[1].value(TableColumn::ContextSwitches)),
            (Some("./server"), Some(1999.0))
        );
        assert!(from_lines("t", "mechanism,size,threads,gbps,x\nA1,64,1,2,3\n").is_none());
    }
}
