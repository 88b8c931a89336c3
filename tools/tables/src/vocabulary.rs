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

/// The column that each word means.
static COLUMNS: LazyLock<BTreeMap<String, TableColumn>> = LazyLock::new(|| {
    let words = |(column, words): (&TableColumn, &Vec<String>)| {
        words.iter().map(|word| (bare(word), *column)).collect::<Vec<_>>()
    };
    WORDS.columns.iter().flat_map(words).collect()
});

/// A mechanism as a name means it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MeantMechanism {
    id: &'static str,
    /// By an assignment's word (`A1`, `two-copy`), which stands above the name of a system call beside it.
    assigned: bool,
}

/// The mechanism that each name means: its id, title or alias, or a word for it. Words come before names.
static MECHANISMS: LazyLock<BTreeMap<String, MeantMechanism>> = LazyLock::new(|| {
    let mut names = BTreeMap::new();
    for about in mechanism::ALL.iter().map(|m| m.about()) {
        for (name, assigned) in [(about.id, false), (about.title, false)]
            .into_iter()
            .chain(about.aliases.iter().map(|a| (*a, true)))
        {
            let meant = names.entry(bare(name)).or_insert(MeantMechanism { id: about.id, assigned });
            meant.assigned |= assigned;
        }
    }
    let means = |means: &String| names.get(&bare(means)).map(|meant| meant.id);
    let words: Vec<_> = WORDS.mechanisms.iter().map(|(word, m)| (bare(word), means(m))).collect();
    names.extend(
        words.into_iter().filter_map(|(word, id)| Some((word, MeantMechanism { id: id?, assigned: true }))),
    );
    names
});

/// Letters and digits only, in lower case: `Two-Copy`, `two_copy` and `TwoCopy` are one.
pub fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The column and unit of a heading; `None`: no column that is known here.
pub fn column_of(text: &str) -> Result<Option<(TableColumn, Option<UnitScale>)>, NoUnit> {
    if text.len() > LONGEST_HEADING {
        return Ok(None);
    }
    for (name, unit) in splits(text) {
        // `Throughput in Gbit/s`
        let name = name.trim_end().strip_suffix(" in").unwrap_or(name);
        let Some(column) = column(name) else { continue };
        match unit.map(unit::parse).transpose() {
            Ok(unit) => return Ok(Some((column, unit))),
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

pub fn column(name: &str) -> Option<TableColumn> {
    COLUMNS.get(&bare(name)).copied()
}

/// The mechanism of one word for it.
pub fn exact_mechanism(name: &str) -> Option<&'static str> {
    MECHANISMS.get(&bare(name)).map(|meant| meant.id)
}

/// The mechanism of a name: its id, title or alias, a word that means one, or both together: `A1 (2-copy)`.
pub fn mechanism(name: &str) -> Option<&'static str> {
    let exact = |text: &str| MECHANISMS.get(&bare(text)).copied();
    if let Some(meant) = exact(name) {
        return Some(meant.id);
    }
    if name.len() > LONGEST_HEADING {
        return None;
    }
    if let Some((outside, inside)) = name.split_once(['(', '[']) {
        return both(exact(outside), exact(inside));
    }
    let cuts = name.char_indices().filter(|(_, c)| !c.is_alphanumeric());
    let halves = cuts.map(|(at, c)| (&name[..at], &name[at + c.len_utf8()..]));
    halves.filter_map(|(left, right)| both(Some(exact(left)?), Some(exact(right)?))).next()
}

/// Of two names for one thing; two that an assignment tells apart are no name.
fn both(one: Option<MeantMechanism>, other: Option<MeantMechanism>) -> Option<&'static str> {
    match (one, other) {
        (Some(a), Some(b)) if a.id == b.id => Some(a.id),
        (Some(a), Some(b)) if a.assigned != b.assigned => Some(if a.assigned { a.id } else { b.id }),
        (Some(_), Some(_)) => None,
        (one, other) => one.or(other).map(|meant| meant.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Dimension;

    fn means(text: &str) -> (TableColumn, Option<f64>) {
        let (column, unit) = column_of(text).expect("unambiguous").unwrap_or_else(|| panic!("{text}"));
        (column, unit.map(|u| u.factor))
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
            "Throughput in Gbit/s",
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
        assert_eq!(column_of("favourite colour"), Ok(None));
        assert!(matches!(column_of("Throughput (GBPS)"), Err(NoUnit::Ambiguous(_))));
        let unit = column_of("latency_us").unwrap().unwrap().1.unwrap();
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
        for name in ["A1 (2-copy)", "A1 (baseline)", "two-copy (send)", "A1_TwoCopy", "send/recv (A1)"] {
            assert_eq!(mechanism(name), Some(two), "{name}");
        }
        assert_eq!(mechanism("sendmsg + MSG_ZEROCOPY"), mechanism("A3"));
        for name in ["carrier pigeon", "A1 (zero-copy)", "A1 throughput"] {
            assert_eq!(mechanism(name), None, "{name}");
        }
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
