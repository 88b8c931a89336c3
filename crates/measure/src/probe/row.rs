//! How the cases of a probe appear in a report: a row of the table of operations, a point of a
//! curve. Declared by the probe; drawn by the report, which knows no probe.

use syscost_core::axis::Point;

/// How one case stands among the operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What tells it from the probe's other rows: `getppid`, `3 arguments`; may be empty.
    pub label: String,
    /// The same operation in published tables: `operation` and `variant` of the columns that
    /// `report --beside` reads.
    pub published: Option<(&'static str, String)>,
    /// False for a point of a curve, which is drawn rather than listed.
    pub listed: bool,
    /// Among the few figures that a report opens with, under these words: `a system call`.
    pub told_as: Option<&'static str>,
}

impl Row {
    pub fn listed(label: impl Into<String>) -> Row {
        Row { label: label.into(), published: None, listed: true, told_as: None }
    }

    /// A point of a curve.
    pub fn drawn(label: impl Into<String>) -> Row {
        Row { label: label.into(), published: None, listed: false, told_as: None }
    }

    /// A figure that a report opens with; where a probe has none, its first row is taken.
    pub fn told_as(self, words: &'static str) -> Row {
        Row { told_as: Some(words), ..self }
    }

    /// Under this operation and variant in published tables.
    pub fn as_published(self, operation: &'static str, variant: impl Into<String>) -> Row {
        Row { published: Some((operation, variant.into())), ..self }
    }
}

/// A picture of a probe's cases.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    pub title: &'static str,
    /// The metric that is drawn.
    pub metric: &'static str,
    pub shape: Shape,
    /// Cases that belong in it; the others are left out.
    pub includes: fn(&Point) -> bool,
    /// The first level of the curve ends where this is full.
    pub holder: Option<Holder>,
}

/// Something of unknown size that serves the small cases of a curve.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// `the file cache`
    pub name: &'static str,
    /// What the curve's costs are of: `reads of 4 KiB`.
    pub act: &'static str,
    /// The metric that says how much it may take in all, and the name of the same among the inputs of predictions.
    pub room: &'static str,
    /// The metric that says which share of a case it still had when the case was measured.
    pub held_share: &'static str,
}

impl Drawing {
    /// The cost of every case along an axis of sizes or numbers, both logarithmic.
    pub const fn of_cost(title: &'static str, along: &'static str) -> Drawing {
        Drawing::of(title, "cost", Shape { along, log_y: true, levels: false })
    }

    /// Of every case.
    pub const fn of(title: &'static str, metric: &'static str, shape: Shape) -> Drawing {
        Drawing { title, metric, shape, includes: |_| true, holder: None }
    }
}

/// The metric over a numeric axis; a line for each combination of the other axes that vary.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub along: &'static str,
    pub log_y: bool,
    /// Find the levels of the curve (caches, page cache) and compare them with what the
    /// machine says of itself.
    pub levels: bool,
}
