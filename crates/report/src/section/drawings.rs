//! The pictures that a probe asks for: curves with their levels, and heat maps.
//!
//! A line for each combination of the other axes that vary; a map for each combination that its two
//! coordinates do not tell apart. Nothing here knows a probe.

use super::capital;
use crate::context::{Layout, spread};
use crate::escape::slug;
use crate::material::Material;
use crate::{Block, HeatCell, HeatMap, Mark, MarkShape, Plot, PlotAxis, Scale, Series};
use std::collections::{BTreeMap, BTreeSet};
use syscost_analyze::operations::curves::{self, CurveLine};
use syscost_analyze::operations::levels;
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::sample::Metric;
use syscost_core::stats::Estimate;
use syscost_core::units::{self, Unit};
use syscost_experiment::plan::Case;
use syscost_measure::probe::row::{Drawing, Shape};

/// Lines of one plot, maps of one drawing, and cells along one side of a map.
const LINES: usize = 12;
const MAPS: usize = 4;
const SIDE: usize = 32;
/// Lines whose levels are marked: with more, the marks would hide the lines.
const MARKED: usize = 2;
/// Levels closer than this ratio are the same to the eye.
const ALIKE: f64 = 1.25;
/// From this ratio of the largest to the smallest value on, a scale is logarithmic.
const WIDE: f64 = 8.0;

pub fn blocks(m: &Material, layout: &Layout) -> Vec<Block> {
    let drawings = layout.probe.drawings();
    let of = |(at, drawing): (usize, &Drawing)| -> Vec<Block> {
        let canvas = ProbeDrawing::of(layout, drawing, format!("{} {at}", layout.probe.about().id));
        match (canvas, drawing.shape) {
            (Some(canvas), Shape::Curve { .. }) => canvas.curve(m).map(Block::Plot).into_iter().collect(),
            (Some(canvas), Shape::Heat { .. }) => canvas.heat().into_iter().map(Block::Heat).collect(),
            (None, _) => Vec::new(),
        }
    };
    drawings.iter().enumerate().flat_map(of).collect()
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
        let Shape::Curve { along, log_y, levels } = self.drawing.shape else { return None };
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

    /// One map for each combination of axes that the coordinates leave open.
    fn heat(&self) -> Vec<HeatMap> {
        let Shape::Heat { x, y, .. } = self.drawing.shape else { return Vec::new() };
        let placed: Vec<Placed> = self
            .cases
            .iter()
            .filter_map(|case| {
                let (e, _) = self.layout.estimate(case.index, self.metric.id)?;
                Some(Placed { case, x: x(&case.point)?, y: y(&case.point)?, estimate: e })
            })
            .collect();
        let open = open_axes(&placed, &self.layout.axes);
        let mut groups: BTreeMap<Point, Vec<&Placed>> = BTreeMap::new();
        for cell in &placed {
            groups.entry(curves::part(&cell.case.point, &open)).or_default().push(cell);
        }
        let several = groups.len() > 1;
        let map = |(point, cells): (&Point, &Vec<&Placed>)| {
            let about = if several { curves::describe(point, &open) } else { String::new() };
            self.map(&about, cells)
        };
        groups.iter().take(MAPS).map(map).collect()
    }

    fn map(&self, about: &str, placed: &[&Placed]) -> HeatMap {
        let (x_title, y_title, mirrored) = match self.drawing.shape {
            Shape::Heat { x_title, y_title, mirrored, .. } => (x_title, y_title, mirrored),
            Shape::Curve { .. } => ("", "", false),
        };
        let mut xs: BTreeSet<&Value> = placed.iter().map(|p| &p.x).collect();
        let mut ys: BTreeSet<&Value> = placed.iter().map(|p| &p.y).collect();
        if mirrored {
            xs.extend(ys.clone());
            ys.extend(xs.clone());
        }
        let (xs, ys) = (chosen(&xs), chosen(&ys));
        let values = || placed.iter().map(|p| p.estimate.value);
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let (scale, unit) = self.metric.unit.scale_for(high);
        let log = low > 0.0 && high / low >= WIDE;
        let names = (self.names(&xs, placed, true), self.names(&ys, placed, false));
        let mut cells = Vec::new();
        for (y, y_name) in ys.iter().zip(&names.1) {
            for (x, x_name) in xs.iter().zip(&names.0) {
                let at = |a: &Value, b: &Value| placed.iter().find(|p| p.x == *a && p.y == *b);
                let found = at(x, y).or_else(|| at(y, x).filter(|_| mirrored));
                cells.push(found.map(|p| HeatCell {
                    label: units::significant(p.estimate.value / scale),
                    shade: shade(p.estimate.value, low, high, log),
                    estimate: p.estimate,
                    place: format!("{x_title} {x_name}, {y_title} {y_name}"),
                }));
            }
        }
        let title = capital(self.drawing.title);
        HeatMap {
            id: slug(&format!("{} {} {about}", self.id, self.drawing.title)),
            title: if about.is_empty() { title } else { format!("{title}, {about}") },
            x_title: x_title.into(),
            y_title: y_title.into(),
            x: names.0,
            y: names.1,
            cells,
            unit,
            ends: [low, high].map(|v| self.metric.unit.format(v)),
            log,
        }
    }

    /// Coordinates for people: in the unit of the axis that has this value at this place.
    fn names(&self, values: &[&Value], placed: &[&Placed], across: bool) -> Vec<String> {
        let name = |value: &&Value| {
            let at = placed.iter().find(|p| if across { p.x == **value } else { p.y == **value });
            let holds = |axis: &&Axis| {
                let every = |p: &&Placed| p.case.point.get(axis.id) == Some(if across { &p.x } else { &p.y });
                at.is_some() && placed.iter().all(every)
            };
            match self.layout.axes.iter().find(holds) {
                Some(axis) => axis.show(value),
                None => value.to_string(),
            }
        };
        values.iter().map(name).collect()
    }
}

/// One cell of a map before it is laid out.
struct Placed<'a> {
    case: &'a Case,
    x: Value,
    y: Value,
    estimate: Estimate,
}

/// Axes on which two cases at the same place differ.
fn open_axes<'a>(placed: &[Placed], axes: &'a [Axis]) -> Vec<&'a Axis> {
    let mut at: BTreeMap<(&Value, &Value), &Point> = BTreeMap::new();
    let mut open = BTreeSet::new();
    for cell in placed {
        let first = at.entry((&cell.x, &cell.y)).or_insert(&cell.case.point);
        let differs = |a: &&Axis| first.get(a.id) != cell.case.point.get(a.id);
        open.extend(axes.iter().filter(differs).map(|a| a.id));
    }
    axes.iter().filter(|a| open.contains(a.id)).collect()
}

/// At most so many coordinates as a page has room for.
fn chosen<'v>(values: &BTreeSet<&'v Value>) -> Vec<&'v Value> {
    let all: Vec<&Value> = values.iter().copied().collect();
    spread(&all, SIDE)
}

/// Which shade a value has, from 0 for the lowest.
fn shade(value: f64, low: f64, high: f64, log: bool) -> usize {
    let share = if log { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) };
    let last = (HeatMap::SHADES - 1) as f64;
    if share.is_finite() { (share.clamp(0.0, 1.0) * last).round() as usize } else { 0 }
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
