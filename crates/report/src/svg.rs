//! Plots as SVG: log or linear axes, lines with interval bands, labels at the ends of the lines.
//!
//! Colours are CSS classes (`s0`, `s1`..) so that a page and its dark theme own them; the same
//! drawing becomes a file of its own with [`files`]. Layout only: no figure is computed here.

use super::canvas::{Anchor, Area, Canvas, Frame, MARGIN, SvgDrawing, WHOLE, style_class};
use super::marks::{self, TOP};
use super::palette::COLOURS;
use super::ticks::{AxisScale, linear_ticks, log_ticks, ratio_ticks};
use super::{Plot, PlotAxis, PlotRoom, Report, Scale, Series, palette};
use syscost_core::stats::Estimate;
use syscost_core::units::{self, Unit};

const WIDTH: f64 = 540.0;
const LEFT: f64 = 60.0;
/// From the frame to the bottom of the drawing: x labels, and the title of the axis.
const BELOW: f64 = 42.0;
const TICKS: f64 = 26.0;
/// Where the first and the last value lie, in per mille of the width.
const INSET: f64 = 18.0;
/// Room for one label at the end of a line, and of one of its characters in bold.
const LABEL: f64 = 16.0;
const CHARACTER: f64 = 7.6;
/// x labels that a plot has room for, side by side.
const X_LABELS: usize = 9;

/// Each drawing as a file: (name without directory, content).
pub fn files(report: &Report) -> Vec<(String, String)> {
    let drawings = report.blocks().flat_map(|block| block.drawings());
    drawings.map(|drawing| (format!("{}.svg", drawing.frame().id), drawing.standalone())).collect()
}

/// The same drawing for what knows no variables of a style and has no dark theme: papers, slides, librsvg, Inkscape.
pub fn printable(drawing: &str) -> String {
    const DARK: &str = "@media (prefers-color-scheme:dark){";
    const ROOT: &str = ":root{";
    let mut text = drawing.to_string();
    while let Some((start, length)) = text.find(DARK).and_then(|at| Some((at, text[at..].find("}}")? + 2))) {
        text.replace_range(start..start + length, "");
    }
    let mut values = Vec::new();
    while let Some((start, length)) = text.find(ROOT).and_then(|at| Some((at, text[at..].find('}')? + 1))) {
        let own = text[start + ROOT.len()..start + length - 1].replace('\n', "");
        let pairs = own.split(';').filter_map(|one| one.split_once(':'));
        values.extend(pairs.map(|(name, value)| (format!("var({name})"), value.to_string())));
        text.replace_range(start..start + length, "");
    }
    values.iter().fold(text, |text, (name, value)| text.replace(name, value))
}

/// A line with its marker, for legends of plots that are too narrow for names at the ends.
pub fn line_icon(style: usize) -> String {
    let mut canvas = Canvas::default();
    let class = style_class(style);
    canvas.put(format_args!(
        "<svg viewBox=\"-15 -6 30 12\" class=\"plot wide-icon {class}\" aria-hidden=\"true\">"
    ));
    canvas.path("line", format_args!("M-15 0H15"));
    marker(&mut canvas, style, (0.0, 0.0));
    canvas.into_string() + "</svg>"
}

/// A colour alone, for legends beside what is filled.
pub fn colour_icon(style: usize) -> String {
    format!(
        "<svg viewBox=\"0 0 12 12\" class=\"icon {}\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" rx=\"2\" fill=\"currentColor\"/></svg>",
        style_class(style)
    )
}

impl Plot {
    fn estimates(&self) -> impl Iterator<Item = &Estimate> {
        self.series.iter().flat_map(|s| s.points.iter().map(|(_, e)| e))
    }
}

/// The x values that were run, each once.
pub fn xs(series: &[Series]) -> Vec<f64> {
    let mut xs: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|(x, _)| *x)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs
}

/// Where the parts of a plot are.
struct PlotFrame {
    area: Area,
    bottom: f64,
    x: AxisScale,
    y: AxisScale,
    ticks: Vec<f64>,
}

