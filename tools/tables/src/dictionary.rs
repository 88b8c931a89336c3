//! What a heading means: its words looked up in `dictionary.toml`, its unit taken off. Nothing is guessed: a heading that is
//! not found means nothing.

use crate::TableColumn::{self, *};
use crate::unit::{self, UnitScale, bracketless};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use syscost_core::units::Unit as CoreUnit;

/// Each place where a heading could be cut is tried: what is longer than words is not taken apart.
const LONGEST_HEADING: usize = 160;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dictionary {
    qualifiers: BTreeMap<Quality, Vec<String>>,
    pub columns: BTreeMap<TableColumn, Vec<String>>,
    pub titles: BTreeMap<TableColumn, String>,
    of_operations: BTreeMap<TableColumn, Vec<String>>,
    ambiguous: BTreeMap<String, Vec<String>>,
    pub roles: BTreeMap<String, Vec<String>>,
    words: BTreeMap<String, Vec<String>>,
    parallel: Vec<(String, String)>,
    /// Of tools that print keys: what a key is, and its base units.
    pub keys: Vec<(String, TableColumn, f64)>,
    pub tools: Vec<String>,
    pub refused: Vec<RefusedForm>,
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
    /// The mean again, in a unit of its own.
    Again,
}

pub static DICTIONARY: LazyLock<Dictionary> =
    LazyLock::new(|| toml::from_str(include_str!("dictionary.toml")).expect("a test reads it"));

/// What each name means, by its words.
type ByWords<T> = BTreeMap<Vec<String>, T>;

fn by_words<T: Copy + Ord>(of: &BTreeMap<T, Vec<String>>) -> ByWords<T> {
    of.iter().flat_map(|(meaning, names)| names.iter().map(|name| (words(name), *meaning))).collect()
}

static COLUMNS: LazyLock<ByWords<TableColumn>> = LazyLock::new(|| by_words(&DICTIONARY.columns));
static OPERATIONS: LazyLock<ByWords<TableColumn>> = LazyLock::new(|| by_words(&DICTIONARY.of_operations));
/// The longest first: `std dev` is one.
static QUALIFIERS: LazyLock<Vec<(Vec<String>, Quality)>> = LazyLock::new(|| {
    let mut all: Vec<_> = by_words(&DICTIONARY.qualifiers).into_iter().collect();
    all.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
    all
});

/// A unit with the word for it, as it is written.
pub type WrittenUnit = (UnitScale, String);

/// What a column of figures or names is read as.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadAs {
    pub column: TableColumn,
    pub quality: Quality,
    pub unit: Option<WrittenUnit>,
    /// Of a wide layout, the value of what stands across.
    pub value: Option<String>,
}

impl ReadAs {
    pub fn mean(column: TableColumn, unit: Option<WrittenUnit>) -> ReadAs {
        ReadAs { column, quality: Quality::Mean, unit, value: None }
    }

    pub fn is(&self, column: TableColumn, quality: Quality) -> bool {
        (self.column, self.quality) == (column, quality)
    }

    pub fn scale(&self) -> Option<UnitScale> {
        self.unit.as_ref().map(|(scale, _)| *scale)
    }
}

/// Why a heading means nothing: its unit cannot be told, or its word has several meanings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doubt {
    pub why: Option<String>,
    /// What it is, where its unit alone cannot be told.
    pub column: Option<TableColumn>,
}

/// Is it a word of this list of the dictionary?
pub fn is_word(list: &str, word: &str) -> bool {
    DICTIONARY.words[list].iter().any(|known| known == word)
}

/// Words in lower case, each without the s of its plural.
pub fn words(text: &str) -> Vec<String> {
    let singular = |word: String| match word.strip_suffix('s') {
        Some(one) if word.len() > 3 && !one.ends_with('s') => one.to_string(),
        _ => word,
    };
    tokens(text).into_iter().map(singular).collect()
}

