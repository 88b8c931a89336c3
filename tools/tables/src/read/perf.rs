//! What perf stat writes: its text, or `-x` with any separator. A file is a case, and its name says which.
//! Source: perf-stat(1), "CSV FORMAT".

use super::heading::HeadingPlace;
use super::{perf_program, titles};
use crate::file_name::{self, NamePlace};
use crate::remark::COUNTERS;
use crate::unit::{self, DecimalMark};
use crate::{BadTable, ColumnMapping, PublishedRow, PublishedTable, TableColumn, naming, vocabulary};
use std::collections::{BTreeMap, BTreeSet};

/// An event, its count (`None`: not counted), and the share of the time that it was on the counter.
struct PerfCount {
    line: usize,
    event: String,
    value: Option<f64>,
    running: f64,
    /// A mean of several runs (`-r`).
    repeated: bool,
}

impl PerfCount {
    /// `u` or `k` behind the event.
    fn mode(&self) -> Option<&str> {
        self.event.split_once(':').map(|(_, mode)| mode).filter(|mode| ["u", "k"].contains(mode))
    }

    fn plain(&self) -> &str {
        self.event.split(':').next().unwrap_or_default()
    }

    /// `cycles` of `cpu_atom/cycles/`
    fn of_core(&self) -> Option<&str> {
        self.event.split_once('/').map(|(_, event)| event)
    }
}

/// What `-j` writes: an object a count.
pub fn from_json(name: &str, json: &serde_json::Value) -> Option<Result<PublishedTable, BadTable>> {
    let line = |count: &serde_json::Value| {
        let text =
            |key: &str| count.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_string();
        let running = count.get("pcnt-running").and_then(|share| share.as_f64()).unwrap_or(100.0);
        let (value, event) = (count.get("counter-value").map(|_| text("counter-value"))?, text("event"));
        Some(format!("{value};{};{event};0;{running}\n", text("unit")))
    };
    let all = json.as_array()?;
    let lines: Option<String> = all.iter().map(line).collect();
    from_lines(name, &lines.filter(|_| all[0].get("interval").is_none())?)
}

/// `None`: not of perf stat.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    if is_of_intervals(text) {
        let why = "perf stat -I: counts of intervals are not read: leave -I away".to_string();
        return Some(PublishedTable::of_one(name, Err(why), Vec::new()));
    }
    if text.lines().any(is_of_cpu) {
        let why = "perf stat -A: counts of each CPU are not read: leave -A away".to_string();
        return Some(PublishedTable::of_one(name, Err(why), Vec::new()));
    }
    let blocks: Vec<&str> = text.split(BLOCK).skip(1).collect();
    let whole = PerfCase { name, text, ..Default::default() };
    let cases: Vec<(PublishedRow, Vec<String>)> = match blocks[..] {
        [] => separated(text)?
            .into_iter()
            .map(|(place, counts)| case(&PerfCase { place, ..whole.clone() }, counts))
            .collect(),
        [one] => vec![case(&PerfCase { text: one, ..whole }, plain(one))],
        // Several commands in one file: each is a case.
        _ => blocks
            .iter()
            .map(|block| {
                case(&PerfCase { variant: command(block), text: block, ..whole.clone() }, plain(block))
            })
            .collect(),
    };
    let (mut rows, told): (Vec<PublishedRow>, Vec<Vec<String>>) = cases.into_iter().unzip();
    let beside = if blocks.is_empty() { Vec::new() } else { told_beside(&mut rows, name, text) };
    without_commands(&mut rows);
    name_by_lines(&mut rows, text);
    let mut understood = vec!["perf stat: each set of counts is a case".to_string()];
    told.into_iter().flatten().for_each(|text| {
        if !understood.contains(&text) {
            understood.push(text);
        }
    });
    understood.extend(perf_program::left_out(&beside, "beside the counts "));
    let none = rows.iter().all(|row| row.figures.is_empty());
    let rows = if none { Err("perf stat: no count that is known here".to_string()) } else { Ok(rows) };
    Some(PublishedTable::of_one(name, rows, understood))
}

