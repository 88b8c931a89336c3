//! What a heading means: its words looked up in `dictionary.toml`, its unit taken off. Nothing is guessed: a heading that is
//! not found means nothing.

use crate::TableColumn;
use crate::unit::{self, Dimension, NoUnit, UnitScale};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Each place where a heading could be cut is tried: what is longer than words is not taken apart.
const LONGEST_HEADING: usize = 160;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dictionary {
    qualifiers: BTreeMap<Quality, Vec<String>>,
    columns: BTreeMap<TableColumn, Vec<String>>,
    of_operations: BTreeMap<TableColumn, Vec<String>>,
    ambiguous: BTreeMap<String, Vec<String>>,
    pub roles: BTreeMap<String, Vec<String>>,
    summary: SummaryWords,
    pub refused: Vec<RefusedForm>,
}

#[derive(Deserialize)]
struct SummaryWords {
    words: Vec<String>,
}

/// A form that is not read, by what shows it.
#[derive(Deserialize)]
pub struct RefusedForm {
    pub tool: String,
    pub markers: Vec<String>,
    pub instead: String,
}

/// Which figure of a quantity a column has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    #[default]
    Mean,
    Deviation,
    /// Of the mean.
    Error,
    /// Of an interval around it.
    Half,
    Low,
    High,
    /// Another figure than the mean: known, and not judged.
    Tail,
}

pub static DICTIONARY: LazyLock<Dictionary> =
    LazyLock::new(|| toml::from_str(include_str!("dictionary.toml")).expect("a test reads it"));

type ColumnsByWords = BTreeMap<Vec<String>, TableColumn>;

fn by_words(of: &BTreeMap<TableColumn, Vec<String>>) -> ColumnsByWords {
    of.iter().flat_map(|(column, names)| names.iter().map(|name| (words(name), *column))).collect()
}

static COLUMNS: LazyLock<ColumnsByWords> = LazyLock::new(|| by_words(&DICTIONARY.columns));
static OF_OPERATIONS: LazyLock<ColumnsByWords> = LazyLock::new(|| by_words(&DICTIONARY.of_operations));
/// The longest first: `std dev` is one.
static QUALIFIERS: LazyLock<Vec<(Vec<String>, Quality)>> = LazyLock::new(|| {
    let phrases = |(quality, names): (&Quality, &'static Vec<String>)| {
        let quality = *quality;
        names.iter().map(move |name| (words(name), quality))
    };
    let mut all: Vec<_> = DICTIONARY.qualifiers.iter().flat_map(phrases).collect();
    all.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
    all
});

/// What a heading says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadingMeaning {
    pub column: Option<TableColumn>,
    pub quality: Quality,
    pub unit: Option<UnitScale>,
    /// The unit as it is written.
    pub unit_text: String,
    /// Why its unit cannot be told, or what the word may mean.
    pub doubt: Option<String>,
    /// What it is, where its unit alone cannot be told.
    pub doubted: Option<TableColumn>,
}

/// Words in lower case, each without the s of its plural.
pub fn words(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(singular).collect()
}

fn singular(word: String) -> String {
    match word.strip_suffix('s') {
        Some(one) if word.len() > 3 && !one.ends_with('s') => one.to_string(),
        _ => word,
    }
}