/// Words in lower case: `CPUCycles_L1-misses` is cpu, cycles, l1, misses.
pub fn tokens(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut tokens = vec![String::new()];
    for (i, c) in letters.iter().enumerate() {
        let is_letter = c.is_alphanumeric() || matches!(c, '%' | 'µ');
        let before = i.checked_sub(1).map_or(' ', |i| letters[i]);
        let word = letters.get(i + 1).is_some_and(|after| after.is_lowercase())
            && (before.is_uppercase() || before.is_ascii_digit());
        if !is_letter || c.is_uppercase() && (before.is_lowercase() || word) {
            tokens.push(String::new());
        }
        if is_letter {
            tokens.last_mut().expect("never empty").extend(c.to_lowercase());
        }
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// What a heading means, in a table of operations or in another.
pub fn heading(text: &str, operations: bool) -> Result<ReadAs, Doubt> {
    let text = text.trim();
    let mut doubt = Doubt::default();
    if text.len() > LONGEST_HEADING {
        return Err(doubt);
    }
    for (name, inside) in splits(text) {
        // Only where the rest is known it is a unit at all.
        let Some((column, quality)) = known(&words(name), operations) else { continue };
        let parsed = inside.map(|told| (told, unit::parse(told).or_else(|why| unit::count(told).ok_or(why))));
        let unit = match parsed {
            None => None,
            Some((told, Ok(unit))) => Some((unit, told)),
            Some((told, Err(why))) => {
                if let (Some(why), None) = (why, &doubt.why) {
                    let why = Some(format!("its unit {:?} may be {why}", bracketless(told)));
                    doubt = Doubt { why, column: Some(column) };
                }
                continue;
            }
        };
        if let Some(column) = suited(column, unit) {
            let unit = unit.map(|(of, told)| (counted(column, of, told), bracketless(told).into()));
            return Ok(ReadAs { column: of_many(column, text), quality, unit, value: None });
        }
    }
    // `Latency (avg)`, `Latency (avg, us)`: what stands in brackets may be words.
    if let (None, Some((before, inside))) = (&doubt.why, text.split_once(['(', '['])) {
        let inside = inside.trim_end_matches([')', ']', ' ']);
        let again = match inside.rsplit_once([',', ' ']) {
            Some((words, unit)) => format!("{words} {before} ({unit})"),
            None => format!("{inside} {before}"),
        };
        match heading(&again.replace(['[', ']'], " "), operations) {
            Err(Doubt { why: None, .. }) => {}
            meaning => return meaning,
        }
    }
    if let Some(meaning) = of_its_unit(text) {
        return Ok(meaning);
    }
    let cut = splits(text).into_iter().find(|(_, unit)| unit.is_some_and(|u| unit::parse(u).is_ok()));
    let own = words(cut.map_or(text, |(name, _)| name));
    let several = DICTIONARY.ambiguous.iter().find(|(_, names)| names.iter().any(|name| words(name) == own));
    doubt.why = doubt.why.or_else(|| several.map(|(what, _)| format!("it may be {what}")));
    Err(doubt)
}

/// `Gbps`, `mean_gbps`, `p50_us`: the one quantity that its unit is of, or a mean of it.
fn of_its_unit(text: &str) -> Option<ReadAs> {
    std::iter::once(("", Some(text))).chain(splits(text)).find_map(|(name, unit)| {
        let (of, own) = (unit::parse(unit?).ok()?, words(name).join(" "));
        let median = ["p50", "median"].contains(&own.as_str());
        let mean = median || ["", "avg", "average", "mean"].contains(&own.as_str());
        let column = match of.base {
            CoreUnit::BitsPerSecond if mean => Throughput,
            CoreUnit::PerSecond if mean => MessageRate,
            CoreUnit::Nanoseconds if median => Latency,
            _ => return None,
        };
        Some(ReadAs::mean(column, Some((of, bracketless(unit?).into()))))
    })
}

/// `runs` is how many there were, `run` which one; `iterations` are mostly those of a loop.
fn of_many(column: TableColumn, text: &str) -> TableColumn {
    let text = text.to_lowercase();
    match column {
        Repetition if text.ends_with("iterations") => Ignored,
        Repetition if text.ends_with('s') => Runs,
        // A size has a size's word; these are counts.
        MessageBytes if ["messages", "msgs"].contains(&text.as_str()) => Messages,
        MessageBytes if is_word("parts", &text) => Ignored,
        other => other,
    }
}

/// The column that words name, and which of its figures.
fn known(words: &[String], operations: bool) -> Option<(TableColumn, Quality)> {
    let lookup = |words: &[String]| {
        let of_operations = OPERATIONS.get(words).filter(|_| operations);
        of_operations.or_else(|| COLUMNS.get(words)).copied()
    };
    // `mean` alone is a figure of whatever the row is.
    if let Some(column) = lookup(words).filter(|_| !words.is_empty()) {
        return Some((column, Quality::Mean));
    }
    let (mut rest, mut quality) = (words, None);
    while let Some((shorter, of)) = QUALIFIERS.iter().find_map(|(phrase, of)| {
        let shorter = rest.strip_prefix(&phrase[..]).or_else(|| rest.strip_suffix(&phrase[..]))?;
        Some((shorter, *of))
    }) {
        rest = shorter;
        quality = match (quality, of) {
            (None | Some(Quality::Mean), of) => Some(of),
            (Some(known), Quality::Mean) => Some(known),
            _ => Some(Quality::Tail),
        };
        if let Some(column) = lookup(rest) {
            // A mean time may be that of a message, of a run, or over runs.
            let doubtful = column == Elapsed && quality == Some(Quality::Mean);
            return quality.filter(|_| !doubtful).map(|quality| (column, quality));
        }
    }
    // A spread alone is of the one figure of its row.
    quality.filter(|of| rest.is_empty() && *of != Quality::Mean).map(|of| (Ignored, of))
}

/// The column, if its figures may have this unit.
fn suited(column: TableColumn, unit: Option<(UnitScale, &str)>) -> Option<TableColumn> {
    let Some((of, told)) = unit else { return Some(column) };
    let count = unit::count(told).is_some();
    let suits = match (column, column.unit()) {
        (Throughput, _) if of.base == CoreUnit::PerSecond => return Some(MessageRate),
        (MessageRate, _) => of.base == CoreUnit::PerSecond || count,
        (Ignored, _) => true,
        _ if column.is_of_operations() => of.base != CoreUnit::Ratio,
        (_, CoreUnit::Count) => !column.is_text() && count,
        (_, own) => of.base == own,
    };
    suits.then_some(column)
}

/// `M` of cycles is a million, of bytes 2^20.
fn counted(column: TableColumn, unit: UnitScale, told: &str) -> UnitScale {
    if column == Bytes || column.is_of_operations() {
        return totalled(unit, told);
    }
    unit::count(told).filter(|_| column.unit() == CoreUnit::Count).unwrap_or(unit)
}

/// Totals, and sizes that an operation gives, are counted in powers of 1000, sizes of messages in those of 1024.
pub fn totalled(unit: UnitScale, told: &str) -> UnitScale {
    let binary = unit.base != CoreUnit::Bytes || told.to_lowercase().contains("ib");
    let power = (unit.factor.log2() / 10.0).round();
    if binary { unit } else { UnitScale { factor: 1000f64.powf(power), ..unit } }
}

/// The ways to cut a heading into name and unit, the whole first: `x (u)`, `x [u]`, `x_u`, `x u`, `x/u`, `xU`.
pub fn splits(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut before = ' ';
    let cuts = text.char_indices().filter_map(|(at, c)| {
        let hump = before.is_lowercase() && c.is_uppercase();
        before = c;
        match c {
            '_' | ' ' | '-' | ',' | '/' | '.' => Some((&text[..at], Some(&text[at + 1..]))),
            '(' | '[' => Some((&text[..at], Some(&text[at..]))),
            _ => hump.then(|| (&text[..at], Some(&text[at..]))),
        }
    });
    std::iter::once((text, None)).chain(cuts).collect()
}

/// Does the name of a row say that it sums up others: `Average`, `Best: A3`?
pub fn is_summary(name: &str) -> bool {
    let (own, lower) = (words(name), name.trim().to_lowercase());
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([':', ' ', '(', '_', '-']);
    let begins = |word: &String| own.starts_with(&words(word)) && lower.strip_prefix(word).is_some_and(ends);
    DICTIONARY.words["summary"].iter().any(begins)
}

/// Does the title of a table say that nobody measured it?
pub fn is_expected(title: &str) -> bool {
    words(title).iter().any(|word| is_word("expected", word)) && !title.to_lowercase().contains("measured")
}

/// What stands where threads do and is something else, as a heading calls it: `Number of clients`.
pub fn parallel(heading: &str) -> Option<&'static str> {
    let heading = heading.to_lowercase();
    let own = DICTIONARY.parallel.iter().find(|(word, _)| heading.contains(word));
    own.filter(|_| !heading.contains("thread")).map(|(_, name)| name.as_str())
}

/// Does the heading speak of messages, and not of any memory; of a part of one?
pub fn of_messages(heading: &str) -> (bool, bool) {
    let words = words(heading);
    let field = words.iter().any(|word| word == "field");
    (field || words.iter().any(|word| is_word("messages", word)), field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(text: &str) -> Option<(TableColumn, f64)> {
        heading(text, false).ok().map(|of| (of.column, of.scale().map_or(1.0, |unit| unit.factor)))
    }

    #[test]
    fn headings_of_many_hands() {
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
        let of = |text: &str| heading(text, false).map(|of| (of.column, of.quality));
        assert_eq!(of("Throughput StdDev (Gbps)"), Ok((Throughput, Quality::Deviation)));
        assert_eq!(of("Throughput per thread (Gbps)"), Ok((Throughput, Quality::Tail)));
        assert_eq!(of("latency_p99_us"), Ok((Latency, Quality::Tail)));
        assert!(heading("Time (s)", false).unwrap_err().why.unwrap().contains("a duration"));
        assert!(heading("throughput_mb_s", false).unwrap_err().why.unwrap().contains("bits or bytes"));
        assert_eq!(heading("time (us)", true).map(|of| of.column), Ok(Measured));
        assert!(is_summary("Best: A3") && is_summary("Average") && !is_summary("bestcopy"));
    }
}
