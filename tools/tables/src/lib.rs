//! Other people's tables: published results, and what other tools write, read tolerantly and judged.
//!
//! A [`PublishedTable`] is rows of figures in base units (bit/s, ns, bytes) with the line that each came from. It
//! is not a run: nothing is known of replicates, order or machine unless the table says so, and no
//! difference in it is ever claimed. What is ambiguous is refused with the question to answer.

mod bench;
mod cells;
mod derive;
mod english;
mod file_name;
mod fio;
mod folder;
mod iperf3;
mod iperf_text;
mod lmbench;
mod mapping;
mod memo;
mod naming;
mod neper;
mod netperf;
pub mod overtakes;
mod read;
pub mod remark;
pub mod summary;
mod unit;
mod vocabulary;
mod words;

pub use folder::together;
pub use mapping::ColumnMapping;
pub use read::{decode, read};

use std::collections::{BTreeMap, BTreeSet};
use syscost_measure::mechanism::Class;

/// What a column of a table may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableColumn {
    Mechanism,
    MessageBytes,
    Threads,
    /// bit/s
    Throughput,
    /// ns
    Latency,
    /// Throughput and latency in a unit that nobody says.
    BareThroughput,
    BareLatency,
    CyclesPerByte,
    CyclesPerMessage,
    InstructionsPerCycle,
    /// CPU time, ns a byte: netperf calls it service demand.
    CpuPerByte,
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
    /// A second.
    MessageRate,
    /// Payload over the whole run.
    Bytes,
    /// ns
    Elapsed,
    /// Runs that a figure stands for.
    Runs,
    /// Any measure of spread: standard deviation, interval.
    Spread,
    /// Which repetition a row is.
    Repetition,
    Retransmits,
    /// ns, of datagrams
    Jitter,
    /// Per cent of datagrams.
    Loss,
    /// Per cent of one CPU or of all, as its tool means it.
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

impl TableColumn {
    /// As sentences call it.
    pub fn title(self) -> String {
        match self {
            TableColumn::MessageBytes => "message size".into(),
            TableColumn::Elapsed => "duration".into(),
            TableColumn::Retransmits => "retransmitted segments".into(),
            TableColumn::CpuPercent => "CPU use".into(),
            TableColumn::LlcMisses => "LLC misses".into(),
            TableColumn::L1Misses => "L1 misses".into(),
            TableColumn::Bytes => "total bytes".into(),
            TableColumn::CpuPerByte => "CPU time per byte".into(),
            TableColumn::CpuTime => "CPU time".into(),
            TableColumn::BareThroughput => "throughput (no unit)".into(),
            TableColumn::BareLatency => "latency (no unit)".into(),
            other => other.id().replace('_', " "),
        }
    }

    /// Its name in files.
    fn id(self) -> String {
        let id = serde_json::to_value(self).ok();
        id.as_ref().and_then(|id| id.as_str()).unwrap_or_default().to_string()
    }

