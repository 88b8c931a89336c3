//! The report: sections, tables, plots and findings, without markup; renderers are beside it.

pub use crate::analysis::{CellRef, Statement};
use crate::stats::Estimate;
use crate::units::Unit;

/// A table cell: text, or an estimate that renderers format with its interval.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Text(String),
    Number(f64, Unit),
    Estimate(Estimate),
    /// Not measurable, with the reason (shown once, below the table).
    Missing,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table {
    pub id: String,
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Entry>>,
    /// Rows left out of a long table, and where they are.
    pub note: Option<String>,
}

/// How an axis of a plot is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Log2,
    Log10,
    Linear,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlotAxis {
    pub title: String,
    pub unit: Unit,
    pub scale: Scale,
}

/// A line with an interval band.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    /// x, and y with its interval.
    pub points: Vec<(f64, Estimate)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// File name of the SVG without ending: `throughput-by-size-1-thread`.
    pub id: String,
    pub title: String,
    pub x: PlotAxis,
    pub y: PlotAxis,
    pub series: Vec<Series>,
    pub note: Option<String>,
}

/// A grid of names: who wins where; `None` is a tie.
#[derive(Clone, Debug, PartialEq)]
pub struct WinnerMap {
    pub id: String,
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    pub x: Vec<String>,
    pub y: Vec<String>,
    /// Row-major over y then x.
    pub winners: Vec<MapCell>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MapCell {
    /// The winner, or `None`: the leaders are tied or nothing was measured.
    pub winner: Option<String>,
    /// What is shown on hover and read aloud: the figures, or the names that tie.
    pub detail: String,
    pub cells: Vec<CellRef>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Statement(Statement),
    /// Fixed explanatory text without figures (method, how to reproduce).
    Text(String),
    /// A command to copy.
    Command(String),
    Table(Table),
    Plot(Plot),
    Map(WinnerMap),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub id: String,
    pub title: String,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub title: String,
    pub subtitle: String,
    pub sections: Vec<Section>,
}