/// Words in lower case: `CPUCycles_L1-misses` is cpu, cycles, l1, misses.
pub fn tokens(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut tokens = vec![String::new()];
    for (i, c) in letters.iter().enumerate() {
        if !c.is_alphanumeric() && *c != '%' && *c != 'µ' {
            tokens.push(String::new());
            continue;
        }
        let before = i.checked_sub(1).map(|i| letters[i]);
        let after = letters.get(i + 1).copied();
        let hump = c.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || before.is_some_and(|b| b.is_uppercase() || b.is_ascii_digit())
                    && after.is_some_and(char::is_lowercase));
        if hump {
            tokens.push(String::new());
        }
        tokens.last_mut().expect("never empty").extend(c.to_lowercase());
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// What a heading means, in a table of operations or in another.
pub fn heading(text: &str, operations: bool) -> HeadingMeaning {
    let text = text.trim();
    if text.len() > LONGEST_HEADING {
        return HeadingMeaning::default();
    }
    let (mut doubt, mut doubted) = (None, None);
    for (name, inside) in splits(text) {
        let (unit, told) = match inside.map(|unit| (unit, unit::parse(unit))) {
            None => (None, ""),
            Some((unit, Err(NoUnit::Ambiguous(why)))) => {
                // Only where the rest is known it is a unit at all.
                if let Some((column, _)) = known(&words(name), operations) {
                    doubted = doubted.or(Some(column));
                    doubt = doubt.or(Some(format!("its unit {:?} may be {why}", bracketless(unit))));
                }
                continue;
            }
            Some((unit, parsed)) => match parsed.ok().or_else(|| unit::count(unit).ok()) {
                None => continue,
                of => (of, unit),
            },
        };
        let Some((column, quality)) = known(&words(name), operations) else { continue };
        if let Some(column) = suited(column, unit, told) {
            let column = of_many(column, text);
            let unit = unit.map(|of| counted(column, of, told));
            return HeadingMeaning {
                column: Some(column),
                quality,
                unit,
                unit_text: bracketless(told),
                ..HeadingMeaning::default()
            };
        }
    }
    // `Latency (avg)`, `Latency (avg, us)`: what stands in brackets may be words.
    if doubt.is_none()
        && let Some((before, inside)) = text.split_once(['(', '['])
    {
        let inside = inside.trim_end_matches([')', ']', ' ']);
        let again = match inside.rsplit_once([',', ' ']) {
            Some((words, unit)) => format!("{words} {before} ({unit})"),
            None => format!("{inside} {before}"),
        };
        let meaning = heading(&again.replace(['[', ']'], " "), operations);
        if meaning.column.is_some() || meaning.doubt.is_some() {
            return meaning;
        }
    }
    if let Some((column, unit, told)) = of_its_unit(text) {
        return HeadingMeaning {
            column: Some(column),
            unit: Some(unit),
            unit_text: told,
            ..HeadingMeaning::default()
        };
    }
    let own = words(
        splits(text)
            .into_iter()
            .find(|(_, unit)| unit.is_some_and(|u| unit::parse(u).is_ok()))
            .map_or(text, |(name, _)| name),
    );
    let several = DICTIONARY.ambiguous.iter().find(|(_, names)| names.iter().any(|name| words(name) == own));
    let doubt = doubt.or_else(|| several.map(|(what, _)| format!("it may be {what}")));
    HeadingMeaning { doubt, doubted, ..HeadingMeaning::default() }
}

/// `Gbps`, `mean_gbps`, `p50_us`: the one quantity that its unit is of, or a mean of it.
fn of_its_unit(text: &str) -> Option<(TableColumn, UnitScale, String)> {
    std::iter::once(("", Some(text))).chain(splits(text)).find_map(|(name, unit)| {
        let (of, own) = (unit::parse(unit?).ok()?, words(name));
        let is = |names: &[&str]| own.len() == 1 && names.contains(&own[0].as_str());
        let mean = own.is_empty() || is(&["avg", "average", "mean", "median", "p50"]);
        let column = match of.dimension {
            Dimension::Rate if mean => TableColumn::Throughput,
            Dimension::Calls if mean => TableColumn::MessageRate,
            Dimension::Time if is(&["p50", "median"]) => TableColumn::Latency,
            _ => return None,
        };
        Some((column, of, bracketless(unit?)))
    })
}

/// `runs` is how many there were, `run` which one; `iterations` are mostly those of a loop.
fn of_many(column: TableColumn, text: &str) -> TableColumn {
    let text = text.to_lowercase();
    match column {
        TableColumn::Repetition if text.ends_with("iterations") => TableColumn::Ignored,
        TableColumn::Repetition if text.ends_with('s') => TableColumn::Runs,
        // A size has a size's word; these are counts.
        TableColumn::MessageBytes if ["messages", "msgs"].contains(&text.as_str()) => TableColumn::Messages,
        TableColumn::MessageBytes
            if ["blocks", "chunks", "buffers", "bufs", "payloads"].contains(&text.as_str()) =>
        {
            TableColumn::Ignored
        }
        other => other,
    }
}

fn bracketless(text: &str) -> String {
    text.trim().trim_matches(['(', ')', '[', ']']).trim().to_string()
}

/// The column that words name, and which of its figures.
fn known(words: &[String], operations: bool) -> Option<(TableColumn, Quality)> {
    let lookup = |words: &[String]| {
        let of_operations = OF_OPERATIONS.get(words).filter(|_| operations);
        of_operations.or_else(|| COLUMNS.get(words)).copied()
    };
    // `mean` alone is a figure of whatever the row is.
    if let Some(column) = lookup(words).filter(|_| !words.is_empty()) {
        return Some((column, Quality::Mean));
    }
    let (mut rest, mut quality) = (words, None);
    while let Some((shorter, of)) = QUALIFIERS.iter().find_map(|(phrase, of)| {
        rest.strip_prefix(&phrase[..])
            .or_else(|| rest.strip_suffix(&phrase[..]))
            .map(|shorter| (shorter, *of))
    }) {
        rest = shorter;
        quality = match (quality, of) {
            (None | Some(Quality::Mean), of) => Some(of),
            (Some(known), Quality::Mean) => Some(known),
            _ => Some(Quality::Tail),
        };
        if let Some(column) = lookup(rest) {
            // A mean time may be that of a message, of a run, or over runs.
            let doubtful = column == TableColumn::Elapsed && quality == Some(Quality::Mean);
            return quality.filter(|_| !doubtful).map(|quality| (column, quality));
        }
    }
    // A spread alone is of the one figure of its row.
    quality.filter(|of| rest.is_empty() && *of != Quality::Mean).map(|of| (TableColumn::Ignored, of))
}

/// The column, if its figures may have this unit.
fn suited(column: TableColumn, unit: Option<UnitScale>, told: &str) -> Option<TableColumn> {
    use TableColumn::{
        Bytes, CpuPercent, CpuTime, Cycles, CyclesPerByte, CyclesPerMessage, Elapsed, Ignored, Jitter,
        Latency, Loss, MessageBytes, MessageRate, Messages, Throughput,
    };
    let Some(of) = unit else { return Some(column) };
    let count = unit::count(told).is_ok();
    let suits = match column {
        Throughput if of.dimension == Dimension::Calls => return Some(MessageRate),
        Throughput => of.dimension == Dimension::Rate,
        Latency | Elapsed | CpuTime | Jitter => of.dimension == Dimension::Time,
        MessageBytes | Bytes => of.dimension == Dimension::Size,
        MessageRate => of.dimension == Dimension::Calls || count,
        CpuPercent | Loss => of.dimension == Dimension::Percent,
        Cycles | CyclesPerByte | CyclesPerMessage => count || of.dimension == Dimension::Cycles,
        Messages => count || of.dimension == Dimension::Count,
        Ignored => true,
        of_operation if of_operation.is_of_operations() => of.dimension != Dimension::Percent,
        _ => !column.is_text() && count,
    };
    suits.then_some(column)
}

/// `M` of cycles is a million, of bytes 2^20.
fn counted(column: TableColumn, unit: UnitScale, told: &str) -> UnitScale {
    // Totals are counted in powers of 1000, sizes of messages in those of 1024.
    if column == TableColumn::Bytes && !told.to_lowercase().contains("ib") {
        let power = (unit.factor.log2() / 10.0).round();
        return UnitScale { factor: 1000f64.powf(power), ..unit };
    }
    let counts = column.unit() == syscost_core::units::Unit::Count && !column.is_of_operations();
    unit::count(told).ok().filter(|_| counts).unwrap_or(unit)
}

/// The ways to cut a heading into name and unit, the whole first: `x (u)`, `x [u]`, `x_u`, `x u`, `x/u`, `xU`.
fn splits(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut splits = vec![(text, None)];
    if let Some(at) = text.find(['(', '[']) {
        splits.push((&text[..at], Some(&text[at..])));
    }
    for (at, c) in text.char_indices().filter(|(_, c)| matches!(c, '_' | ' ' | '-' | ',' | '/' | '.')) {
        splits.push((&text[..at], Some(&text[at + c.len_utf8()..])));
    }
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if before.is_lowercase() && c.is_uppercase() {
            splits.push((&text[..at], Some(&text[at..])));
        }
        before = c;
    }
    splits
}