impl PlotFrame {
    fn of(plot: &Plot, xs: &[f64]) -> PlotFrame {
        let bottom = if plot.room == PlotRoom::Quarter { 126.0 } else { 244.0 };
        let longest = plot.series.iter().map(|s| s.name.chars().count()).max().unwrap_or(0);
        let margins = match plot.room {
            PlotRoom::Quarter => 1,
            PlotRoom::Half => (CHARACTER * longest as f64 / MARGIN).ceil() as usize + 1,
        };
        let ticks = y_ticks(plot);
        let (low, high) = y_range(plot, &ticks);
        let x = |i: usize| xs.get(i).copied().unwrap_or(1.0);
        PlotFrame {
            area: Area { left: LEFT, margins: margins.min(MARGINS) },
            bottom,
            x: AxisScale {
                scale: plot.x.scale,
                low: x(0),
                high: x(xs.len().saturating_sub(1)),
                from: INSET,
                to: WHOLE - INSET,
            },
            y: AxisScale { scale: plot.y.scale, low, high, from: bottom, to: TOP },
            ticks,
        }
    }
}

/// Classes that the style has for the room to the right.
const MARGINS: usize = 15;

impl Plot {
    fn width(&self) -> f64 {
        if self.room == PlotRoom::Quarter { WIDTH / 2.0 } else { WIDTH }
    }

    /// `CPU time per message, relative to send, by message size`
    fn axes(&self) -> Option<String> {
        let by = if self.named_below() || self.x.title.is_empty() {
            String::new()
        } else {
            format!(", by {}", self.x.title)
        };
        (!self.y.title.is_empty() && !self.title.contains(&self.y.title)).then(|| self.y.title.clone() + &by)
    }

    /// Does the x axis need its name? Sizes say what they are, and small panels stand beside others.
    fn named_below(&self) -> bool {
        self.room == PlotRoom::Half && self.x.unit != Unit::Bytes
    }
}

impl SvgDrawing for Plot {
    fn frame(&self) -> Frame<'_> {
        let PlotFrame { bottom, area, .. } = PlotFrame::of(self, &xs(&self.series));
        let below = if self.named_below() { BELOW } else { TICKS };
        Frame {
            class: if self.room == PlotRoom::Quarter { "small" } else { "" },
            id: &self.id,
            title: &self.title,
            width: self.width(),
            height: bottom + below,
            area: Some(area),
            // A file says what it shows: on the page its place does.
            notes: self.axes().into_iter().chain(self.note.iter().cloned()).collect(),
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let xs = xs(&self.series);
        if xs.is_empty() {
            return canvas.text("tick", (0.0, TOP + 20.0), Anchor::Start, "no data");
        }
        let layout = PlotFrame::of(self, &xs);
        for tick in &layout.ticks {
            let at = (-7.0, layout.y.at(*tick) + 4.5);
            canvas.text("tick", at, Anchor::End, &tick_label(self.y.unit, *tick));
        }
        let log =
            if self.y.scale == Scale::Linear || self.y.unit == Unit::Ratio { "" } else { ", log scale" };
        canvas.text("axis", (4.0 - LEFT, 13.0), Anchor::Start, &format!("{}{log}", axis_title(&self.y)));
        canvas.stretched(layout.bottom, |canvas| stretched(canvas, self, &layout));
        placed(canvas, self, &layout, &xs);
        if self.room == PlotRoom::Half {
            end_labels(canvas, self, &layout);
        }
    }
}

/// Everything that may be stretched: the grid, bands and lines.
fn stretched(canvas: &mut Canvas, plot: &Plot, layout: &PlotFrame) {
    let PlotFrame { x, y, bottom, .. } = layout;
    if let Some((low, high)) = plot.noise {
        canvas.group("", "how far twins of the control differ", |canvas| {
            canvas.rect("noise", (0.0, y.at(high)), (WHOLE, y.at(low) - y.at(high)));
        });
    }
    for tick in &layout.ticks {
        let class = if plot.y.unit == Unit::Ratio && *tick == 1.0 { "one" } else { "grid" };
        canvas.path(class, format_args!("M0 {:.1}H{WHOLE}", y.at(*tick)));
    }
    canvas.path("base", format_args!("M0 {bottom}H{WHOLE}"));
    marks::stretched(canvas, &plot.marks, (*x, *y), *bottom);
    for series in &plot.series {
        canvas.group(&style_class(series.style), "", |canvas| {
            bands(canvas, series, (*x, *y));
            canvas.line("line", series.points.iter().map(|(at, e)| (x.at(*at), y.at(e.value))));
        });
    }
}

