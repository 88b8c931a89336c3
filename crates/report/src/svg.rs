//! Plots as SVG: log or linear axes, lines with interval bands, labels at the ends of the lines.
//!
//! Colours are CSS classes (`s0`, `s1`..) so that a page and its dark theme own them; the same
//! drawing becomes a file of its own with [`files`]. Layout only: no figure is computed here.

use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use super::{Plot, PlotAxis, Report, Scale, Series, marks};
use syscost_core::stats::Estimate;
use syscost_core::units::{self, Unit};

const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 62.0;
/// Leaves room for the longest short name (see `NAME`) in bold.
const RIGHT: f64 = 378.0;
pub const TOP: f64 = 30.0;
pub const BOTTOM: f64 = 286.0;
/// Room for one label at the end of a line.
const LABEL: f64 = 17.0;
/// Colours of the palette; further series repeat them with another marker and dashes.
pub const COLOURS: usize = 8;

/// The colours and the strokes; the page and the standalone files share them.
pub const STYLE: &str = include_str!("plot.css");

/// The class list of a series or a name.
pub fn style_class(style: usize) -> String {
    let dashed = if (style / COLOURS) % 2 == 1 { " dashed" } else { "" };
    format!("s{}{dashed}", style % COLOURS)
}

/// Each drawing as a file: (name without directory, content).
pub fn files(report: &Report) -> Vec<(String, String)> {
    let drawings = report.blocks().filter_map(|block| block.drawing());
    drawings.map(|drawing| (format!("{}.svg", drawing.frame().id), drawing.standalone())).collect()
}

/// A marker alone, for legends beside the plots.
pub fn marker_icon(style: usize) -> String {
    let mut canvas = Canvas::default();
    let class = style_class(style);
    canvas.put(format_args!("<svg viewBox=\"-7 -7 14 14\" class=\"icon {class}\" aria-hidden=\"true\">"));
    marker(&mut canvas, style, (0.0, 0.0));
    canvas.into_string() + "</svg>"
}

/// From values to positions along one side of the frame.
#[derive(Clone, Copy)]
pub struct AxisScale {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
}

