//! Plots as SVG: log or linear axes, lines with interval bands, labels at the ends of the lines.
//!
//! Colours are CSS classes (`s0`, `s1`..) so that a page and its dark theme own them; the same
//! drawing becomes a file of its own with [`files`]. Layout only: no figure is computed here.

use super::escape::xml;
use super::{Plot, PlotAxis, Report, Scale, Series, bars, diagram, heat, marks, regions};
use std::fmt::Write;
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

/// Each plot, map and diagram as a file: (name without directory, content).
pub fn files(report: &Report) -> Vec<(String, String)> {
    let plots = report.plots().map(|plot| (format!("{}.svg", plot.id), standalone(plot)));
    let heats = report.heats().map(|map| (format!("{}.svg", map.id), heat::standalone(map)));
    let diagrams = report.diagrams().map(|d| (format!("{}.svg", d.id), diagram::standalone(d)));
    let maps = report.regions().map(|map| (format!("{}.svg", map.id), regions::standalone(map)));
    let stacks = report.bars().map(|b| (format!("{}.svg", b.id), bars::standalone(b)));
    plots.chain(heats).chain(diagrams).chain(maps).chain(stacks).collect()
}

pub fn standalone(plot: &Plot) -> String {
    let height = HEIGHT + 30.0;
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -30 {WIDTH} {height}\" width=\"{}\" height=\"{}\" \
         role=\"img\" class=\"plot standalone\">\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" x=\"0\" y=\"-30\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"heading\" x=\"12\" y=\"-8\">{}</text>\n",
        WIDTH * 1.6,
        height * 1.6,
        xml(&plot.title)
    );
    body(&mut out, plot);
    out.push_str("</svg>\n");
    out
}

/// The plot for embedding in a page that has [`STYLE`].
pub fn plot(plot: &Plot) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" class=\"plot\" role=\"img\" aria-label=\"{}\">",
        xml(&plot.title)
    );
    body(&mut out, plot);
    out.push_str("</svg>");
    out
}

/// A marker alone, for legends beside the plots.
pub fn marker_icon(style: usize) -> String {
    let mut out =
        format!("<svg viewBox=\"-7 -7 14 14\" class=\"icon {}\" aria-hidden=\"true\">", style_class(style));
    marker(&mut out, style, 0.0, 0.0);
    out.push_str("</svg>");
    out
}

/// From values to positions along one side of the frame.
pub struct Ruler {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
}

