//! A figure of a course report: panels that share a kind of axis, drawn here as PDF and by a script.
//!
//! The same numbers, already in the unit that is shown, go to every drawing of a figure.

use syscost_core::stats::Estimate;
use syscost_core::units;
use syscost_report::svg::{COLOURS, STYLE};
use syscost_report::{Scale, Series};

#[derive(Clone, Debug, PartialEq)]
pub struct CourseFigure {
    /// File name without ending.
    pub name: String,
    pub title: String,
    pub panels: Vec<CoursePanel>,
    /// What was measured where: under the panels.
    pub caption: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CoursePanel {
    pub title: String,
    pub x: PanelAxis,
    /// `throughput, Gbit/s`
    pub y: String,
    pub log_y: bool,
    pub series: Vec<Series>,
    /// Why there is nothing to draw.
    pub missing: Option<String>,
}

/// What the x axis of a panel is: sizes and threads by powers of two, counts one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelAxis {
    MessageBytes,
    Threads,
    Arguments,
}

impl PanelAxis {
    pub fn scale(self) -> Scale {
        match self {
            PanelAxis::MessageBytes | PanelAxis::Threads => Scale::Log2,
            PanelAxis::Arguments => Scale::Linear,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            PanelAxis::MessageBytes => "message size, bytes",
            PanelAxis::Threads => "threads",
            PanelAxis::Arguments => "arguments",
        }
    }

    /// `16K`, `8`
    pub fn label(self, x: f64) -> String {
        match self {
            PanelAxis::MessageBytes => units::short_bytes(x as u64),
            PanelAxis::Threads | PanelAxis::Arguments => units::significant(x),
        }
    }
}

impl CoursePanel {
    pub fn estimates(&self) -> impl Iterator<Item = &Estimate> {
        self.series.iter().flat_map(|s| s.points.iter().map(|p| &p.1))
    }
}

impl CourseFigure {
    /// Least and most of every panel with this y axis: panels that are compared share it.
    pub fn extent(&self, y: &str) -> (f64, f64) {
        let alike = || self.panels.iter().filter(|panel| panel.y == y).flat_map(CoursePanel::estimates);
        (alike().map(|e| e.low).fold(f64::INFINITY, f64::min), alike().map(|e| e.high).fold(0.0, f64::max))
    }

    /// The names of the lines, for one legend of all panels.
    pub fn legend(&self) -> Vec<(&str, usize)> {
        let mut names: Vec<(&str, usize)> = Vec::new();
        for series in self.panels.iter().flat_map(|p| &p.series) {
            if !names.iter().any(|(name, _)| *name == series.name) {
                names.push((&series.name, series.style));
            }
        }
        names.sort_by_key(|(_, style)| *style);
        names
    }
}

/// The colour of a style on white paper, from the palette of the report's plots: `#0072b2`.
pub fn hex(style: usize) -> &'static str {
    let name = format!("--c{}:", style % COLOURS);
    // The light palette comes first.
    STYLE.find(&name).map_or("#000000", |at| &STYLE[at + name.len()..][..7])
}

/// The same as red, green and blue from 0 to 1.
pub fn rgb(style: usize) -> [f64; 3] {
    let hex = hex(style);
    [1, 3, 5].map(|at| u8::from_str_radix(&hex[at..at + 2], 16).map_or(0.0, |part| f64::from(part) / 255.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_has_a_colour_of_its_own() {
        let colours: std::collections::BTreeSet<&str> = (0..COLOURS).map(hex).collect();
        assert_eq!(colours.len(), COLOURS);
        assert!(colours.iter().all(|c| c.len() == 7 && c.starts_with('#')));
        assert_eq!(rgb(0), [0.0, 114.0 / 255.0, 178.0 / 255.0]);
    }
}