impl AxisScale {
    pub fn at(&self, value: f64) -> f64 {
        let place = |v: f64| match self.scale {
            Scale::Linear => v,
            Scale::Log2 | Scale::Log10 => v.max(f64::MIN_POSITIVE).log10(),
        };
        let (low, high) = (place(self.low), place(self.high));
        let share = if high > low { ((place(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
        self.from + share * (self.to - self.from)
    }
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

impl SvgDrawing for Plot {
    fn frame(&self) -> Frame<'_> {
        Frame { id: &self.id, title: &self.title, width: WIDTH, height: HEIGHT, ..Frame::default() }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let xs = xs(&self.series);
        let (Some(first), Some(last)) = (xs.first(), xs.last()) else {
            return canvas.text("tick", (LEFT, TOP + 20.0), Anchor::Start, "no data");
        };
        let x =
            AxisScale { scale: self.x.scale, low: *first, high: *last, from: LEFT + 10.0, to: RIGHT - 8.0 };
        let ticks = y_ticks(self);
        let (low, high) = y_range(self, &ticks);
        let y = AxisScale { scale: self.y.scale, low, high, from: BOTTOM, to: TOP };
        axes(canvas, self, (x, y), &xs, &ticks);
        marks::draw(canvas, &self.marks, (x, y));
        for series in self.series.iter().filter(|series| series.points.len() > 1) {
            let upper = series.points.iter().map(|(at, e)| (x.at(*at), y.at(e.high)));
            let lower = series.points.iter().rev().map(|(at, e)| (x.at(*at), y.at(e.low)));
            canvas.line(&format!("band {}", style_class(series.style)), upper.chain(lower));
        }
        for series in &self.series {
            canvas.group(&style_class(series.style), "", |canvas| line(canvas, self, series, (x, y)));
        }
        end_labels(canvas, self, (x, y));
    }
}

fn axes(canvas: &mut Canvas, plot: &Plot, (x, y): (AxisScale, AxisScale), xs: &[f64], ticks: &[f64]) {
    let log = if plot.y.scale == Scale::Linear { "" } else { ", log scale" };
    canvas.text("axis", (4.0, 15.0), Anchor::Start, &format!("{}{log}", axis_title(&plot.y)));
    canvas.text("axis", ((LEFT + RIGHT) / 2.0, HEIGHT - 6.0), Anchor::Middle, &axis_title(&plot.x));
    for tick in ticks {
        let at = y.at(*tick);
        canvas.path("grid", format_args!("M{LEFT} {at:.1}H{RIGHT}"));
        canvas.text("tick", (LEFT - 7.0, at + 4.5), Anchor::End, &tick_label(plot.y.unit, *tick));
    }
    canvas.path("base", format_args!("M{LEFT} {BOTTOM}H{RIGHT}"));
    // Labels need about 40 units each; the outermost always show.
    let mut free = f64::NEG_INFINITY;
    for (i, value) in xs.iter().enumerate() {
        let at = x.at(*value);
        canvas.path("base", format_args!("M{at:.1} {BOTTOM}v5"));
        let is_last = i + 1 == xs.len();
        if at >= free && (is_last || at + 40.0 <= x.to) {
            free = at + 40.0;
            canvas.text("tick", (at, BOTTOM + 20.0), Anchor::Middle, &x_label(&plot.x, *value));
        }
    }
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

fn x_label(axis: &PlotAxis, value: f64) -> String {
    if axis.unit == Unit::Bytes && value >= 0.0 && value.fract() == 0.0 {
        return units::short_bytes(value as u64);
    }
    units::significant(value)
}

/// A tick without the unit that the axis title names.
fn tick_label(unit: Unit, value: f64) -> String {
    let text = unit.format(value);
    match unit {
        Unit::Bytes | Unit::Nanoseconds | Unit::Count | Unit::Ratio | Unit::Name => text,
        Unit::PerSecond => text.replace("/s", "").trim().to_string(),
        unit => text.trim_end_matches(unit.symbol()).trim().to_string(),
    }
}

/// The values that the y axis must show. An interval may stretch it threefold, no further: one
/// cell with two rounds must not flatten the rest.
fn y_values(plot: &Plot) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for e in plot.estimates() {
        low = low.min(e.low.max(e.value / 3.0).min(e.value));
        high = high.max(e.high.min(e.value * 3.0).max(e.value));
    }
    for (_, value) in plot.marks.iter().flat_map(marks::line) {
        (low, high) = (low.min(*value), high.max(*value));
    }
    if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) }
}

fn y_ticks(plot: &Plot) -> Vec<f64> {
    let (low, high) = y_values(plot);
    match plot.y.scale {
        Scale::Linear => linear_ticks(high),
        Scale::Log2 | Scale::Log10 if low > 0.0 => log_ticks(low, high),
        Scale::Log2 | Scale::Log10 => linear_ticks(high),
    }
}

fn y_range(plot: &Plot, ticks: &[f64]) -> (f64, f64) {
    let (low, high) = y_values(plot);
    let top = ticks.last().copied().unwrap_or(high).max(high);
    match plot.y.scale {
        Scale::Linear => (0.0, top),
        Scale::Log2 | Scale::Log10 => {
            let low = if low > 0.0 { low } else { top / 1000.0 };
            (low / 1.12, high * 1.12)
        }
    }
}

/// About five steps of 1, 2, 2.5 or 5 from zero to at least `high`.
pub fn linear_ticks(high: f64) -> Vec<f64> {
    if high <= 0.0 || !high.is_finite() {
        return vec![0.0, 1.0];
    }
    let magnitude = 10f64.powf((high / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|s| high / s <= 5.0);
    let step = step.unwrap_or(10.0 * magnitude);
    (0..=(high / step).ceil() as usize).map(|i| i as f64 * step).collect()
}

/// Decades; 1-2-5 within few decades; a finer step within one.
pub fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let steps: &[f64] = if decades > 2.6 {
        &[1.0]
    } else if decades > 0.7 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]
    };
    let mut ticks = Vec::new();
    for exponent in low.log10().floor() as i32..=high.log10().ceil() as i32 {
        for step in steps {
            let tick = step * 10f64.powi(exponent);
            if tick >= low / 1.1 && tick <= high * 1.1 {
                ticks.push(tick);
            }
        }
    }
    ticks
}

fn line(canvas: &mut Canvas, plot: &Plot, series: &Series, (x, y): (AxisScale, AxisScale)) {
    canvas.line("line", series.points.iter().map(|(at, e)| (x.at(*at), y.at(e.value))));
    for (at, e) in &series.points {
        let (px, py) = (x.at(*at), y.at(e.value));
        let tooltip =
            format!("{}, {} {}: {}", series.name, plot.x.title, x_label(&plot.x, *at), with_interval(e));
        canvas.group("point", &tooltip, |canvas| {
            let (high, low) = (y.at(e.high), y.at(e.low));
            if low - high > 1.0 {
                canvas.path("whisker", format_args!("M{px:.1} {high:.1}V{low:.1}"));
            }
            canvas.circle("hit", (px, py), 11.0);
            marker(canvas, series.style, (px, py));
        });
    }
}

/// `41.2 Gbit/s (95.7 % interval 40.1 Gbit/s to 42.6 Gbit/s, 12 rounds)`
pub fn with_interval(e: &Estimate) -> String {
    format!("{} ({})", e.unit.format(e.value), interval(e))
}

