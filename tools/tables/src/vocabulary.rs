//! What headings and names in the wild mean. The words are data, in `words.toml`.

use super::TableColumn;
use super::unit::{self, NoUnit, UnitScale};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use syscost_measure::mechanism;

#[derive(Deserialize)]
struct Vocabulary {
    columns: BTreeMap<TableColumn, Vec<String>>,
    mechanisms: BTreeMap<String, String>,
}

static WORDS: LazyLock<Vocabulary> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).expect("a test reads it"));

/// Each place where a heading could be cut is tried: what is longer than words is not taken apart.
const LONGEST_HEADING: usize = 256;

/// The mechanism that each name means: its id, title or alias, or a word for it. Words come before names.
static MECHANISMS: LazyLock<BTreeMap<String, &'static str>> = LazyLock::new(|| {
    let mut names = BTreeMap::new();
    for about in mechanism::ALL.iter().map(|m| m.about()) {
        for name in [about.id, about.title].into_iter().chain(about.aliases.iter().copied()) {
            names.entry(bare(name)).or_insert(about.id);
        }
    }
    let means = |means: &String| names.get(&bare(means)).copied();
    let words: Vec<_> = WORDS.mechanisms.iter().map(|(word, m)| (bare(word), means(m))).collect();
    names.extend(words.into_iter().filter_map(|(word, id)| Some((word, id?))));
    names
});

/// A heading taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    pub column: TableColumn,
    pub unit: Option<UnitScale>,
}

/// Letters and digits only, in lower case: `Two-Copy`, `two_copy` and `TwoCopy` are one.
pub fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What a heading means; `None`: nothing that is known here.
pub fn heading(text: &str) -> Result<Option<Heading>, NoUnit> {
    if text.len() > LONGEST_HEADING {
        return Ok(None);
    }
    for (name, unit) in splits(text) {
        let Some(column) = column(name) else { continue };
        match unit.map(unit::parse).transpose() {
            Ok(unit) => return Ok(Some(Heading { column, unit })),
            Err(NoUnit::Unknown) => continue,
            Err(ambiguous) => return Err(ambiguous),
        }
    }
    Ok(None)
}

/// The ways to cut a heading into name and unit, the whole first: `x (u)`, `x [u]`, `x_u`, `x u`, `x/u`, `xU`.
fn splits(text: &str) -> Vec<(&str, Option<&str>)> {
    let text = text.trim();
    let mut splits = vec![(text, None)];
    if let Some(at) = text.find(['(', '[']) {
        splits.push((&text[..at], Some(&text[at..])));
    }
    for (at, c) in text.char_indices().rev().filter(|(_, c)| matches!(c, '_' | ' ' | '-' | ',')) {
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

fn column(name: &str) -> Option<TableColumn> {
    let wanted = bare(name);
    let known = |words: &Vec<String>| words.iter().any(|word| bare(word) == wanted);
    WORDS.columns.iter().find(|(_, words)| known(words)).map(|(column, _)| *column)
}

/// The mechanism of a name: its id, title or alias, or a word that means one.
pub fn mechanism(name: &str) -> Option<&'static str> {
    MECHANISMS.get(&bare(name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Dimension;

    fn means(text: &str) -> (TableColumn, Option<f64>) {
        let heading = heading(text).expect("unambiguous").unwrap_or_else(|| panic!("{text}"));
        (heading.column, heading.unit.map(|u| u.factor))
    }

    #[test]
    fn headings_of_the_wild() {
        for text in [
            "throughput_gbps",
            "Throughput (Gbps)",
            "Throughput [Gbit/s]",
            "THROUGHPUT Gbps",
            "tput_Gbps",
            "ThroughputGbps",
        ] {
            assert_eq!(means(text), (TableColumn::Throughput, Some(1e9)), "{text}");
        }
        assert_eq!(means("message_bytes"), (TableColumn::MessageBytes, None));
        assert_eq!(means("Message Size (KB)"), (TableColumn::MessageBytes, Some(1024.0)));
        assert_eq!(means("MsgSize"), (TableColumn::MessageBytes, None));
        assert_eq!(means("latency_us"), (TableColumn::Latency, Some(1e3)));
        assert_eq!(means("LatencyUs"), (TableColumn::Latency, Some(1e3)));
        assert_eq!(means("ContextSwitches"), (TableColumn::ContextSwitches, None));
        assert_eq!(means("Cycles/Byte"), (TableColumn::CyclesPerByte, None));
        assert_eq!(means("Threads"), (TableColumn::Threads, None));
        assert_eq!(heading("favourite colour"), Ok(None));
        assert!(matches!(heading("Throughput (GBPS)"), Err(NoUnit::Ambiguous(_))));
        let unit = heading("latency_us").unwrap().unwrap().unit.unwrap();
        assert_eq!(unit.dimension, Dimension::Time);
    }

    #[test]
    fn names_of_ways_to_send() {
        let two = mechanism("two-copy").expect("an alias");
        for name in ["A1", "TwoCopy", "two_copy", "Two Copy", "2-copy", "pack_send"] {
            assert_eq!(mechanism(name), Some(two), "{name}");
        }
        assert_eq!(mechanism("A3"), mechanism("zero-copy"));
        assert_eq!(mechanism("A2"), mechanism("sendmsg"));
        assert_eq!(mechanism("carrier pigeon"), None);
    }

    #[test]
    fn every_word_means_one_thing() {
        let mut seen = BTreeMap::new();
        for (column, words) in &WORDS.columns {
            for word in words {
                assert_eq!(seen.insert(bare(word), *column), None, "{word} twice");
            }
        }
        for means in WORDS.mechanisms.values() {
            assert!(mechanism(means).is_some(), "{means} is no mechanism");
        }
    }
}