/// Where ways to send, sizes and threads tell the rows apart, their commands say no more.
fn without_commands(rows: &mut [PublishedRow]) {
    let mut bare = rows.to_vec();
    bare.iter_mut().for_each(|row| drop(row.texts.remove(&TableColumn::Variant)));
    let role = |row: &PublishedRow| vocabulary::role(row.text(TableColumn::Mechanism)?);
    let keys: BTreeSet<_> = bare.iter().map(PublishedRow::key).collect();
    if keys.len() == rows.len() && bare.iter().all(|row| role(row).is_some()) {
        rows.clone_from_slice(&bare);
    }
}

/// Of cases that nothing else tells apart, the one line of words above the counts of each does: `before`.
fn name_by_lines(rows: &mut [PublishedRow], text: &str) {
    let title = |above: &'_ str| {
        let lines: Vec<String> = perf_program::own(above).lines().map(|line| line.trim().into()).collect();
        let filled: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        let words = |line: &String| line.split_whitespace().count() <= MOST_WORDS && !line.contains(NO_WORDS);
        filled.first().filter(|line| filled.len() == 1 && words(line)).cloned()
    };
    let titles: Vec<String> = text.split(BLOCK).map_while(title).collect();
    let mut known = BTreeMap::new();
    let alike =
        rows.iter().zip(&titles).any(|(row, title)| *known.entry(row.key()).or_insert(title) != title);
    if alike && titles.len() == rows.len() {
        for (row, title) in rows.iter_mut().zip(titles) {
            row.texts.insert(TableColumn::Variant, title);
        }
    }
}

/// A longer line is a sentence.
const MOST_WORDS: usize = 4;
const NO_WORDS: fn(char) -> bool = |c| c.is_ascii_digit() || "$#=".contains(c);

/// What programs printed above their counts is added to the rows; the lines that are left out.
fn told_beside<'t>(rows: &mut [PublishedRow], name: &str, text: &'t str) -> Vec<&'t str> {
    let mut between: Vec<&str> = text.split(BLOCK).map(perf_program::own).collect();
    let after = perf_program::figures(between.pop().unwrap_or_default());
    let mut left: Vec<&str> = Vec::new();
    // Where programs' lines come after the counts, nothing says which run a line between two is of.
    if !after.is_empty() && between.first().is_some_and(|above| perf_program::figures(above).is_empty()) {
        left.extend(between.into_iter().flat_map(perf_program::figures));
    } else {
        let told = rows.iter_mut().zip(between);
        left.extend(told.flat_map(|(row, above)| perf_program::tell(row, name, above)));
    }
    left.extend(after);
    left
}

/// Stands before the counts of a command.
const BLOCK: &str = "Performance counter stats for";

/// ` './server 4 1024' (5 runs):`
fn command(block: &str) -> &str {
    let line = block.lines().next().unwrap_or_default();
    line.split_once('\'').and_then(|(_, rest)| Some(rest.rsplit_once('\'')?.0)).unwrap_or(line).trim()
}

/// The five of ` './server' (5 runs):`
fn runs(block: &str) -> Option<f64> {
    let (_, rest) = block.lines().next()?.rsplit_once('(')?;
    rest.trim_end_matches([':', ' ']).strip_suffix(" runs)")?.parse().ok()
}

/// What is known of some counts beside them.
#[derive(Clone, Default)]
struct PerfCase<'t> {
    /// Of the file.
    name: &'t str,
    variant: &'t str,
    text: &'t str,
    /// What a line above them says.
    place: HeadingPlace,
}

