//! The pictures that a probe asks for: curves with their levels.
//!
//! A line for each combination of the other axes that vary. Nothing here knows a probe.

use super::capital;
use crate::context::{Layout, spread};
use crate::material::Material;
use crate::{Block, Mark, MarkShape, Plot, PlotAxis, Scale, Series};
use syscost_analyze::operations::curves::{self, CurveLine};
use syscost_analyze::operations::levels;
use syscost_core::axis::{Axis, Point};
use syscost_core::sample::Metric;
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_measure::probe::row::{Drawing, Shape};

/// Lines of one plot.
const LINES: usize = 12;
/// Lines whose levels are marked: with more, the marks would hide the lines.
const MARKED: usize = 2;
/// Levels closer than this ratio are the same to the eye.
const ALIKE: f64 = 1.25;
/// From this ratio of the largest to the smallest value on, a scale is logarithmic.
const WIDE: f64 = 8.0;

pub fn blocks(m: &Material, layout: &Layout) -> Vec<Block> {
    let drawings = layout.probe.drawings();
    let of = |(at, drawing): (usize, &Drawing)| {
        let canvas = ProbeDrawing::of(layout, drawing, format!("{} {at}", layout.probe.about().id))?;
        canvas.curve(m).map(Block::Plot)
    };
    drawings.iter().enumerate().filter_map(of).collect()
}

/// Is the case drawn in a picture of its probe?
pub fn drawn(layout: &Layout, point: &Point) -> bool {
    layout.probe.drawings().iter().any(|d| (d.includes)(point))
}

struct ProbeDrawing<'a> {
    layout: &'a Layout<'a>,
    drawing: &'a Drawing,
    metric: Metric,
    id: String,
    cases: Vec<&'a Case>,
}

impl<'a> ProbeDrawing<'a> {
    fn of(layout: &'a Layout<'a>, drawing: &'a Drawing, id: String) -> Option<ProbeDrawing<'a>> {
        let metric = layout.metric(drawing.metric)?;
        let cases = curves::cases(layout.cases.iter().copied(), layout.probe.about().id, drawing);
        Some(ProbeDrawing { layout, drawing, metric, id, cases })
    }

    fn curve(&self, m: &Material) -> Option<Plot> {
        let Shape { along, log_y, levels } = self.drawing.shape;
        let axis = self.layout.axis(along)?;
        let lines = curves::lines(&self.cases, self.layout.cells, &self.layout.axes, self.drawing);
        if lines.iter().all(|line| line.points.len() < 2) {
            return None;
        }
        let places: Vec<usize> = (0..lines.len()).collect();
        let shown = spread(&places, LINES);
        let left = lines.len() - shown.len();
        let series = shown.iter().enumerate().map(|(style, at)| self.series(style, &lines[*at])).collect();
        let marks = if levels { marks(m, axis, &lines, &shown) } else { Vec::new() };
        let x = PlotAxis { title: axis.title.into(), unit: axis.unit, scale: x_scale(axis.unit, &lines) };
        let scale = if log_y { Scale::Log10 } else { Scale::Linear };
        let y = PlotAxis { title: self.metric.title.into(), unit: self.metric.unit, scale };
        let title = self.drawing.title;
        let plot = Plot::of(&format!("{} {title}", self.id), capital(title), (x, y), series)?;
        let note = (left > 0).then(|| format!("{left} more lines are in results.csv."));
        Some(Plot { marks, note, ..plot })
    }

    fn series(&self, style: usize, line: &CurveLine) -> Series {
        let name = if line.name.is_empty() { self.metric.title.to_string() } else { line.name.clone() };
        Series::of(name, style, line.points.iter().map(|(x, e, _)| (*x, *e)).collect())
    }
}

fn x_scale(unit: Unit, lines: &[CurveLine]) -> Scale {
    let xs = || lines.iter().flat_map(|l| l.points.iter().map(|p| p.0));
    let (low, high) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
    let wide = low > 0.0 && (unit == Unit::Bytes || high / low >= WIDE);
    if wide { Scale::Log2 } else { Scale::Linear }
}

/// The levels of the lines, and the capacities that the machine reports within the plot.
fn marks(m: &Material, axis: &Axis, lines: &[CurveLine], shown: &[usize]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (style, at) in shown.iter().enumerate().take(MARKED) {
        for level in levels::of_line(&lines[*at]) {
            let unit = lines[*at].points.first().map_or(Unit::Count, |p| p.1.unit);
            // Lines that agree share a mark.
            let again = |m: &Mark| match m.shape {
                MarkShape::Level { y, from_x, to_x } => {
                    (y / level.value).ln().abs() < ALIKE.ln() && from_x <= level.to_x && level.from_x <= to_x
                }
                MarkShape::At { .. } => false,
            };
            if marks.iter().any(again) {
                continue;
            }
            let shape = MarkShape::Level { y: level.value, from_x: level.from_x, to_x: level.to_x };
            marks.push(Mark { shape, style: Some(style), label: unit.format(level.value) });
        }
    }
    if axis.unit == Unit::Bytes {
        let xs = || lines.iter().flat_map(|l| l.points.iter().map(|p| p.0));
        let (low, high) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
        let within = levels::capacities(m.run).into_iter().filter(|c| c.bytes >= low && c.bytes <= high);
        marks.extend(within.map(|c| Mark {
            shape: MarkShape::At { x: c.bytes },
            style: None,
            label: format!("{} {}", c.name, Unit::Bytes.format(c.bytes)),
        }));
    }
    marks
}
