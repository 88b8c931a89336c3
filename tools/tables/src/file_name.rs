//! What the name of a file says of its rows: whose they are, their size and threads: `perf_a1_1024B_t4.csv`.

use super::read::heading;
use super::{PublishedRow, PublishedTable, TableColumn, vocabulary};
use std::collections::BTreeMap;
use std::path::Path;
use syscost_core::units::{Unit, count};

const THREADS: &[&str] = &["threads", "thread", "thr", "clients"];
const SIZES: &[&str] = &["msgsize", "msg", "size", "bytes", "sz"];
const RUNS: &[&str] = &["run", "rep", "iter", "trial"];
/// Of files, and of no row.
const PLAIN: &[&str] = &["perf", "stat", "stats", "output", "out", "results", "result", "log", "data", "raw"];
/// A number alone, as large as this, is a size: nobody has so many threads.
const SMALLEST_SIZE: f64 = 64.0;
/// Words that name one way to send.
const LONGEST_ROLE: usize = 3;

/// What a name says, and its words that say none of this.
#[derive(Debug, Default, PartialEq)]
pub struct NamePlace {
    pub mechanism: Option<String>,
    pub places: BTreeMap<TableColumn, f64>,
    pub rest: Vec<String>,
}

impl NamePlace {
    /// Of the words of a name; with `alone`, numbers alone are sizes and threads, too.
    pub fn of(words: &[&str], alone: bool) -> NamePlace {
        NamePlace::within(words, 0, alone)
    }

    /// Of the words of its folders and its name, which begins at `own`.
    pub fn within(words: &[&str], own: usize, alone: bool) -> NamePlace {
        let mut said = NamePlace::default();
        let (mut names, mut numbers) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < words.len() {
            if let Some((column, value)) = pair(words, at) {
                said.places.entry(column).or_insert(value);
                at += 2;
                continue;
            }
            let (word, many) =
                role(words, at).map_or((None, 1), |many| (Some(words[at..at + many].join("_")), many));
            // `t4_results`: the number of a file comes first, that of threads does not; `4T` are threads.
            let numbers_file = |of: &(TableColumn, f64)| {
                of.0 == TableColumn::Threads
                    && short_threads(&words[at].to_ascii_lowercase()).is_some()
                    && (at == own || !alone)
                    && !words[at].ends_with(['t', 'T'])
            };
            match (word, marked(words[at]).filter(|of| !numbers_file(of)), words[at].parse::<f64>()) {
                (Some(name), ..) => names.push(name),
                (_, Some((column, value)), _) => drop(said.places.entry(column).or_insert(value)),
                (.., Ok(number)) if alone => numbers.push(number),
                _ if PLAIN.contains(&words[at].to_ascii_lowercase().as_str()) => {}
                _ => said.rest.push(words[at].into()),
            }
            at += many;
        }
        said.name(names);
        numbers.into_iter().for_each(|number| said.number(number));
        said
    }

    /// Two ways in one name compare them: it is the name of neither.
    fn name(&mut self, names: Vec<String>) {
        let alike = |names: &[String]| vocabulary::role(&names[0]) == vocabulary::role(&names[1]);
        if names.windows(2).all(alike) {
            self.mechanism = (!names.is_empty()).then(|| names.join("_"));
        } else {
            self.rest.extend(names);
        }
    }

    fn number(&mut self, number: f64) {
        let sized = self.places.contains_key(&TableColumn::MessageBytes);
        let column = match () {
            () if !sized && number >= SMALLEST_SIZE => TableColumn::MessageBytes,
            () if sized && number >= 1.0 => TableColumn::Threads,
            () => return self.rest.push(number.to_string()),
        };
        self.places.entry(column).or_insert(number);
    }

    /// Gives rows what their table lacks; what was given.
    pub fn fill(&self, table: &mut PublishedTable) -> Vec<String> {
        let mut given = Vec::new();
        if let Some(name) = self.mechanism.as_ref().filter(|_| !table.has(TableColumn::Mechanism)) {
            set_text(table, TableColumn::Mechanism, name);
            given.push(format!("{name:?}"));
        }
        for (column, value) in &self.places {
            if table.has(*column) {
                continue;
            }
            table.columns.push(*column);
            table.rows.iter_mut().for_each(|row| row.set([(*column, *value)]));
            given.push(match column {
                TableColumn::MessageBytes => Unit::Bytes.format(*value),
                TableColumn::Threads => count(*value as usize, "thread"),
                other => format!("{} {value}", other.title()),
            });
        }
        given
    }
}

