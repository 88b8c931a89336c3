//! What is drawn: plots, maps, diagrams and bars as data. Their layout is in the files of the renderers.

use crate::escape;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;

/// How an axis of a plot is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Log2,
    Log10,
    /// From zero.
    Linear,
    /// One in so many is beyond: laid out as decades, labelled as the quantile that this is.
    Quantile,
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
    /// The x of those that are not told from what the plot compares with.
    pub undecided: Vec<f64>,
}

impl Series {
    pub fn of(name: impl Into<String>, style: usize, points: Vec<(f64, Estimate)>) -> Series {
        Series { name: name.into(), style, points, undecided: Vec::new() }
    }
}

/// How much room a plot takes in a row of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PlotRoom {
    /// Names at the ends of the lines.
    #[default]
    Half,
    /// One of several alike: the names stand in another.
    Quarter,
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
    pub room: PlotRoom,
    /// What y spans at least and at most: plots of a row share it.
    pub span: Option<(f64, f64)>,
    /// How far identical cases differ.
    pub noise: Option<(f64, f64)>,
}

impl Plot {
    /// Without marks and note; `None` where there is nothing to draw.
    pub fn of(id: &str, title: String, (x, y): (PlotAxis, PlotAxis), series: Vec<Series>) -> Option<Plot> {
        let plot = Plot {
            id: escape::slug(id),
            title,
            x,
            y,
            series,
            marks: Vec::new(),
            note: None,
            room: PlotRoom::Half,
            span: None,
            noise: None,
        };
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
}

/// Ratios with their intervals, one below the other, on one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestPlot {
    /// File name of the SVG without ending.
    pub id: String,
    pub title: String,
    /// Between these two ratios nothing has changed that matters.
    pub same: (f64, f64),
    pub rows: Vec<ForestRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    pub label: String,
    pub ratio: f64,
    /// `None`: too few replicates for an interval.
    pub interval: Option<(f64, f64)>,
    /// A colour, as in [`Series::style`]; `None`: undecided.
    pub style: Option<usize>,
    /// What stands at its end: `1.12x worse`
    pub told: String,
    /// On hover.
    pub detail: String,
}
