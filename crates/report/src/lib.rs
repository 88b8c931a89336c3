//! The report: sections, tables, plots and findings, without markup; renderers are beside it.
//!
//! [`build`] turns a run into a [`Report`]; [`html`], [`svg`] and [`terminal`] draw it and [`csv`]
//! writes the figures. A renderer computes nothing: what it shows is already in the report.

use crate::text::ending::Ending;
use syscost_core::stats::Estimate;
use syscost_core::units::{self, Unit};

use syscost_analyze::words::percent;

pub use canvas::{Anchor, SvgDrawing};
pub use syscost_analyze::{CellRef, Statement};

mod bars;
pub mod build;
pub mod context;
pub mod material;
mod regions;
pub mod comparisons;
pub mod csv;
pub mod diagram;
pub mod escape;
pub mod findings;
mod canvas;
mod heat;
pub mod html;
mod level_line;
mod marks;
mod policy;
pub mod section;
pub mod sentence;
pub mod svg;
pub mod terminal;
pub mod text;

/// Cases that a sentence shows its links to; the links to the others are folded away behind it.
pub const LINKS: usize = 6;

/// Cells of one sentence that certainly have their place on the page, unless its run has too many cases
/// for that: then so many as are shown. What is not on the page is in `results.csv`.
pub const LINKED: usize = 48;

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
    /// Nothing is significantly better, and more rounds may tell.
    Undecided,
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
    /// Not measurable, with the reason (shown once, in the section on what is missing).
    Missing,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table {
    pub id: String,
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Entry>>,
    /// The unit that every estimate is shown in: what to divide by, and its name. `None`: each
    /// estimate with its own unit and prefix.
    pub shown_in: Option<(f64, String)>,
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

/// How an axis of a plot is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Log2,
    Log10,
    /// From zero.
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
    /// Colour and marker: the same number means the same thing in the whole report.
    pub style: usize,
    /// x, and y with its interval; in order of x.
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
    pub marks: Vec<Mark>,
    pub note: Option<String>,
}

impl Plot {
    /// Without marks and note; `None` where there is nothing to draw.
    pub fn of(id: &str, title: String, (x, y): (PlotAxis, PlotAxis), series: Vec<Series>) -> Option<Plot> {
        let plot = Plot { id: escape::slug(id), title, x, y, series, marks: Vec::new(), note: None };
        (!plot.series.is_empty()).then_some(plot)
    }
}

/// A value worth a line of its own in a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub shape: MarkShape,
    /// That of the series it belongs to.
    pub style: Option<usize>,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MarkShape {
    /// The curve stands still here.
    Level { y: f64, from_x: f64, to_x: f64 },
    /// Something that the machine says of itself.
    At { x: f64 },
    /// What the curves are held against, in order of x.
    Line { points: Vec<(f64, f64)> },
}

/// A metric as colour over two coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    pub id: String,
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    pub x: Vec<String>,
    pub y: Vec<String>,
    /// Row-major over y then x; `None`: not measured.
    pub cells: Vec<Option<HeatCell>>,
    /// The unit that every label is in.
    pub unit: String,
    /// The lowest and the highest value.
    pub ends: [String; 2],
    /// Do shades differ by a factor, rather than by a difference?
    pub log: bool,
}

impl HeatMap {
    pub const SHADES: usize = 9;
}

#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    pub label: String,
    /// From 0 for the lowest to [`HeatMap::SHADES`] - 1.
    pub shade: usize,
    pub estimate: Estimate,
    /// Its coordinates in words.
    pub place: String,
}

/// Which way is best where, over a line of numbers for each value of another axis.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionMap {
    /// File name of the SVG without ending.
    pub id: String,
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    /// What may be best; with the style of each.
    pub names: Vec<(String, usize)>,
    pub rows: Vec<RegionRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RegionRow {
    pub label: String,
    /// In ascending order of x.
    pub places: Vec<RegionPlace>,
    /// Where the best changes: between two tested values.
    pub borders: Vec<(f64, f64)>,
}

/// One tested place.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionPlace {
    pub x: f64,
    /// As people write it.
    pub label: String,
    /// Indices in the names: those that nothing is significantly better than.
    pub best: Vec<usize>,
    pub significant: bool,
    /// The figures, on hover and read aloud.
    pub detail: String,
}

/// What is to be seen of the boxes of a [`Diagram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    User,
    Kernel,
    /// Between two machines, or two sockets of one.
    Between,
}

/// A place where data lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    pub area: Layer,
    pub name: String,
    /// In a word, for a line of text.
    pub short: String,
}

/// How data goes from one location to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Movement {
    /// So many bytes are copied per byte of payload.
    Copied(f64),
    /// Nothing is copied: it is handed on where it lies.
    Reference,
    /// A device moves it.
    Device,
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    pub kind: Movement,
    /// `1x`, `0`, `?`
    pub amount: String,
    /// `copied in`
    pub what: String,
    /// Of the part that is not: `0.4 by reference`.
    pub rest: Option<String>,
}