/// Does the name of a row say that it sums up others: `Average`, `Best: A3`?
pub fn is_summary(name: &str) -> bool {
    let own = words(name);
    let begins = |word: &String| own.starts_with(&words(word));
    let ends = |word: &String| {
        let rest = name.trim().to_lowercase();
        rest.strip_prefix(word.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ', '(', '_', '-']))
    };
    DICTIONARY.summary.words.iter().any(|word| begins(word) && ends(word))
}

/// Does the title of a table say that nobody measured it?
pub fn is_expected(title: &str) -> bool {
    words(title).iter().any(|word| {
        ["expected", "predicted", "estimated", "hypothetical", "theoretical", "example"]
            .contains(&word.as_str())
    }) && !title.to_lowercase().contains("measured")
}

/// What stands where threads do and is something else, as a heading calls it: `Number of clients`.
pub fn parallel(heading: &str) -> Option<&'static str> {
    const WORDS: [(&str, &str); 4] =
        [("conn", "connection"), ("client", "client"), ("stream", "stream"), ("flow", "flow")];
    let heading = heading.to_lowercase();
    let own = WORDS.into_iter().find(|(word, _)| heading.contains(word));
    own.filter(|_| !heading.contains("thread")).map(|(_, name)| name)
}

/// Does the heading speak of messages, and not of any memory; of a part of one?
pub fn of_messages(heading: &str) -> (bool, bool) {
    let words = words(heading);
    let field = words.iter().any(|word| word == "field");
    let message = |word: &String| {
        ["message", "msg", "msgsize", "packet", "payload", "datagram", "pkt"].contains(&word.as_str())
    };
    (field || words.iter().any(message), field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(text: &str) -> Option<(TableColumn, f64)> {
        let meaning = heading(text, false);
        meaning.column.map(|column| (column, meaning.unit.map_or(1.0, |unit| unit.factor)))
    }

    #[test]
    fn headings_of_many_hands() {
        use TableColumn::*;
        for (text, column, factor) in [
            ("Throughput (Gbps)", Throughput, 1e9),
            ("throughput_gbps", Throughput, 1e9),
            ("ThroughputMbps", Throughput, 1e6),
            ("Avg Tput [MB/s]", Throughput, 8e6),
            ("Gbps", Throughput, 1e9),
            ("Latency (avg, us)", Latency, 1e3),
            ("avg_latency_us", Latency, 1e3),
            ("Msg Size (KB)", MessageBytes, 1024.0),
            ("message_size_bytes", MessageBytes, 1.0),
            ("L1-dcache-load-misses", L1Misses, 1.0),
            ("L1 Misses (M)", L1Misses, 1e6),
            ("CPU Cycles (millions)", Cycles, 1e6),
            ("LLC_misses", LlcMisses, 1.0),
            ("ContextSwitches", ContextSwitches, 1.0),
            ("cycles/byte", CyclesPerByte, 1.0),
            ("msgs_per_sec", MessageRate, 1.0),
            ("Num Threads", Threads, 1.0),
            ("duration_sec", Elapsed, 1e9),
        ] {
            assert_eq!(means(text), Some((column, factor)), "{text}");
        }
        for text in ["frobs", "time", "cycles:u", "Latency (cycles)", "throughput_mb_s"] {
            assert_eq!(means(text), None, "{text}");
        }
        let of = |text: &str| {
            let m = heading(text, false);
            (m.column, m.quality)
        };
        assert_eq!(of("Throughput StdDev (Gbps)"), (Some(Throughput), Quality::Deviation));
        assert_eq!(of("Throughput per thread (Gbps)"), (Some(Throughput), Quality::Tail));
        assert_eq!(of("latency_p99_us"), (Some(Latency), Quality::Tail));
        assert!(heading("Time (s)", false).doubt.unwrap().contains("a duration"));
        assert!(heading("throughput_mb_s", false).doubt.unwrap().contains("bits or bytes"));
        assert_eq!(heading("time (us)", true).column, Some(Measured));
        assert!(is_summary("Best: A3") && is_summary("Average") && !is_summary("bestcopy"));
    }
}