/// A row, and what there is to say of its counts.
fn case(of: &PerfCase, counts: Vec<PerfCount>) -> (PublishedRow, Vec<String>) {
    let seconds = |text: &str| {
        unit::number(&text.trim().replace(',', "."), DecimalMark::Point).map(|(value, ..)| value)
    };
    let ended = of.text.lines().find_map(|line| Some(line.split_once("seconds time elapsed")?.0));
    let (elapsed, spread) = ended.map_or((None, None), |line| match line.split_once("+-") {
        Some((elapsed, spread)) => (seconds(elapsed), seconds(spread)),
        None => (seconds(line), None),
    });
    let mut figures: BTreeMap<TableColumn, f64> = BTreeMap::new();
    let (mut understood, mut user, mut left) = (Vec::new(), false, Vec::new());
    for count in &counts {
        let event = count.event.split(':').next().unwrap_or_default().trim_end_matches('/');
        let event = event.rsplit('/').next().unwrap_or(event);
        let Some(column) = naming::column_of(event).map(|named| named.column).filter(counted) else {
            let is_event = count.value.is_some() && event != "seconds" && !left.contains(&event);
            left.extend(Some(event).filter(|_| is_event));
            continue;
        };
        let Some(value) = count.value else {
            understood.push(format!("{} was not counted", count.event));
            continue;
        };
        // What a mode counts is a part of all.
        if count.mode().is_some() && counts.iter().any(|other| other.event == count.plain()) {
            continue;
        }
        let kernel = |other: &PerfCount| other.mode() == Some("k") && other.plain() == count.plain();
        user |= count.mode() == Some("u") && !counts.iter().any(kernel);
        if count.running < 99.0 {
            understood.push(format!(
                "{} was on a counter for {:.0} % of the time: estimated",
                count.event, count.running
            ));
        }
        // A machine with two kinds of cores counts each. A thread that was now on one, now on the other leaves two counts,
        // each stretched to the whole time: their shares weigh them.
        let alike = |other: &&PerfCount| {
            other.value.is_some() && other.of_core() == count.of_core() && count.of_core().is_some()
        };
        let shares: f64 = counts.iter().filter(alike).map(|other| other.running).sum();
        let apart = shares > 0.0 && shares < 101.0;
        let weight = if apart { count.running / shares } else { 1.0 };
        if counts.iter().filter(alike).count() > 1 {
            let how = if apart { "weighed by the time on each" } else { "summed" };
            understood.push(format!("{event} of several kinds of cores: {how}"));
        }
        *figures.entry(column).or_default() += value * weight;
    }
    left.extend(["user", "sys"].into_iter().filter(|time| of.text.contains(&format!("seconds {time}"))));
    if !left.is_empty() {
        understood.push(format!("left out: {}", left.join(", ")));
    }
    if user {
        understood.push("user mode only (:u): what the kernel spent is not in the counts".into());
    }
    let (mechanism, mut places) = of_name(of.name);
    places.extend(of.place.numbers());
    let mechanism = of.place.mechanism.clone().unwrap_or(mechanism);
    if counts.iter().any(|count| count.repeated) {
        understood.push(
            "perf stat -r: a count is the mean of its runs, and its own spread (+-) is left out".into(),
        );
    }
    let timed = [(TableColumn::Elapsed, elapsed), (TableColumn::Spread, spread)];
    let timed = timed.into_iter().filter_map(|(column, s)| Some((column, s? * 1e9)));
    let all =
        figures.into_iter().chain(timed).chain(runs(of.text).map(|n| (TableColumn::Runs, n))).chain(places);
    let row = PublishedRow::of_one(&mechanism, of.variant, all.map(|(column, value)| (column, Some(value))));
    (PublishedRow { line: counts.first().map_or(1, |count| count.line), ..row }, understood)
}

/// `1.000145,2634,,context-switches,...`: a time stands before each count.
fn is_of_intervals(text: &str) -> bool {
    let headed = |line: &str| {
        let words = line.strip_prefix('#').map(str::split_whitespace);
        words.is_some_and(|words| words.take(2).eq(["time", "counts"]))
    };
    // Below a heading that somebody wrote, or the command.
    text.lines().any(|line| headed(line) || is_of_interval(line))
}