/// The interval in words, honest where there are too few rounds for one.
pub fn interval(e: &Estimate) -> String {
    let rounds = units::count(e.n as usize, "round");
    let (low, high) = (e.unit.format(e.low), e.unit.format(e.high));
    if e.level > 0.0 {
        format!("{} interval {low} to {high}, {rounds}", units::confidence(e.level))
    } else {
        format!("seen {low} to {high}, too few rounds for an interval, {rounds}")
    }
}

/// Eight shapes, so that colour is never the only difference.
fn marker(canvas: &mut Canvas, style: usize, (x, y): (f64, f64)) {
    let path = match (style + style / COLOURS) % 8 {
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
fn end_labels(canvas: &mut Canvas, plot: &Plot, (x, y): (AxisScale, AxisScale)) {
    let ends = plot.series.iter().filter_map(|s| {
        let (at, e) = s.points.last()?;
        Some((y.at(e.value), x.at(*at), style_class(s.style), s.name.as_str()))
    });
    let held_against = plot.marks.iter().filter_map(|mark| {
        let (at, value) = marks::line(mark).last()?;
        Some((y.at(*value), x.at(*at), "reference".to_string(), mark.label.as_str()))
    });
    let mut labels: Vec<(f64, f64, String, &str)> = ends.chain(held_against).collect();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let room = ((BOTTOM - TOP) / labels.len().max(1) as f64).min(LABEL);
    let mut places: Vec<f64> = labels.iter().map(|l| l.0).collect();
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + room);
    }
    let overflow = places.last().map_or(0.0, |p| (p - (BOTTOM - 2.0)).max(0.0));
    for place in places.iter_mut() {
        *place -= overflow;
    }
    for i in (0..places.len().saturating_sub(1)).rev() {
        places[i] = places[i].min(places[i + 1] - room);
    }
    for ((end, at, class, name), place) in labels.into_iter().zip(places) {
        canvas.group(&class, "", |canvas| {
            canvas.path("leader", format_args!("M{:.1} {end:.1}L{} {place:.1}", at + 6.0, RIGHT + 4.0));
            canvas.text("name", (RIGHT + 7.0, place + 4.5), Anchor::Start, &short_name(name));
        });
    }
}

/// Characters of a name that fit beside the plot.
const NAME: usize = 14;

/// Does the plot show this name in full?
pub fn fits(name: &str) -> bool {
    name.chars().count() <= NAME
}

/// A name that fits beside the plot: its end, which is what tells longer names apart.
fn short_name(name: &str) -> String {
    if fits(name) {
        return name.to_string();
    }
    let own = name.split_once(' ').map_or(name, |(_, own)| own);
    if fits(own) {
        return own.to_string();
    }
    let skip = own.chars().count() - (NAME - 1);
    std::iter::once('…').chain(own.chars().skip(skip)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_cover_the_values() {
        assert_eq!(linear_ticks(43.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(log_ticks(0.9, 1100.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log_ticks(0.1, 9.0), [0.1, 0.2, 0.5, 1.0, 2.0, 5.0]);
        assert!(log_ticks(1.05, 1.4).len() >= 2);
        for high in [1e-9, 0.3, 7.0, 1e12] {
            assert!(*linear_ticks(high).last().unwrap() >= high * 0.999);
        }
    }

    #[test]
    fn tick_labels_leave_the_unit_to_the_axis() {
        assert_eq!(tick_label(Unit::BitsPerSecond, 1e10), "10 G");
        assert_eq!(tick_label(Unit::NanosecondsPerByte, 0.05), "0.05");
        assert_eq!(tick_label(Unit::Nanoseconds, 5000.0), "5 us");
        assert_eq!(tick_label(Unit::PerSecond, 2e6), "2 M");
    }

    #[test]
    fn long_names_keep_what_tells_them_apart() {
        assert_eq!(short_name("msg_zerocopy"), "msg_zerocopy");
        assert_eq!(short_name("msg_zerocopy in_flight=32"), "in_flight=32");
        assert_eq!(short_name("msg_zerocopy_sleep"), "…erocopy_sleep");
    }

    #[test]
    fn impossible_values_still_draw() {
        let e = |value: f64| Estimate { value, low: value, high: value, level: 0.0, n: 1, unit: Unit::Count };
        let axis = |scale| PlotAxis { title: "t".into(), unit: Unit::Count, scale };
        for scale in [Scale::Log10, Scale::Linear] {
            let series = Series { name: "n".into(), style: 0, points: vec![(0.0, e(0.0)), (1.0, e(-3.0))] };
            let plot = Plot {
                id: "p".into(),
                title: "<t>".into(),
                x: axis(Scale::Log2),
                y: axis(scale),
                series: vec![series],
                marks: Vec::new(),
                note: None,
            };
            let text = plot.inline();
            assert!(!text.contains("NaN") && !text.contains("inf") && text.contains("&lt;t&gt;"), "{text}");
        }
    }
}
