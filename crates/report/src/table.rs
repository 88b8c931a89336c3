//! Tables as data: columns and rows of entries; nothing here marks up.

use crate::CellRef;
use crate::text::words::percent;
use syscost_core::stats::Estimate;
use syscost_core::units::{self, Unit};

/// From so many times on a difference is given as a factor.
const MANY: f64 = 4.0;

/// How a figure stands among those it competes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Standing {
    #[default]
    None,
    /// Significantly better than every other.
    Best,
    /// Among the best, which are the same within the margin.
    Same,
    /// A ratio whose whole interval lies outside what was foreseen.
    Off,
}

/// A table cell: text, or an estimate that renderers format with its interval.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Text(String),
    /// Text of a row that sentences are linked to.
    Named {
        text: String,
        cell: CellRef,
    },
    Number(f64, Unit),
    /// A part of another figure, shown in per cent.
    Share {
        share: f64,
        /// Is it a difference, with a sign?
        signed: bool,
    },
    Estimate {
        estimate: Estimate,
        /// The cell it shows, which renderers can make a link target.
        cell: Option<CellRef>,
        standing: Standing,
    },
    /// A figure beside that of the control.
    Compared(Compared),
    /// Not measurable, with the reason (shown once, in the section on what is missing).
    Missing,
}

/// A figure as people read it, and how it stands against the control.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// `10.1`: as many digits as the interval supports, in the unit of the table.
    pub value: String,
    /// `±4 %`
    pub within: String,
    pub with: ComparedWith,
    /// Is it not significantly worse than the best?
    pub best: bool,
    /// With its interval, on hover.
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparedWith {
    /// It is the control, or the metric is not compared.
    Nothing,
    Same,
    Undecided,
    /// `1.3x`
    Ratio(String),
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table {
    pub id: String,
    pub title: String,
    pub columns: Vec<String>,
    /// What stands below the names of the columns; empty where nothing does.
    pub kinds: Vec<String>,
    pub rows: Vec<Vec<Entry>>,
    /// Rows left out of a long table, and where they are.
    pub note: Option<String>,
}

impl Table {
    pub fn new(id: impl Into<String>, columns: &[&str], rows: Vec<Vec<Entry>>) -> Table {
        let columns = columns.iter().map(|column| column.to_string()).collect();
        Table { id: id.into(), columns, rows, ..Table::default() }
    }

    pub fn titled(self, title: impl Into<String>) -> Table {
        Table { title: title.into(), ..self }
    }

    pub fn noted(self, note: Option<String>) -> Table {
        Table { note, ..self }
    }
}

impl Entry {
    /// Of a figure that competes with no other.
    pub fn estimate(estimate: Estimate, cell: Option<CellRef>) -> Entry {
        Entry::Estimate { estimate, cell, standing: Standing::None }
    }

    /// What a share looks like: `+12 %`; a difference of many times is `x 18`.
    pub fn share(share: f64, signed: bool) -> String {
        if signed && share >= MANY {
            return format!("x {}", units::significant(1.0 + share));
        }
        format!("{}{}", if signed && share > 0.0 { "+" } else { "" }, percent(share))
    }
}