fn is_of_interval(line: &str) -> bool {
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

/// `CPU0   1,234,567   cycles`, `CPU0,1234567,,cycles,5000000,100.00,,`
fn is_of_cpu(line: &str) -> bool {
    let Some((_, rest)) = line.split_once("CPU").filter(|(before, _)| before.trim().is_empty()) else {
        return false;
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let Some(separator) = rest.chars().next() else { return false };
    let count = &rest[separator.len_utf8()..];
    let known = |count: &PerfCount| naming::column_of(&count.event).is_some_and(|of| counted(&of.column));
    match separator {
        ' ' => plain(count).first().is_some_and(known),
        _ => counted_line(count, separator).is_some(),
    }
}

fn counted(column: &TableColumn) -> bool {
    COUNTERS.contains(column)
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
        // `2,754.88 msec task-clock`
        let event = rest.split_whitespace().find(|word| !UNITS.contains(word))?.to_string();
        let share = line
            .rsplit_once('(')
            .and_then(|(_, share)| share.trim_end().strip_suffix("%)")?.replace(',', ".").parse().ok());
        let repeated = line.contains("( +-");
        let named = event.starts_with(char::is_alphabetic);
        named.then(|| PerfCount { line: 1, event, value, running: share.unwrap_or(100.0), repeated })
    };
    text.lines().filter_map(count).collect()
}

/// A count with groups of any locale.
fn whole(text: &str) -> Option<f64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let marks = text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | '\u{202f}' | '\''));
    if marks { digits.parse().ok() } else { None }
}

/// The counts of a case, and what the line above them says of it.
type PerfCounts = (HeadingPlace, Vec<PerfCount>);

/// `1234567,,cycles,5000000,100.00,3.2,GHz`: count, unit, event, time, share. An event that comes again is one of the
/// next case, and so is what stands below a line that says whose it is.
fn separated(text: &str) -> Option<Vec<PerfCounts>> {
    let of = |separator| text.lines().filter(|line| counted_line(line, separator).is_some()).count();
    let separator = [',', ';', '\t', '|'].into_iter().max_by_key(|separator| of(*separator))?;
    // What a line says of rows takes time to see.
    if of(separator) < FEWEST_COUNTS {
        return None;
    }
    let mut cases: Vec<PerfCounts> = vec![Default::default()];
    for (at, line) in text.lines().enumerate() {
        let (place, counts) = cases.last_mut()?;
        if let Some(count) = counted_line(line, separator).map(|count| PerfCount { line: at + 1, ..count }) {
            if counts.iter().any(|known| known.event == count.event) {
                let place = place.clone();
                cases.push((place, vec![count]));
            } else {
                counts.push(count);
            }
        } else if let Some(title) = titles::of(line, &ColumnMapping::default()) {
            if counts.is_empty() {
                *place = title.place;
            } else {
                cases.push((title.place, Vec::new()));
            }
        }
    }
    cases.retain(|(_, counts)| !counts.is_empty());
    let counts = || cases.iter().flat_map(|(_, counts)| counts);
    let known =
        counts().any(|count| naming::column_of(&count.event).is_some_and(|named| counted(&named.column)));
    known.then_some(cases)
}

/// What perf counts in.
const UNITS: &[&str] = &["", "msec", "ns", "Joules", "MiB", "Bytes", "C"];
/// A line alone may be one of another table.
const FEWEST_COUNTS: usize = 2;

fn counted_line(line: &str, separator: char) -> Option<PerfCount> {
    let mut fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    // Of several runs (`-r`), how far they lie apart.
    let repeated = fields.get(3).is_some_and(|field| field.ends_with('%'));
    if repeated {
        fields.remove(3);
    }
    let [value, unit, event, _, running, ..] = fields[..] else { return None };
    let known = (value.starts_with("<not") || value.parse::<f64>().is_ok()) && UNITS.contains(&unit);
    let share = running.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share))?;
    let named = event.starts_with(char::is_alphabetic) && !event.contains(' ');
    (known && named).then(|| PerfCount {
        line: 1,
        event: event.into(),
        value: value.parse().ok(),
        running: share,
        repeated,
    })
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