impl Arrow {
    pub fn new(kind: Movement, amount: &str, what: &str) -> Arrow {
        Arrow { kind, amount: amount.into(), what: what.into(), rest: None }
    }
}

/// Where data lies on its way, and how it goes from each place to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    /// File name of the SVG without ending.
    pub id: String,
    pub title: String,
    /// What a name says and what was found; does it hold?
    pub claim: Option<(Option<bool>, String)>,
    /// From the first to the last.
    pub stages: Vec<Location>,
    /// One fewer.
    pub arrows: Vec<Arrow>,
    pub notes: Vec<String>,
}

/// Stacked bars, one below the other, each with a mark where the whole was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct StackedBars {
    /// File name of the SVG without ending.
    pub id: String,
    pub title: String,
    pub unit: Unit,
    /// What the parts are; the position is the style, as in [`Series::style`].
    pub parts: Vec<String>,
    pub bars: Vec<StackedBar>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StackedBar {
    pub label: String,
    /// One a part; 0 where it has none.
    pub parts: Vec<f64>,
    /// The whole as it was measured.
    pub measured: f64,
    pub cell: CellRef,
}

/// How fast the machine was, over the time of measuring.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelLine {
    /// File name of the SVG without ending.
    pub id: String,
    pub title: String,
    /// Changes up to this share can be chance.
    pub chance: f64,
    /// In the order of time.
    pub steps: Vec<LevelStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LevelStep {
    pub from_s: f64,
    pub to_s: f64,
    /// Costs over the usual, as a share.
    pub level: f64,
    /// Are its samples marked?
    pub slow: bool,
}

/// Something that weakens figures or is missing, and what to do about it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Notice {
    pub title: String,
    pub text: String,
    /// The next command or setting; empty = nothing to do.
    pub remedy: String,
    /// The cases it concerns; empty = the whole run.
    pub cases: Vec<usize>,
}

/// A place on the page, and what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLink {
    pub id: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading within the section (one combination of the other axes).
    Heading(String),
    /// The heading of a question, with its place on the page.
    Question(PageLink),
    /// The questions that follow, linked.
    Contents(Vec<PageLink>),
    Statement(Statement),
    /// Several sentences, as a list.
    Statements(Vec<Statement>),
    /// Fixed explanatory text without figures (method, how to reproduce).
    Text(String),
    /// Title, value and where it was read; folded away under a title where there is one.
    Facts {
        folded: Option<String>,
        facts: Vec<(String, String, String)>,
    },
    /// A command to copy.
    Command(String),
    Notice(Notice),
    Table(Table),
    Plot(Plot),
    Heat(HeatMap),
    Diagram(Diagram),
    Regions(RegionMap),
    Bars(StackedBars),
    Level(LevelLine),
    /// What few readers want, folded away under a title.
    Folded {
        title: String,
        blocks: Vec<Block>,
    },
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

impl Block {
    /// This block and those folded into it.
    pub fn all(&self) -> Vec<&Block> {
        match self {
            Block::Folded { blocks, .. } => {
                std::iter::once(self).chain(blocks.iter().flat_map(Block::all)).collect()
            }
            _ => vec![self],
        }
    }

    pub fn drawing(&self) -> Option<&dyn SvgDrawing> {
        Some(match self {
            Block::Plot(plot) => plot,
            Block::Heat(map) => map,
            Block::Diagram(diagram) => diagram,
            Block::Regions(map) => map,
            Block::Bars(bars) => bars,
            Block::Level(line) => line,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub id: String,
    pub title: String,
    /// Two words for the navigation.
    pub short: String,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub title: String,
    pub subtitle: String,
    /// What an engineer should do, in one paragraph.
    pub verdict: Vec<Statement>,
    /// The figures behind the verdict in the least space.
    pub glance: Vec<Table>,
    /// What a terminal shows of the figures.
    pub ending: Ending,
    /// What is wrong, rather than weak: shown before anything else.
    pub errors: Vec<Notice>,
    /// What the machine and the run did during the measurement, in a line each.
    pub during: Vec<String>,
    pub notices: Vec<Notice>,
    pub sections: Vec<Section>,
}

impl Report {
    /// Every block, folded ones too, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|s| &s.blocks).flat_map(Block::all)
    }

    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        self.blocks().filter_map(|block| if let Block::Plot(plot) = block { Some(plot) } else { None })
    }

    pub fn diagrams(&self) -> impl Iterator<Item = &Diagram> {
        self.blocks().filter_map(|block| if let Block::Diagram(d) = block { Some(d) } else { None })
    }

    pub fn heats(&self) -> impl Iterator<Item = &HeatMap> {
        self.blocks().filter_map(|block| if let Block::Heat(map) = block { Some(map) } else { None })
    }
}