    /// Does a heading call it by its title, or by its name in files?
    fn is_called(self, heading: &str) -> bool {
        [self.title(), self.id()].iter().any(|name| vocabulary::bare(name) == vocabulary::bare(heading))
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
    fn is_of_operations(self) -> bool {
        use TableColumn::{BaseHardware, Measured, Predicted, SoftwareOverhead};
        matches!(self, BaseHardware | SoftwareOverhead | Predicted | Measured)
    }

    /// Columns of text; the others hold numbers.
    fn is_text(self) -> bool {
        matches!(
            self,
            TableColumn::Mechanism | TableColumn::Operation | TableColumn::Variant | TableColumn::Unit
        )
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

    /// In the digits given: 78.73 is above 78.72.
    pub fn is_above(&self, other: &PublishedFigure) -> bool {
        // Where what was rounded away meets, a computer's own rounding does not decide.
        let slack = 1e-12 * (self.value.abs() + other.value.abs());
        self.value > other.value && self.low() >= other.high() - slack
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
pub struct PublishedRow {
    /// Line in its file, from 1.
    pub line: usize,
    pub texts: BTreeMap<TableColumn, String>,
    pub figures: BTreeMap<TableColumn, PublishedFigure>,
}

impl PublishedRow {
    /// The figures that another tool gives of one run.
    fn of_one(
        tool: &str,
        variant: &str,
        figures: impl IntoIterator<Item = (TableColumn, Option<f64>)>,
    ) -> PublishedRow {
        let known =
            figures.into_iter().filter_map(|(column, value)| Some((column, PublishedFigure::exact(value?))));
        let mut texts = BTreeMap::from([(TableColumn::Mechanism, tool.to_string())]);
        if !variant.is_empty() {
            texts.insert(TableColumn::Variant, variant.to_string());
        }
        PublishedRow { line: 1, texts, figures: known.collect() }
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

    /// What tells rows apart.
    fn key(&self) -> (BTreeMap<TableColumn, String>, BTreeMap<TableColumn, u64>) {
        let places = self.figures.iter().filter(|(column, _)| column.is_place());
        (self.texts.clone(), places.map(|(column, figure)| (*column, figure.value.to_bits())).collect())
    }

    /// Does it say all that another row says?
    fn says(&self, other: &PublishedRow) -> bool {
        let mut measured = other.figures.iter().filter(|(column, _)| !column.is_place());
        self.key() == other.key() && measured.all(|(column, figure)| self.figure(*column) == Some(*figure))
    }

    fn set(&mut self, figures: impl IntoIterator<Item = (TableColumn, f64)>) {
        let exact = |(column, value)| (column, PublishedFigure::exact(value));
        self.figures.extend(figures.into_iter().map(exact));
    }

    /// A whole number; sizes and counts are.
    pub fn count(&self, column: TableColumn) -> Option<u64> {
        self.value(column).filter(|v| *v >= 0.0).map(|v| v.round() as u64)
    }
}

/// A table as read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedTable {
    /// File name, for people.
    pub name: String,
    pub columns: Vec<TableColumn>,
    pub rows: Vec<PublishedRow>,
    /// How headings, units and names were understood, where that was not literal.
    pub understood: Vec<String>,
    /// Headings that mean nothing here.
    pub left_out: Vec<String>,
    /// Names whose role nothing says.
    pub unknown: Vec<String>,
    /// Roles of names, as their reader says.
    pub roles: BTreeMap<String, Class>,
    /// Its sizes are called those of messages, or of their fields.
    pub messages: bool,
    pub fields: bool,
    /// What stands where threads do, and is none: `connection`.
    pub parallel: Option<&'static str>,
    /// Its counters are those of user mode alone.
    pub user_mode: bool,
    /// Lines that are no rows: remarks, sums and averages of others.
    pub notes: usize,
    /// Figures that the table leaves empty.
    pub empty: usize,
    /// Columns of one quantity that differ: one of them is read.
    pub differ: Vec<String>,
    /// A row's figures stand on several lines, of which it names one: none is cited.
    pub scattered: bool,
    /// One run of another tool: several files of this kind are one table.
    pub single: bool,
    /// Of several files: where each row stands; the lines of its rows are its places here, from 1.
    pub sources: Vec<RowSource>,
}

/// A line of one of the files of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct RowSource {
    pub file: String,
    pub line: usize,
}

impl PublishedTable {
    /// What another tool says of one run.
    fn of_one(
        name: &str,
        rows: Result<Vec<PublishedRow>, String>,
        understood: Vec<String>,
    ) -> Result<PublishedTable, BadTable> {
        let rows = rows.map_err(|message| BadTable::Whole { name: name.into(), message })?;
        let mut columns: Vec<TableColumn> =
            rows.iter().flat_map(|row| row.figures.keys().chain(row.texts.keys())).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        let table = PublishedTable { columns, rows, understood, single: true, ..Default::default() };
        Ok(PublishedTable { name: name.into(), ..table })
    }

    /// What another tool says of runs in which messages were sent.
    fn of_messages(
        name: &str,
        rows: Result<Vec<PublishedRow>, String>,
        understood: Vec<String>,
    ) -> Result<PublishedTable, BadTable> {
        PublishedTable::of_one(name, rows, understood).map(|table| PublishedTable { messages: true, ..table })
    }

    /// The rows of another table, and all that is said of them.
    fn take_in(&mut self, other: PublishedTable) {
        let add = |known: &mut Vec<String>, more: Vec<String>| {
            let new: Vec<String> = more.into_iter().filter(|text| !known.contains(text)).collect();
            known.extend(new);
        };
        let new: Vec<TableColumn> = other.columns.into_iter().filter(|c| !self.columns.contains(c)).collect();
        self.columns.extend(new);
        add(&mut self.understood, other.understood);
        add(&mut self.left_out, other.left_out);
        add(&mut self.unknown, other.unknown);
        self.rows.extend(other.rows);
        self.roles.extend(other.roles);
        self.messages |= other.messages;
        self.fields |= other.fields;
        self.parallel = self.parallel.or(other.parallel);
        self.notes += other.notes;
        self.empty += other.empty;
    }

    /// Do rows of one case stand below different titles?
    fn differs_below<T: PartialEq>(&self, title: impl Fn(usize) -> T) -> bool {
        let mut known = BTreeMap::new();
        self.rows.iter().any(|row| *known.entry(row.key()).or_insert(title(row.line)) != title(row.line))
    }

    /// What stands above rows becomes the first part of their names; `title` is that of a line.
    fn entitle<'t>(&mut self, title: impl Fn(usize) -> &'t str) {
        for row in &mut self.rows {
            let title = title(row.line);
            let name = row.texts.entry(TableColumn::Variant).or_default();
            *name = [title, name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        }
        if !self.has(TableColumn::Variant) {
            self.columns.push(TableColumn::Variant);
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

    /// Of threads, with the word of the table; a name keeps its own.
    fn in_own_words(&self, text: &str) -> String {
        let Some(word) = self.parallel else { return text.into() };
        let names: BTreeSet<&String> = self.rows.iter().flat_map(|row| row.texts.values()).collect();
        let names = names.into_iter().filter(|name| name.contains("thread"));
        let hidden =
            names.fold(text.to_string(), |text, name| text.replace(name, &name.replace("thread", "\0")));
        hidden.replace("thread", word).replace('\0', "thread")
    }

    /// Whom a name of this table competes with.
    pub fn role(&self, name: &str) -> Option<Class> {
        self.roles.get(name).copied().or_else(|| vocabulary::role(name))
    }

    /// Are its rows transfers of messages? Tables of memory, disks and operations have sizes and latencies, too.
    pub fn is_transfer(&self) -> bool {
        use TableColumn::{ContextSwitches, Mechanism, MessageBytes, Messages, Threads, Throughput};
        let counted = self.has(ContextSwitches) && (self.has(Throughput) || self.has(Threads));
        self.messages
            || counted && self.has(MessageBytes)
            || self.has(Messages) && self.has(MessageBytes)
            || self.rows.iter().filter_map(|row| row.text(Mechanism)).any(|name| {
                self.role(name).is_some() || self.has(MessageBytes) && vocabulary::is_transport(name)
            })
    }
}

/// Why a table cannot be read: the place, what is there, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    #[error("{name}: {message}")]
    Whole { name: String, message: String },
    #[error("{name}:{line}: {message}")]
    At { name: String, line: usize, message: String },
}
