//! The report: sections, tables, plots and findings, without markup; renderers are beside it.
//!
//! [`build`] turns a run into a [`Report`]; [`html`], [`svg`] and [`terminal`] draw it and [`csv`]
//! writes the figures. A renderer computes nothing: what it shows is already in the report.

use crate::text::ending::Ending;

pub use canvas::{Anchor, SvgDrawing};
pub use shapes::*;
pub use syscost_analyze::CellRef;
pub use table::*;

pub mod escape;
mod shapes;
pub mod palette;
mod canvas;
mod bars;
pub mod context;
pub mod material;
mod rivals;
pub mod text;
mod table;
pub mod flame;
pub mod profile_files;
pub mod section;
pub mod build;
pub mod comparisons;
pub mod csv;
pub mod diagram;
pub mod findings;
pub mod terminal;
pub mod ticks;
mod forest;
mod marks;
pub mod svg;
mod policy;
pub mod sentence;
pub mod html;
pub mod sides;
pub mod side_page;
pub mod counts_beside;
pub mod export;
pub mod gate;

/// Cases that a sentence shows its links to; the links to the others are folded away behind it.
pub const LINKS: usize = 6;

/// Cells of one sentence that certainly have their place on the page, unless its run has too many cases
/// for that: then so many as are shown. What is not on the page is in `results.csv`.
pub const LINKED: usize = 12;

/// A sentence and the cells that show it. No sentence about figures without cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub text: String,
    pub cells: Vec<CellRef>,
}

impl Statement {
    /// Of no figure of this run.
    pub fn bare(text: impl Into<String>) -> Statement {
        Statement { text: text.into(), cells: Vec::new() }
    }
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

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading within the section (one combination of the other axes).
    Heading(String),
    /// A question: what is answered in one sentence, and behind it what shows it.
    Question {
        id: String,
        headline: String,
        question: String,
        blocks: Vec<Block>,
    },
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
    Diagram(Diagram),
    Bars(StackedBars),
    Flame(flame::FlameGraph),
    Forest(ForestPlot),
    /// Plots beside each other, read against each other.
    Panels(Vec<Plot>),
    /// The names of lines that several figures share, with their styles.
    Legend(Vec<(String, usize)>),
    /// What needs saying beside a figure, small.
    Note(String),
    /// One shown at a time, the first at first; each has a name.
    Tabs {
        id: String,
        tabs: Vec<(String, Vec<Block>)>,
    },
    /// What few readers want, folded away under a title.
    Folded {
        title: String,
        blocks: Vec<Block>,
    },
}

impl Block {
    /// This block and those folded into it.
    pub fn all(&self) -> Vec<&Block> {
        match self {
            Block::Folded { blocks, .. } | Block::Question { blocks, .. } => {
                std::iter::once(self).chain(blocks.iter().flat_map(Block::all)).collect()
            }
            Block::Tabs { tabs, .. } => {
                let within = tabs.iter().flat_map(|(_, blocks)| blocks.iter().flat_map(Block::all));
                std::iter::once(self).chain(within).collect()
            }
            _ => vec![self],
        }
    }

    /// What is in one tab needs none.
    pub fn tabs(id: &str, mut tabs: Vec<(String, Vec<Block>)>) -> Vec<Block> {
        match tabs.len() {
            0 => Vec::new(),
            1 => tabs.remove(0).1,
            _ => vec![Block::Tabs { id: escape::slug(id), tabs }],
        }
    }

    /// What is drawn, a file each.
    pub fn drawings(&self) -> Vec<&dyn SvgDrawing> {
        match self {
            Block::Panels(plots) => plots.iter().map(|plot| plot as &dyn SvgDrawing).collect(),
            Block::Diagram(diagram) => vec![diagram],
            Block::Plot(plot) => vec![plot],
            Block::Bars(bars) => vec![bars],
            Block::Flame(graph) => vec![graph],
            Block::Forest(plot) => vec![plot],
            _ => Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub id: String,
    pub title: String,
    /// The title that it is behind until somebody asks, with its neighbours of the same.
    pub folded: Option<&'static str>,
    pub blocks: Vec<Block>,
}

impl Section {
    pub fn new(id: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section { id: id.into(), title: title.into(), folded: None, blocks }
    }
}

/// Whether to believe the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrustBar {
    /// `green`, `amber` or `red`.
    pub colour: &'static str,
    pub headline: String,
    pub facts: Vec<String>,
}

/// What somebody in one situation should do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerCard {
    pub title: String,
    /// In bold.
    pub headlines: Vec<Statement>,
    pub shown: Vec<Statement>,
    /// What the page shows in the place of `shown`: what it is that costs, and how much.
    pub figures: Vec<CardFigure>,
    pub folded: Vec<Statement>,
    /// Where it holds.
    pub note: String,
}

/// What it is that costs, how much, and the cell that says so.
#[derive(Clone, Debug, PartialEq)]
pub struct CardFigure {
    pub what: String,
    pub figure: String,
    pub cell: CellRef,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub title: String,
    pub subtitle: String,
    pub trust: TrustBar,
    pub answers: Vec<AnswerCard>,
    /// Every sentence of the answers: what a terminal shows.
    pub verdict: Vec<Statement>,
    /// What a terminal shows of the figures.
    pub ending: Ending,
    /// What is wrong, rather than weak: shown before anything else.
    pub errors: Vec<Notice>,
    pub notices: Vec<Notice>,
    pub sections: Vec<Section>,
}

impl Report {
    /// Every block, folded ones too, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|s| &s.blocks).flat_map(Block::all)
    }

    pub fn diagrams(&self) -> impl Iterator<Item = &Diagram> {
        self.blocks().filter_map(|block| if let Block::Diagram(d) = block { Some(d) } else { None })
    }
}