impl Ruler {
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

fn estimates(plot: &Plot) -> impl Iterator<Item = &Estimate> {
    plot.series.iter().flat_map(|s| s.points.iter().map(|(_, e)| e))
}

/// The x values that were run, each once.
fn grid(plot: &Plot) -> Vec<f64> {
    let mut xs: Vec<f64> = plot.series.iter().flat_map(|s| s.points.iter().map(|(x, _)| *x)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs
}

fn body(out: &mut String, plot: &Plot) {
    let xs = grid(plot);
    let (Some(first), Some(last)) = (xs.first(), xs.last()) else {
        let _ = write!(out, "<text x=\"{}\" y=\"{}\" class=\"tick\">no data</text>", LEFT, TOP + 20.0);
        return;
    };
    let x = Ruler { scale: plot.x.scale, low: *first, high: *last, from: LEFT + 10.0, to: RIGHT - 8.0 };
    let ticks = y_ticks(plot);
    let (low, high) = y_range(plot, &ticks);
    let y = Ruler { scale: plot.y.scale, low, high, from: BOTTOM, to: TOP };
    frame(out, plot, &x, &y, &xs, &ticks);
    marks::draw(out, &plot.marks, |v| x.at(v), |v| y.at(v));
    for series in &plot.series {
        band(out, series, &x, &y);
    }
    for series in &plot.series {
        line(out, plot, series, &x, &y);
    }
    end_labels(out, plot, &x, &y);
}

fn frame(out: &mut String, plot: &Plot, x: &Ruler, y: &Ruler, xs: &[f64], ticks: &[f64]) {
    let mid = (LEFT + RIGHT) / 2.0;
    let log = if plot.y.scale == Scale::Linear { "" } else { ", log scale" };
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"4\" y=\"15\">{}{log}</text><text class=\"axis\" x=\"{mid}\" y=\"{}\" \
         text-anchor=\"middle\">{}</text>",
        xml(&axis_title(&plot.y)),
        HEIGHT - 6.0,
        xml(&axis_title(&plot.x))
    );
    for tick in ticks {
        let at = y.at(*tick);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            at + 4.5,
            tick_label(plot.y.unit, *tick)
        );
    }
    let _ = write!(out, "<path class=\"base\" d=\"M{LEFT} {BOTTOM}H{RIGHT}\"/>");
    // Labels need about 40 units each; the outermost always show.
    let mut free = f64::NEG_INFINITY;
    for (i, value) in xs.iter().enumerate() {
        let at = x.at(*value);
        let _ = write!(out, "<path class=\"base\" d=\"M{at:.1} {BOTTOM}v5\"/>");
        let is_last = i + 1 == xs.len();
        if at < free || (!is_last && at + 40.0 > x.to) {
            continue;
        }
        free = at + 40.0;
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 20.0,
            x_label(&plot.x, *value)
        );
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
    for e in estimates(plot) {
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

fn band(out: &mut String, series: &Series, x: &Ruler, y: &Ruler) {
    if series.points.len() < 2 {
        return;
    }
    let _ = write!(out, "<path class=\"band {}\" d=\"M", style_class(series.style));
    for (at, e) in &series.points {
        let _ = write!(out, "{:.1} {:.1} ", x.at(*at), y.at(e.high));
    }
    for (at, e) in series.points.iter().rev() {
        let _ = write!(out, "{:.1} {:.1} ", x.at(*at), y.at(e.low));
    }
    out.push_str("Z\"/>");
}

fn line(out: &mut String, plot: &Plot, series: &Series, x: &Ruler, y: &Ruler) {
    let _ = write!(out, "<g class=\"{}\"><path class=\"line\" d=\"M", style_class(series.style));
    for (at, e) in &series.points {
        let _ = write!(out, "{:.1} {:.1} ", x.at(*at), y.at(e.value));
    }
    out.push_str("\"/>");
    for (at, e) in &series.points {
        let (px, py) = (x.at(*at), y.at(e.value));
        let tooltip =
            format!("{}, {} {}: {}", series.name, plot.x.title, x_label(&plot.x, *at), with_interval(e));
        let _ = write!(out, "<g class=\"point\"><title>{}</title>", xml(&tooltip));
        let (high, low) = (y.at(e.high), y.at(e.low));
        if low - high > 1.0 {
            let _ = write!(out, "<path class=\"whisker\" d=\"M{px:.1} {high:.1}V{low:.1}\"/>");
        }
        let _ = write!(out, "<circle class=\"hit\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"11\"/>");
        marker(out, series.style, px, py);
        out.push_str("</g>");
    }
    out.push_str("</g>");
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
        format!("{} % interval {low} to {high}, {rounds}", units::significant(e.level * 100.0))
    } else {
        format!("seen {low} to {high}, too few rounds for an interval, {rounds}")
    }
}

/// Eight shapes, so that colour is never the only difference.
fn marker(out: &mut String, style: usize, x: f64, y: f64) {
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
    let _ = write!(out, "<path class=\"mark\" transform=\"translate({x:.1} {y:.1})\" d=\"{path}\"/>");
}

/// Names at the right ends of their lines, moved apart, each with a thin leader.
fn end_labels(out: &mut String, plot: &Plot, x: &Ruler, y: &Ruler) {
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
        let _ = write!(
            out,
            "<g class=\"{class}\"><path class=\"leader\" d=\"M{:.1} {end:.1}L{} {place:.1}\"/><text class=\"name\" \
             x=\"{}\" y=\"{:.1}\">{}</text></g>",
            at + 6.0,
            RIGHT + 4.0,
            RIGHT + 7.0,
            place + 4.5,
            xml(&short_name(name))
        );
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
            let text = plot(&Plot {
                id: "p".into(),
                title: "<t>".into(),
                x: axis(Scale::Log2),
                y: axis(scale),
                series: vec![series],
                marks: Vec::new(),
                note: None,
            });
            assert!(!text.contains("NaN") && !text.contains("inf") && text.contains("&lt;t&gt;"), "{text}");
        }
    }
}
