//! Figures from elsewhere beside this run's: a published table, or an earlier run.
//!
//! A row of a table is the row of ours that declares the same operation and variant
//! ([`syscost_measure::probe::row::Row::published`]); a row of another run is the same case of the same probe. Who reads
//! a table hands its rows over in base units; a figure in a unit that ours cannot be compared with is left out, and said
//! to be.

use crate::cells::Cells;
use crate::operations::machine::ComparedMachine;
use crate::operations::{Operation, operations, over};
use serde::Deserialize;
use syscost_core::axis::Point;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_experiment::run::Run;
use syscost_host::fingerprint::C_LIBRARY;

/// One figure of theirs, in base units.
#[derive(Clone, Debug, PartialEq)]
struct Theirs {
    key: Key,
    value: f64,
    /// An interval, where they have one.
    estimate: Option<Estimate>,
    unit: Unit,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Published(String, String),
    Case(String, Point),
}

/// A source of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The column's title: the name of the file or of the directory.
    pub name: String,
    /// Where the figures are from, as the source says.
    pub about: String,
    /// What their syscost was linked with, where it was one and says so.
    c_library: Option<String>,
    pub machine: ComparedMachine,
    rows: Vec<Theirs>,
}

/// Column titles and tables, newest first.
pub const PUBLISHED: &[(&str, &str)] = &[
    ("EPYC guest, 2026", include_str!("epyc-2026.csv")),
    ("CSE 221, 2023", include_str!("cse221-2023.csv")),
];

/// Theirs in our unit, and ours over theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    pub value: f64,
    pub estimate: Option<Estimate>,
    pub ratio: Option<Estimate>,
}

/// A row of a table of operations.
#[derive(Clone, Debug, Deserialize)]
pub struct BesideRow {
    pub operation: String,
    pub variant: String,
    pub unit: Unit,
    /// Empty: they have none, and the row is left out.
    pub measured: Option<f64>,
}

impl Beside {
    /// The published tables that runs of the same operations are shown beside: the recorded run of a current machine, unless
    /// it is this run, and a course report whose method the rows follow.
    pub fn published(run: &Run) -> Vec<Beside> {
        PUBLISHED
            .iter()
            .filter(|(_, text)| !text.contains(&run.record.id))
            .map(|(name, text)| Beside::read(name, text))
            .collect()
    }

    fn read(name: &str, text: &str) -> Beside {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let rows = reader.deserialize().collect::<Result<_, _>>().expect("a test reads it");
        let comments = text.lines().map_while(|line| line.strip_prefix('#'));
        Beside::table(name, comments.map(str::trim), rows)
    }

    /// A published table: the comments above its rows say where they are from.
    pub fn table<'t>(name: &str, comments: impl Iterator<Item = &'t str>, rows: Vec<BesideRow>) -> Beside {
        let (machine, about) = ComparedMachine::told(comments);
        let row = |row: BesideRow| {
            let value = row.measured.filter(|value| value.is_finite())?;
            let key = Key::Published(row.operation, row.variant);
            Some(Theirs { key, value, estimate: None, unit: row.unit })
        };
        let rows = rows.into_iter().filter_map(row).collect();
        Beside { name: name.into(), about, c_library: None, machine, rows }
    }

    /// An earlier run.
    pub fn run(name: &str, run: &Run) -> Beside {
        let theirs = operations(run, &Cells::of(run));
        let row = |o: &Operation| {
            let measured = o.measured.filter(|_| o.unresolved.is_none())?;
            Some(Theirs {
                key: Key::Case(o.probe.into(), o.point.clone()),
                value: measured.value,
                estimate: Some(measured),
                unit: measured.unit,
            })
        };
        let c_library = run.record.fact(C_LIBRARY).map(str::to_string);
        let machine = ComparedMachine::of(run);
        let named: Vec<String> = ["processor", "kernel"].iter().filter_map(|id| machine.says(id)).collect();
        Beside {
            name: name.into(),
            about: format!("Run {} of syscost {}", run.record.id, run.record.tool.version)
                + &if named.is_empty() { ".".to_string() } else { format!(" on {}.", named.join(", ")) },
            c_library,
            machine,
            rows: theirs.iter().filter_map(row).collect(),
        }
    }

    /// Theirs and ours, where both are told and a syscost of another C library measured: memcpy, fork and
    /// threads differ for that alone.
    pub fn other_c_library<'a>(&'a self, ours: &'a Run) -> Option<(&'a str, &'a str)> {
        let pair = (self.c_library.as_deref()?, ours.record.fact(C_LIBRARY)?);
        (pair.0 != pair.1).then_some(pair)
    }

    /// Their figure for an operation of ours.
    pub fn find(&self, ours: &Operation) -> Option<Match> {
        let theirs = self.rows.iter().find(|t| t.means(ours))?;
        let factor = conversion(theirs.unit, ours.metric.unit)?;
        let value = theirs.value * factor;
        Some(Match {
            value,
            estimate: theirs.estimate,
            ratio: ours
                .measured
                .filter(|_| ours.unresolved.is_none())
                .and_then(|measured| over(measured, value)),
        })
    }
}

