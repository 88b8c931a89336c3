//! Other people's tables: published results, and what other tools write, read without a guess and judged.
//!
//! A [`PublishedTable`] is rows of figures in base units (bit/s, ns, bytes) with the line that each came from. It
//! is not a run: nothing is known of replicates, order or machine unless the table says so. A heading that the
//! dictionary does not know is asked for, and what cannot be read surely is refused with the option to give.

mod unit;
mod dictionary;
pub mod role;
pub mod cells;
pub mod remark;
pub mod compare;
mod grid;
mod options;
mod tool;
mod read;
pub mod summary;

pub use options::ReadingOptions;
pub use read::{decode, read, together};
pub use tool::tools;

use TableColumn::*;
use dictionary::DICTIONARY;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::{Unit as CoreUnit, significant};

/// What a column of a table may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableColumn {
    Mechanism,
    /// A row of an operating-system table, and the unit of its figures.
    Operation,
    Variant,
    Unit,
    MessageBytes,
    Threads,
    /// Which repetition a row is.
    Repetition,
    /// bit/s
    Throughput,
    /// A second.
    MessageRate,
    /// ns
    Latency,
    CyclesPerByte,
    CyclesPerMessage,
    InstructionsPerCycle,
    /// ns, of all threads over the whole run: in user mode and in the kernel.
    CpuTime,
    /// Of the processor, over the whole run.
    Cycles,
    Instructions,
    CacheMisses,
    LlcMisses,
    L1Misses,
    ContextSwitches,
    Messages,
    /// Payload over the whole run.
    Bytes,
    /// ns
    Elapsed,
    Retransmits,
    /// ns, of datagrams
    Jitter,
    /// Per cent of datagrams.
    Loss,
    /// Per cent of one CPU or of all, as its tool means it.
    CpuPercent,
    BaseHardware,
    SoftwareOverhead,
    Predicted,
    Measured,
    /// Runs that a figure stands for.
    Runs,
    /// Known, and judged by nothing.
    Ignored,
}

impl TableColumn {
    /// As sentences call it.
    pub fn title(self) -> String {
        DICTIONARY.titles.get(&self).cloned().unwrap_or_else(|| self.id().replace('_', " "))
    }

    /// Its name in files and options.
    pub fn id(self) -> String {
        let id = serde_json::to_value(self).ok();
        id.as_ref().and_then(|id| id.as_str()).unwrap_or_default().to_string()
    }

    /// What its figures are in here.
    fn unit(self) -> CoreUnit {
        match self {
            Throughput => CoreUnit::BitsPerSecond,
            Latency | Elapsed | CpuTime | Jitter => CoreUnit::Nanoseconds,
            MessageBytes | Bytes => CoreUnit::Bytes,
            CpuPercent | Loss => CoreUnit::Ratio,
            MessageRate => CoreUnit::PerSecond,
            _ => CoreUnit::Count,
        }
    }

    /// Do its numbers say nothing without a unit? Sizes are bytes then.
    fn needs_unit(self) -> bool {
        matches!(self.unit(), CoreUnit::BitsPerSecond | CoreUnit::Nanoseconds)
    }

    /// One of its figures; those of an operation are in the unit of their row.
    pub fn format(self, value: f64, of_row: Option<&str>) -> String {
        match (self.unit(), of_row.filter(|_| self.is_of_operations())) {
            (CoreUnit::Ratio, _) => format!("{} %", significant(value)),
            (_, Some(symbol)) => match toml::Value::String(symbol.into()).try_into::<CoreUnit>() {
                Ok(unit) => unit.format(value),
                Err(_) => format!("{} {symbol}", significant(value)),
            },
            (unit, _) => unit.format(value),
        }
    }

    /// Which row it is, and not what was measured.
    fn is_place(self) -> bool {
        matches!(self, MessageBytes | Threads | Repetition)
    }

    /// What was measured, and not which row it is or how often.
    fn is_measure(self) -> bool {
        !self.is_place() && !self.is_text() && !matches!(self, Runs | Ignored)
    }

    /// Of tables of operations.
    pub fn is_of_operations(self) -> bool {
        matches!(self, BaseHardware | SoftwareOverhead | Predicted | Measured)
    }

    /// Columns of text; the others hold numbers.
    fn is_text(self) -> bool {
        matches!(self, Mechanism | Operation | Variant | Unit)
    }
}

/// A printed number: its value in the base unit and half a unit of its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedFigure {
    pub value: f64,
    pub rounding: f64,
}

impl PublishedFigure {
    pub fn low(&self) -> f64 {
        self.value - self.rounding
    }

    pub fn high(&self) -> f64 {
        self.value + self.rounding
    }