/// The intervals as a band, half way to the neighbours for each point: hatched where nothing is decided.
fn bands(canvas: &mut Canvas, series: &Series, (x, y): (AxisScale, AxisScale)) {
    let points: Vec<[f64; 3]> =
        series.points.iter().map(|(at, e)| [x.at(*at), y.at(e.low), y.at(e.high)]).collect();
    if points.len() < 2 {
        return;
    }
    let between = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|i| (a[i] + b[i]) / 2.0);
    let open = |i: &usize| series.undecided.contains(&series.points[*i].0);
    let places: Vec<usize> = (0..points.len()).collect();
    for run in places.chunk_by(|a, b| open(a) == open(b)) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let before = first.checked_sub(1).map(|i| between(points[i], points[first]));
        let after = points.get(last + 1).map(|next| between(points[last], *next));
        let edge: Vec<[f64; 3]> =
            before.into_iter().chain(run.iter().map(|i| points[*i])).chain(after).collect();
        let low = edge.iter().map(|p| (p[0], p[1]));
        let high = edge.iter().rev().map(|p| (p[0], p[2]));
        canvas.line(if open(&first) { "band open" } else { "band" }, low.chain(high));
    }
}

/// What stands at places of the area and keeps its shape: markers, x labels, marks' names.
fn placed(canvas: &mut Canvas, plot: &Plot, layout: &PlotFrame, xs: &[f64]) {
    let PlotFrame { x, y, bottom, .. } = layout;
    for (i, value) in labelled(*x, xs).into_iter().enumerate() {
        let class = if i % 2 == 1 { "tick minor" } else { "tick" };
        canvas.label(class, (x.at(value), bottom + 18.0), Anchor::Middle, &x_label(&plot.x, value));
    }
    if plot.named_below() {
        canvas.label("axis", (WHOLE / 2.0, bottom + 36.0), Anchor::Middle, &axis_title(&plot.x));
    }
    marks::placed(canvas, &plot.marks, (*x, *y));
    for series in &plot.series {
        canvas.group(&style_class(series.style), "", |canvas| {
            for (at, e) in &series.points {
                let open = series.undecided.contains(at);
                let place = (x.at(*at), y.at(e.value));
                let name = format!("{}, {}", series.name, x_label(&plot.x, *at));
                let told = if open {
                    format!("{name}: undecided, {}", with_interval(e))
                } else {
                    format!("{name}: {}", with_interval(e))
                };
                point(canvas, place, &told, if open { OPEN } else { series.style });
            }
        });
    }
}

/// The style of the marker of what is undecided.
const OPEN: usize = usize::MAX;

fn point(canvas: &mut Canvas, (x, y): (f64, f64), told: &str, style: usize) {
    canvas.at(x, |canvas| {
        canvas.group("point", told, |canvas| {
            canvas.circle("hit", (0.0, y), 9.0);
            if style == OPEN {
                canvas.circle("mark hollow", (0.0, y), 3.2);
            } else {
                marker(canvas, style, (0.0, y));
            }
        });
    });
}

/// The x values with a label: all, or so many that they stand clear of one another.
fn labelled(x: AxisScale, xs: &[f64]) -> Vec<f64> {
    let step = WHOLE / X_LABELS as f64;
    let mut kept: Vec<f64> = Vec::new();
    let named = |value: &&f64| x.scale != Scale::Quantile || QUANTILES.contains(value);
    for value in xs.iter().filter(named) {
        if kept.last().is_none_or(|last| x.at(*value) - x.at(*last) >= step * 0.99) {
            kept.push(*value);
        }
    }
    kept
}

fn axis_title(axis: &PlotAxis) -> String {
    let unit = match axis.unit {
        // Their labels carry the unit or need none.
        Unit::Bytes | Unit::Nanoseconds | Unit::Count | Unit::Ratio | Unit::Name => {
            return axis.title.clone();
        }
        unit => unit.symbol(),
    };
    format!("{} ({unit})", axis.title)
}

/// Those that people ask for, as one in so many.
const QUANTILES: [f64; 6] = [2.0, 10.0, 100.0, 1e3, 1e4, 1e5];