pub fn set_text(table: &mut PublishedTable, column: TableColumn, text: &str) {
    if !table.has(column) {
        table.columns.push(column);
    }
    let add = |row: &mut PublishedRow| {
        let known = row.texts.entry(column).or_default();
        *known = if known.is_empty() { text.into() } else { format!("{text}, {known}") };
    };
    table.rows.iter_mut().for_each(add);
}

/// The folders of a file, and the words of its name without its extension.
pub fn words(name: &str) -> (Vec<&str>, Vec<&str>) {
    let path = Path::new(name);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    let parent = path.parent().and_then(|parent| parent.to_str()).unwrap_or_default();
    (parent.split('/').filter(|folder| !folder.is_empty()).collect(), cut(stem))
}

pub fn cut(text: &str) -> Vec<&str> {
    text.split(['_', '-', ' ', '.', '=', ',']).filter(|word| !word.is_empty()).collect()
}

/// How many words from here are the name of a way to send.
fn role(words: &[&str], at: usize) -> Option<usize> {
    let most = LONGEST_ROLE.min(words.len() - at);
    (1..=most).rev().find(|many| vocabulary::exact_role(&words[at..at + many].join(" ")).is_some())
}

/// `size_1024`, `threads=4`
fn pair(words: &[&str], at: usize) -> Option<(TableColumn, f64)> {
    let column = axis(words[at])?;
    let value = words.get(at + 1)?;
    let sized = || marked(value).filter(|(of, _)| *of == column).map(|(_, bytes)| bytes);
    Some((column, value.parse().ok().or_else(sized)?))
}

/// Does the word before a number say what it counts?
pub fn is_axis(word: &str) -> bool {
    axis(word).is_some()
}

fn axis(word: &str) -> Option<TableColumn> {
    let lower = word.to_ascii_lowercase();
    let of = [
        (THREADS, TableColumn::Threads),
        (SIZES, TableColumn::MessageBytes),
        (RUNS, TableColumn::Repetition),
    ];
    of.into_iter().find(|(words, _)| words.contains(&lower.as_str())).map(|(_, column)| column)
}

/// `t4`, `4t`; `t04` is the fourth of some files.
fn short_threads(word: &str) -> Option<f64> {
    let number = word.strip_prefix('t').or_else(|| word.strip_suffix('t'))?;
    number.parse().ok().filter(|_| !number.starts_with('0'))
}

/// `t4`, `8threads`, `size1024`, `64KB`, `run2`
fn marked(word: &str) -> Option<(TableColumn, f64)> {
    let lower = word.to_ascii_lowercase();
    let numbered = |words: &[&str]| heading::numbered(word, words).map(|number| number as f64);
    let sized = || heading::sized(word).map(|bytes| bytes as f64);
    let threads = numbered(THREADS).or_else(|| short_threads(&lower)).map(|n| (TableColumn::Threads, n));
    let short = || lower.strip_prefix('s')?.parse().ok().filter(|bytes| *bytes >= SMALLEST_SIZE);
    let bytes = || numbered(SIZES).or_else(sized).or_else(short).map(|n| (TableColumn::MessageBytes, n));
    threads.or_else(bytes).or_else(|| numbered(RUNS).map(|n| (TableColumn::Repetition, n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_name_say_where_its_rows_stand() {
        use TableColumn::{MessageBytes, Repetition, Threads};
        let of = |name: &str| NamePlace::of(&words(name).1, true);
        for (name, mechanism, bytes, threads) in [
            ("perf_a1_64B_t4.csv", Some("a1"), Some(64.0), Some(4.0)),
            ("zero_copy_4096_8threads.txt", Some("zero_copy"), Some(4096.0), Some(8.0)),
            ("out/A1_1024_4.csv", Some("A1"), Some(1024.0), Some(4.0)),
            ("TwoCopy-size1024-threads2.log", Some("TwoCopy"), Some(1024.0), Some(2.0)),
            ("size_4K.csv", None, Some(4096.0), None),
            ("two_copy_vs_zero_copy.csv", None, None, None),
        ] {
            let said = of(name);
            let places = [MessageBytes, Threads].map(|column| said.places.get(&column).copied());
            assert_eq!((said.mechanism.as_deref(), places), (mechanism, [bytes, threads]), "{name}");
        }
        assert_eq!(of("a1_64B_run3").places.get(&Repetition), Some(&3.0));
        assert_eq!(NamePlace::of(&words("results_2026_02.csv").1, false).places, BTreeMap::new());
    }
}