impl Theirs {
    fn means(&self, ours: &Operation) -> bool {
        keys(ours).any(|key| key == self.key)
    }
}

fn keys(ours: &Operation) -> impl Iterator<Item = Key> {
    let published = ours.row.published.clone().map(|(operation, variant)| {
        let operation = operation.to_string();
        Key::Published(operation, variant)
    });
    published.into_iter().chain([Key::Case(ours.probe.into(), ours.point.clone())])
}

/// What a figure in one unit is multiplied by to be in another.
fn conversion(from: Unit, to: Unit) -> Option<f64> {
    match (from, to) {
        _ if from == to => Some(1.0),
        (Unit::BitsPerSecond, Unit::BytesPerSecond) => Some(1.0 / 8.0),
        (Unit::BytesPerSecond, Unit::BitsPerSecond) => Some(8.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{clocks, tell};

    fn table() -> Beside {
        let row = |operation: &str, unit, measured| BesideRow {
            operation: operation.into(),
            variant: String::new(),
            unit,
            measured,
        };
        let rows = vec![
            row("timer_overhead", Unit::Nanoseconds, Some(6.0)),
            row("other", Unit::BytesPerSecond, Some(1e8)),
            row("unmeasured", Unit::Nanoseconds, None),
        ];
        Beside::table("t.csv", ["A table.", "Of a machine."].into_iter(), rows)
    }

    #[test]
    fn a_table_is_matched_by_operation_and_variant_and_converted() {
        let run = clocks(8, None, 12.0);
        let ours = operations(&run, &Cells::of(&run));
        let table = table();
        assert_eq!(table.about, "A table. Of a machine.");
        let found: Vec<Match> = ours.iter().filter_map(|o| table.find(o)).collect();
        assert_eq!(found.len(), 1, "one clock is the published one");
        let ratio = found[0].ratio.unwrap();
        assert!(found[0].value == 6.0 && (1.8..2.2).contains(&ratio.value), "{found:?}");
    }

    #[test]
    fn another_run_is_matched_by_probe_and_coordinates() {
        let (run, before) = (clocks(8, None, 12.0), clocks(6, None, 6.0));
        let ours = operations(&run, &Cells::of(&run));
        let beside = Beside::run("before", &before);
        for operation in &ours {
            let found = beside.find(operation).unwrap();
            assert!(found.estimate.unwrap().n == 6 && (1.8..2.2).contains(&found.ratio.unwrap().value));
        }
    }

    #[test]
    fn a_run_of_another_c_library_is_told_apart() {
        let linked_with = |library: Option<&str>| {
            let mut run = clocks(2, None, 1.0);
            tell(&mut run, C_LIBRARY, library);
            run
        };
        let (shared, musl, silent) = (Some("glibc 2.36, shared"), Some("musl, static"), None);
        let pair = |theirs, ours| {
            let ours = linked_with(ours);
            Beside::run("before", &linked_with(theirs)).other_c_library(&ours).is_some()
        };
        assert!(pair(musl, shared) && pair(shared, musl));
        assert!(!pair(shared, shared) && !pair(silent, shared) && !pair(musl, silent));
        assert_eq!(table().other_c_library(&linked_with(shared)), None, "no program measured a table");
    }

    #[test]
    fn the_published_table_reads() {
        let (name, text) = PUBLISHED[1];
        let table = Beside::read(name, text);
        assert_eq!(table.machine.clock_hertz(), Some(3.1e9));
        assert_eq!(table.machine.says("compiled").as_deref(), Some("gcc -O0"));
        assert!(table.rows.len() > 25 && table.about.contains("San Diego"));
        let of = |operation: &str, variant: &str| {
            let key = Key::Published(operation.into(), variant.into());
            table.rows.iter().find(|row| row.key == key).map(|row| (row.value, row.unit))
        };
        assert_eq!(of("process_create", "fork"), Some((121_560.0, Unit::Nanoseconds)));
        assert_eq!(of("file_cache_size", ""), Some((6.5e9, Unit::Bytes)));
        assert_eq!(of("peak_bandwidth", "loopback"), Some((3_628.48e6, Unit::BitsPerSecond)));
        assert_eq!(conversion(Unit::BitsPerSecond, Unit::BytesPerSecond), Some(0.125));
        assert_eq!(conversion(Unit::Bytes, Unit::Nanoseconds), None);
    }
}