fn x_label(axis: &PlotAxis, value: f64) -> String {
    if axis.scale == Scale::Quantile {
        return format!("p{}", (1e5 - 1e5 / value).round() / 1e3);
    }
    if axis.unit == Unit::Bytes && value >= 0.0 && value.fract() == 0.0 {
        return units::short_bytes(value as u64);
    }
    units::significant(value)
}

/// A tick without the unit that the axis title names.
fn tick_label(unit: Unit, value: f64) -> String {
    let text = unit.format(value);
    match unit {
        Unit::Ratio => format!("{text}x"),
        Unit::Bytes | Unit::Nanoseconds | Unit::Count | Unit::Name => text,
        Unit::PerSecond => text.replace("/s", "").trim().to_string(),
        unit => text.trim_end_matches(unit.symbol()).trim().to_string(),
    }
}

/// The values that the y axis must show. An interval may stretch it threefold, no further: one
/// cell with two rounds must not flatten the rest.
fn y_values(plot: &Plot) -> (f64, f64) {
    if let Some(span) = plot.span {
        return span;
    }
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for e in plot.estimates() {
        low = low.min(e.low.max(e.value / 3.0).min(e.value));
        high = high.max(e.high.min(e.value * 3.0).max(e.value));
    }
    if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) }
}

/// Ticks that a small plot has room for.
const SMALL_TICKS: usize = 5;

fn y_ticks(plot: &Plot) -> Vec<f64> {
    let ticks = all_y_ticks(plot);
    let step = if plot.room == PlotRoom::Quarter { ticks.len().div_ceil(SMALL_TICKS) } else { 1 };
    if plot.y.unit == Unit::Ratio { ticks } else { ticks.into_iter().step_by(step.max(1)).collect() }
}

fn all_y_ticks(plot: &Plot) -> Vec<f64> {
    let (low, high) = y_values(plot);
    match plot.y.scale {
        Scale::Linear => linear_ticks(high),
        _ if plot.y.unit == Unit::Ratio && low > 0.0 => ratio_ticks(low, high),
        Scale::Log2 | Scale::Log10 | Scale::Quantile if low > 0.0 => log_ticks(low, high),
        _ => linear_ticks(high),
    }
}

fn y_range(plot: &Plot, ticks: &[f64]) -> (f64, f64) {
    let (low, high) = y_values(plot);
    let top = ticks.last().copied().unwrap_or(high).max(high);
    match plot.y.scale {
        Scale::Linear => (0.0, top),
        _ => {
            let low = if low > 0.0 { low } else { top / 1000.0 };
            let air = (high / low).powf(0.04).max(1.004);
            (low / air, high * air)
        }
    }
}

/// `41.2 Gbit/s (95.7 % interval 40.1 Gbit/s to 42.6 Gbit/s, 12 rounds)`
///
/// Honest where there are too few rounds for one.
pub fn with_interval(e: &Estimate) -> String {
    let rounds = units::count(e.n as usize, "round");
    let [value, low, high] = [e.value, e.low, e.high].map(|value| e.unit.format(value));
    if e.level > 0.0 {
        format!("{value} ({} interval {low} to {high}, {rounds})", units::confidence(e.level))
    } else {
        format!("{value} (seen {low} to {high}, too few rounds for an interval, {rounds})")
    }
}

/// Eight shapes, so that colour is never the only difference.
fn marker(canvas: &mut Canvas, style: usize, (x, y): (f64, f64)) {
    let shape = palette::parts(style).map_or(style + style / COLOURS, |(place, variant)| place + variant);
    let path = match shape % 8 {
        0 => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
        1 => "M-3.6-3.6h7.2v7.2h-7.2Z",
        2 => "M0-4.8L4.6 3.4H-4.6Z",
        3 => "M0-5L5 0L0 5L-5 0Z",
        4 => "M0 4.8L4.6-3.4H-4.6Z",
        5 => "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z",
        6 => "M-4.6-2.5L-2.5-4.6L0-2.1L2.5-4.6L4.6-2.5L2.1 0L4.6 2.5L2.5 4.6L0 2.1L-2.5 4.6L-4.6 2.5L-2.1 0Z",
        _ => "M0-5L1.4-1.6L5-1.5L2.2 .8L3.1 4.3L0 2.3L-3.1 4.3L-2.2 .8L-5-1.5L-1.4-1.6Z",
    };
    canvas.put(format_args!("<path class=\"mark\" transform=\"translate({x:.1} {y:.1})\" d=\"{path}\"/>"));
}