    /// The share by which rounding may have moved it.
    fn share(&self) -> f64 {
        self.rounding / self.value
    }
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedRow {
    /// Line in its file, from 1.
    pub line: usize,
    pub texts: BTreeMap<TableColumn, String>,
    pub figures: BTreeMap<TableColumn, PublishedFigure>,
    /// How far a figure scatters, where the table says: half of what its spread spans.
    pub scatter: BTreeMap<TableColumn, f64>,
}

/// Items by what they share.
fn grouped<K: Ord, T>(items: impl IntoIterator<Item = (K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut all: BTreeMap<K, Vec<T>> = BTreeMap::new();
    items.into_iter().for_each(|(key, item)| all.entry(key).or_default().push(item));
    all
}

/// What tells rows apart.
type RowKey = (BTreeMap<TableColumn, String>, BTreeMap<TableColumn, u64>);

impl PublishedRow {
    /// What another tool measured, by what it is called.
    fn of_tool(line: usize, texts: &[(TableColumn, &str)]) -> PublishedRow {
        let said = texts.iter().filter(|(_, text)| !text.is_empty());
        let texts = said.map(|(column, text)| (*column, text.to_string())).collect();
        PublishedRow { line, texts, ..PublishedRow::default() }
    }

    pub fn text(&self, column: TableColumn) -> Option<&str> {
        self.texts.get(&column).map(String::as_str)
    }

    pub fn figure(&self, column: TableColumn) -> Option<PublishedFigure> {
        self.figures.get(&column).copied()
    }

    pub fn value(&self, column: TableColumn) -> Option<f64> {
        self.figure(column).map(|f| f.value)
    }

    /// A whole number; sizes and counts are.
    pub fn count(&self, column: TableColumn) -> Option<u64> {
        self.value(column).filter(|v| *v >= 0.0).map(|v| v.round() as u64)
    }

    fn key(&self) -> RowKey {
        let places = self.figures.iter().filter(|(column, _)| column.is_place());
        (self.texts.clone(), places.map(|(column, figure)| (*column, figure.value.to_bits())).collect())
    }

    /// The same of all its repetitions.
    fn case(&self) -> RowKey {
        let mut key = self.key();
        key.1.remove(&Repetition);
        key
    }

    fn set(&mut self, figures: impl IntoIterator<Item = (TableColumn, f64)>) {
        // Known as exactly as a float holds it.
        let exact = |(column, value)| (column, PublishedFigure { value, rounding: 0.0 });
        self.figures.extend(figures.into_iter().map(exact));
    }
}

/// A column as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadColumn {
    pub column: TableColumn,
    /// As the table calls it.
    pub heading: String,
    /// As the table, or its reader, says it.
    pub unit: String,
}

/// A table as read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedTable {
    /// File name, for people.
    pub name: String,
    pub columns: Vec<TableColumn>,
    /// Where each column stood; empty of a tool's own form.
    pub headings: Vec<ReadColumn>,
    pub rows: Vec<PublishedRow>,
    /// The comments that its file begins with: where it is from.
    pub comments: Vec<String>,
    /// How it was understood, where that was not literal.
    pub understood: Vec<String>,
    /// What was not read, and what to say so that it is.
    pub not_read: Vec<String>,
    /// Its sizes are called those of messages, or of their fields.
    pub messages: bool,
    pub fields: bool,
    /// What stands where threads do, and is none: `connection`.
    pub parallel: Option<&'static str>,
    /// Figures that the table leaves empty.
    pub empty: usize,
    /// Columns of one quantity that differ: one of them is read.
    pub differ: Vec<String>,
    /// Written by another tool, which nobody copied.
    pub tool: bool,
    /// Of several files: where each row stands; the lines of its rows are its places here, from 1.
    pub sources: Vec<RowSource>,
}

/// A line of one of the files of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RowSource {
    pub file: String,
    pub line: usize,
}

impl PublishedTable {
    /// What another tool says of its runs.
    fn of_tool(rows: Vec<PublishedRow>, understood: String) -> PublishedTable {
        let columns: BTreeSet<TableColumn> =
            rows.iter().flat_map(|row| row.figures.keys().chain(row.texts.keys())).copied().collect();
        let (columns, understood) = (columns.into_iter().collect(), vec![understood]);
        PublishedTable { columns, rows, understood, tool: true, ..PublishedTable::default() }
    }

    pub fn has(&self, column: TableColumn) -> bool {
        self.columns.contains(&column)
    }

    /// What a column is called in it.
    pub fn title(&self, column: TableColumn) -> String {
        match column {
            MessageBytes if self.fields => "field size".into(),
            MessageBytes if !self.is_transfer() => "size".into(),
            Threads => format!("{}s", self.parallel.unwrap_or("thread")),
            other => other.title(),
        }
    }

    /// So many threads, with the word of the table.
    fn threads(&self, many: u64) -> String {
        syscost_core::units::count(many as usize, self.parallel.unwrap_or("thread"))
    }

    /// The names of a column, in its order.
    pub fn names(&self, column: TableColumn) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.rows.iter().filter_map(|row| row.text(column)).filter(|name| !name.is_empty());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Are its rows transfers of messages? Tables of memory, disks and operations have sizes and latencies, too.
    pub fn is_transfer(&self) -> bool {
        let sized = self.has(MessageBytes);
        let counted = self.has(ContextSwitches) && (self.has(Throughput) || self.has(Threads));
        let sends = |name: &&str| role::of(name).is_some() || sized && role::is_transport(name);
        self.messages || sized && (counted || self.has(Messages)) || self.names(Mechanism).iter().any(sends)
    }
}

/// Why a table cannot be read: the place, what is there, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadTable(String);

/// The line where something is amiss, 0 of the whole file, and why.
type AtLine = (usize, String);

impl BadTable {
    fn at(name: &str, (line, why): AtLine) -> BadTable {
        let line = if line > 0 { format!(":{line}") } else { String::new() };
        BadTable(format!("{name}{line}: {why}"))
    }
}
