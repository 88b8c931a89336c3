//! Other people's tables: published results, and what other tools write, read tolerantly and judged.
//!
//! A [`Table`] is rows of figures in base units (bit/s, ns, bytes) with the line that each came from. It
//! is not a run: nothing is known of replicates, order or machine unless the table says so, and no
//! difference in it is ever claimed. What is ambiguous is refused with the question to answer.

mod cells;
mod iperf3;
mod mapping;
mod netperf;
pub mod overtakes;
mod read;
pub mod remark;
mod unit;
mod vocabulary;

pub use mapping::Mapping;
pub use read::read;

use std::collections::BTreeMap;

/// What a column of a table may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    Mechanism,
    MessageBytes,
    Threads,
    /// bit/s
    Throughput,
    /// ns
    Latency,
    CyclesPerByte,
    CacheMisses,
    ContextSwitches,
    Messages,
    /// ns
    Elapsed,
    /// Runs that a figure stands for.
    Runs,
    /// Any measure of spread: standard deviation, interval.
    Spread,
    /// Which repetition a row is.
    Repetition,
    Retransmits,
    /// Per cent of one CPU.
    CpuPercent,
    /// A row of an operating-system table, and the unit of its figures.
    Operation,
    Variant,
    Unit,
    BaseHardware,
    SoftwareOverhead,
    Predicted,
    Measured,
    /// Left out of everything.
    Ignored,
}

impl Column {
    /// As sentences call it.
    pub fn title(self) -> &'static str {
        match self {
            Column::Mechanism => "mechanism",
            Column::MessageBytes => "message size",
            Column::Threads => "threads",
            Column::Throughput => "throughput",
            Column::Latency => "latency",
            Column::CyclesPerByte => "cycles per byte",
            Column::CacheMisses => "cache misses",
            Column::ContextSwitches => "context switches",
            Column::Messages => "messages",
            Column::Elapsed => "duration",
            Column::Runs => "runs",
            Column::Spread => "spread",
            Column::Repetition => "repetition",
            Column::Retransmits => "retransmitted segments",
            Column::CpuPercent => "CPU use",
            Column::Operation => "operation",
            Column::Variant => "variant",
            Column::Unit => "unit",
            Column::BaseHardware => "base hardware",
            Column::SoftwareOverhead => "software overhead",
            Column::Predicted => "predicted",
            Column::Measured => "measured",
            Column::Ignored => "(ignored)",
        }
    }

    /// Does a heading call it by its title, or by its name in files?
    fn is_called(self, heading: &str) -> bool {
        let id = serde_json::to_value(self).ok();
        let id = id.as_ref().and_then(|id| id.as_str()).unwrap_or_default();
        [self.title(), id].map(vocabulary::bare).contains(&vocabulary::bare(heading))
    }

    /// Columns of text; the others hold numbers.
    fn is_text(self) -> bool {
        matches!(self, Column::Mechanism | Column::Operation | Column::Variant | Column::Unit)
    }
}

/// A printed number: its value in the base unit and half a unit of its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    pub rounding: f64,
}

impl Figure {
    /// Known as exactly as a float holds it.
    fn exact(value: f64) -> Figure {
        Figure { value, rounding: 0.0 }
    }

    pub fn low(&self) -> f64 {
        self.value - self.rounding
    }

    pub fn high(&self) -> f64 {
        self.value + self.rounding
    }
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Line in its file, from 1.
    pub line: usize,
    pub texts: BTreeMap<Column, String>,
    pub figures: BTreeMap<Column, Figure>,
}

impl Row {
    pub fn text(&self, column: Column) -> Option<&str> {
        self.texts.get(&column).map(String::as_str)
    }

    pub fn figure(&self, column: Column) -> Option<Figure> {
        self.figures.get(&column).copied()
    }

    pub fn value(&self, column: Column) -> Option<f64> {
        self.figure(column).map(|f| f.value)
    }

    /// A whole number; sizes and counts are.
    pub fn count(&self, column: Column) -> Option<u64> {
        self.value(column).filter(|v| *v >= 0.0).map(|v| v.round() as u64)
    }
}

/// A table as read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// File name, for people.
    pub name: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// How headings, units and names were understood, where that was not literal.
    pub understood: Vec<String>,
    /// Figures that the table leaves empty.
    pub empty: usize,
}

impl Table {
    pub fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }
}

/// Why a table cannot be read: the place, what is there, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("{name}: {message}")]
    Whole { name: String, message: String },
    #[error("{name}:{line}: {message}")]
    At { name: String, line: usize, message: String },
}