/// Names at the right ends of their lines, moved apart, each with a thin leader.
fn end_labels(canvas: &mut Canvas, plot: &Plot, layout: &PlotFrame) {
    let y = layout.y;
    let ends = plot
        .series
        .iter()
        .filter_map(|s| Some((y.at(s.points.last()?.1.value), style_class(s.style), s.name.as_str())));
    let mut labels: Vec<(f64, String, &str)> = ends.collect();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let room = ((layout.bottom - TOP) / labels.len().max(1) as f64).min(LABEL);
    let mut places: Vec<f64> = labels.iter().map(|l| l.0).collect();
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + room);
    }
    let overflow = places.last().map_or(0.0, |p| (p - (layout.bottom - 2.0)).max(0.0));
    for place in places.iter_mut() {
        *place -= overflow;
    }
    for i in (0..places.len().saturating_sub(1)).rev() {
        places[i] = places[i].min(places[i + 1] - room);
    }
    canvas.group("ends", "", |canvas| {
        canvas.at(WHOLE, |canvas| {
            for ((end, class, name), place) in labels.into_iter().zip(places) {
                canvas.group(&class, "", |canvas| {
                    canvas.path("leader", format_args!("M0 {end:.1}L10 {place:.1}"));
                    canvas.text("name", (13.0, place + 4.5), Anchor::Start, name);
                });
            }
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tick_labels_leave_the_unit_to_the_axis() {
        assert_eq!(tick_label(Unit::BitsPerSecond, 1e10), "10 G");
        assert_eq!(tick_label(Unit::NanosecondsPerByte, 0.05), "0.05");
        assert_eq!(tick_label(Unit::Nanoseconds, 5000.0), "5 us");
        assert_eq!(tick_label(Unit::PerSecond, 2e6), "2 M");
        assert_eq!(tick_label(Unit::Ratio, 1.05), "1.05x");
    }

    #[test]
    fn what_is_undecided_is_hatched_and_hollow() {
        let e = |value: f64| Estimate {
            value,
            low: value * 0.9,
            high: value * 1.1,
            level: 0.95,
            n: 9,
            unit: Unit::Ratio,
        };
        let points = vec![(64.0, e(1.0)), (128.0, e(1.2)), (256.0, e(1.4)), (512.0, e(1.5))];
        let series = Series { undecided: vec![64.0], ..Series::of("sendmsg", 1, points) };
        let axis = |unit| PlotAxis { title: "t".into(), unit, scale: Scale::Log2 };
        let axes = (axis(Unit::Bytes), axis(Unit::Ratio));
        let plot =
            Plot { noise: Some((0.98, 1.02)), ..Plot::of("p", "t".into(), axes, vec![series]).unwrap() };
        let drawn = plot.inline();
        assert_eq!((drawn.matches("band open").count(), drawn.matches("\"band\"").count()), (1, 1));
        assert_eq!((drawn.matches("hollow").count(), drawn.matches("class=\"mark\"").count()), (1, 3));
        assert_eq!(drawn.matches("class=\"noise\"").count(), 1);
        assert!(drawn.contains(">sendmsg</text>") && drawn.contains("64: undecided"), "{drawn}");
    }

    #[test]
    fn impossible_values_still_draw() {
        let e = |value: f64| Estimate { value, low: value, high: value, level: 0.0, n: 1, unit: Unit::Count };
        let axis = |scale| PlotAxis { title: "t".into(), unit: Unit::Count, scale };
        for scale in [Scale::Log10, Scale::Linear] {
            let series = Series::of("n", 0, vec![(0.0, e(0.0)), (1.0, e(-3.0))]);
            let axes = (axis(Scale::Log2), axis(scale));
            let plot = Plot::of("p", "<t>".into(), axes, vec![series]).unwrap();
            let text = plot.inline();
            assert!(!text.contains("NaN") && !text.contains("inf") && text.contains("&lt;t&gt;"), "{text}");
        }
    }
}
