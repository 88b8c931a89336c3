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
pub use tool::TOOLS;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use syscost_core::units::{Unit, significant};
use unit::Dimension;

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
        use TableColumn::*;
        let title = match self {
            MessageBytes => "message size",
            Elapsed => "duration",
            Retransmits => "retransmitted segments",
            CpuPercent => "CPU use",
            LlcMisses => "LLC misses",
            L1Misses => "L1 misses",
            Bytes => "total bytes",
            CpuTime => "CPU time",
            other => return other.id().replace('_', " "),
        };
        title.into()
    }

    /// Its name in files and options.
    pub fn id(self) -> String {
        let id = serde_json::to_value(self).ok();
        id.as_ref().and_then(|id| id.as_str()).unwrap_or_default().to_string()
    }

    /// What its numbers measure, and may they stand without a unit? Sizes are bytes then. `None`: nothing that has a unit of
    /// its own.
    fn dimension(self) -> Option<(Dimension, bool)> {
        use TableColumn::*;
        match self {
            Throughput => Some((Dimension::Rate, false)),
            Latency | Elapsed | CpuTime | Jitter => Some((Dimension::Time, false)),
            MessageBytes | Bytes => Some((Dimension::Size, true)),
            CpuPercent | Loss => Some((Dimension::Percent, true)),
            MessageRate => Some((Dimension::Calls, true)),
            _ => None,
        }
    }

    /// What its figures are in here.
    fn unit(self) -> Unit {
        match self.dimension() {
            Some((Dimension::Size, _)) => Unit::Bytes,
            Some((Dimension::Rate, _)) => Unit::BitsPerSecond,
            Some((Dimension::Calls, _)) => Unit::PerSecond,
            Some((Dimension::Time, _)) => Unit::Nanoseconds,
            _ => Unit::Count,
        }
    }

    /// One of its figures; those of an operation are in the unit of their row.
    pub fn format(self, value: f64, of_row: Option<&str>) -> String {
        use TableColumn::{CpuPercent, Loss, Repetition, Runs, Threads};
        match (self, of_row) {
            (Threads | Repetition | Runs, _) => value.to_string(),
            (CpuPercent | Loss, _) => format!("{} %", significant(value)),
            (column, Some(unit)) if column.is_of_operations() => match unit {
                "ns" => Unit::Nanoseconds.format(value),
                "bit/s" => Unit::BitsPerSecond.format(value),
                unit => format!("{} {unit}", significant(value)).trim_end().to_string(),
            },
            _ => self.unit().format(value),
        }
    }

    /// Which row it is, and not what was measured.
    fn is_place(self) -> bool {
        matches!(self, TableColumn::MessageBytes | TableColumn::Threads | TableColumn::Repetition)
    }

    /// What was measured, and not which row it is or how often.
    fn is_measure(self) -> bool {
        !self.is_place() && !self.is_text() && !matches!(self, TableColumn::Runs | TableColumn::Ignored)
    }

    /// Of tables of operations.
    pub fn is_of_operations(self) -> bool {
        use TableColumn::{BaseHardware, Measured, Predicted, SoftwareOverhead};
        matches!(self, BaseHardware | SoftwareOverhead | Predicted | Measured)
    }

    /// Columns of text; the others hold numbers.
    fn is_text(self) -> bool {
        use TableColumn::{Mechanism, Operation, Unit, Variant};
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
    /// Known as exactly as a float holds it.
    fn exact(value: f64) -> PublishedFigure {
        PublishedFigure { value, rounding: 0.0 }
    }

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

/// What tells rows apart.
type RowKey = (BTreeMap<TableColumn, String>, BTreeMap<TableColumn, u64>);

impl PublishedRow {
    /// An operation that another tool timed.
    fn of_operation(line: usize, name: &str, unit: &str, value: f64) -> PublishedRow {
        let texts = [(TableColumn::Operation, name.to_string()), (TableColumn::Unit, unit.to_string())];
        let mut row = PublishedRow { line, texts: texts.into(), ..PublishedRow::default() };
        row.set([(TableColumn::Measured, value)]);
        row
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
        key.1.remove(&TableColumn::Repetition);
        key
    }

    fn set(&mut self, figures: impl IntoIterator<Item = (TableColumn, f64)>) {
        self.figures
            .extend(figures.into_iter().map(|(column, value)| (column, PublishedFigure::exact(value))));
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
    fn of_tool(name: &str, rows: Vec<PublishedRow>, understood: &str) -> PublishedTable {
        let columns: BTreeSet<TableColumn> =
            rows.iter().flat_map(|row| row.figures.keys().chain(row.texts.keys())).copied().collect();
        PublishedTable {
            name: name.into(),
            columns: columns.into_iter().collect(),
            rows,
            understood: vec![understood.into()],
            tool: true,
            ..PublishedTable::default()
        }
    }

    pub fn has(&self, column: TableColumn) -> bool {
        self.columns.contains(&column)
    }

    /// What a column is called in it.
    pub fn title(&self, column: TableColumn) -> String {
        match column {
            TableColumn::MessageBytes if self.fields => "field size".into(),
            TableColumn::MessageBytes if !self.is_transfer() => "size".into(),
            TableColumn::Threads => format!("{}s", self.parallel.unwrap_or("thread")),
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
        use TableColumn::{ContextSwitches, Mechanism, MessageBytes, Messages, Threads, Throughput};
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

impl BadTable {
    fn whole(name: &str, message: impl Display) -> BadTable {
        BadTable(format!("{name}: {message}"))
    }

    fn at(name: &str, line: usize, message: impl Display) -> BadTable {
        BadTable(format!("{name}:{line}: {message}"))
    }
}
