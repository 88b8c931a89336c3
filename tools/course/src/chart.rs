//! A figure of panels as a page of PDF: lines with interval bands, markers, one legend.
//!
//! Layout only: scales, ticks and colours are those of the report's own plots.

use super::figure::{CourseFigure, CoursePanel, rgb};
use super::page::{self, Face, INK, MUTED, PdfPage, RULE, lines};
use syscost_core::units;
use syscost_report::svg::{self, AxisScale};
use syscost_report::ticks;
use syscost_report::{Anchor, Scale, Series};

const WIDTH: f64 = 640.0;
const MARGIN: f64 = 22.0;
const PANEL_HEIGHT: f64 = 215.0;
/// Around the frame of a panel: left, right, top, bottom.
const ROOM: [f64; 4] = [52.0, 12.0, 24.0, 40.0];
const HEAD: f64 = 62.0;
const CAPTION_LINE: f64 = 12.0;
const SMALL: f64 = 8.0;
const PLAIN: f64 = 9.5;

pub fn pdf(figure: &CourseFigure) -> Vec<u8> {
    let columns = if figure.panels.len() > 1 { 2 } else { 1 };
    let rows = figure.panels.len().div_ceil(columns);
    let caption: Vec<String> =
        figure.caption.iter().flat_map(|text| lines(text, SMALL, WIDTH - 2.0 * MARGIN)).collect();
    let below = HEAD + rows as f64 * PANEL_HEIGHT;
    let height = below + CAPTION_LINE * caption.len() as f64 + 16.0;
    let mut page = PdfPage::new(WIDTH, height);
    page.text((MARGIN, 26.0), &figure.title, 13.0, Anchor::Start, Face::Bold, INK);
    legend(&mut page, figure);
    let width = (WIDTH - 2.0 * MARGIN) / columns as f64;
    for (index, panel) in figure.panels.iter().enumerate() {
        let at = (MARGIN + (index % columns) as f64 * width, HEAD + (index / columns) as f64 * PANEL_HEIGHT);
        draw(&mut page, panel, figure.extent(&panel.y), at, width);
    }
    paragraph(&mut page, (MARGIN, below + 0.7 * CAPTION_LINE), &caption, Anchor::Start);
    page.pdf(&figure.title)
}

fn paragraph(page: &mut PdfPage, (x, y): (f64, f64), lines: &[String], anchor: Anchor) {
    for (index, line) in lines.iter().enumerate() {
        page.text((x, y + CAPTION_LINE * index as f64), line, SMALL, anchor, Face::Plain, MUTED);
    }
}

fn legend(sheet: &mut PdfPage, figure: &CourseFigure) {
    let mut x = MARGIN;
    for (name, style) in figure.legend() {
        let colour = rgb(style);
        sheet.line(&[(x, 44.0), (x + 22.0, 44.0)], colour, 1.75);
        marker(sheet, style, (x + 11.0, 44.0));
        sheet.text((x + 28.0, 47.3), name, PLAIN, Anchor::Start, Face::Plain, INK);
        x += 28.0 + page::width(name, PLAIN, Face::Plain) + 22.0;
    }
}

/// One panel with its upper left corner at a point.
fn draw(page: &mut PdfPage, panel: &CoursePanel, extent: (f64, f64), (left, top): (f64, f64), width: f64) {
    let (from, to) = (left + ROOM[0], left + width - ROOM[1]);
    let (ceiling, floor) = (top + ROOM[2], top + PANEL_HEIGHT - ROOM[3]);
    let middle = (from + to) / 2.0;
    page.text((from, top + 15.0), &panel.title, PLAIN, Anchor::Start, Face::Bold, INK);
    page.text((middle, floor + 29.0), panel.x.title(), SMALL, Anchor::Middle, Face::Plain, MUTED);
    page.upward((left + 9.0, (ceiling + floor) / 2.0), &panel.y, SMALL, MUTED);
    let xs = svg::xs(&panel.series);
    let (Some(first), Some(last)) = (xs.first(), xs.last()) else {
        let why = panel.missing.as_deref().unwrap_or("nothing was measured");
        paragraph(page, (middle, ceiling + 40.0), &lines(why, SMALL, to - from - 24.0), Anchor::Middle);
        frame(page, (from, to), (ceiling, floor));
        return;
    };
    let x = AxisScale { scale: panel.x.scale(), low: *first, high: *last, from: from + 10.0, to: to - 10.0 };
    let (ticks, y) = upright(panel, extent, ceiling, floor);
    for tick in &ticks {
        let at = y.at(*tick);
        page.line(&[(from, at), (to, at)], RULE, 0.75);
        page.text((from - 5.0, at + 3.0), &units::significant(*tick), SMALL, Anchor::End, Face::Plain, MUTED);
    }
    frame(page, (from, to), (ceiling, floor));
    for value in &xs {
        let at = x.at(*value);
        page.line(&[(at, floor), (at, floor + 4.0)], MUTED, 0.75);
        page.text((at, floor + 15.0), &panel.x.label(*value), SMALL, Anchor::Middle, Face::Plain, MUTED);
    }
    for series in &panel.series {
        band(page, series, &x, &y);
    }
    for series in &panel.series {
        line(page, series, &x, &y);
    }
}

/// The ticks and the scale of a panel's y axis, over the figures of all panels that it is compared with.
fn upright(
    panel: &CoursePanel,
    (least, most): (f64, f64),
    ceiling: f64,
    floor: f64,
) -> (Vec<f64>, AxisScale) {
    if panel.log_y && least > 0.0 {
        let ticks = ticks::log_ticks(least, most);
        let (low, high) = (least / 1.12, most * 1.12);
        return (ticks, AxisScale { scale: Scale::Log10, low, high, from: floor, to: ceiling });
    }
    let ticks = ticks::linear_ticks(most);
    let high = ticks.last().copied().unwrap_or(1.0).max(most);
    (ticks, AxisScale { scale: Scale::Linear, low: 0.0, high, from: floor, to: ceiling })
}

fn frame(page: &mut PdfPage, (from, to): (f64, f64), (ceiling, floor): (f64, f64)) {
    page.line(&[(from, ceiling), (from, floor), (to, floor)], MUTED, 0.75);
}

fn band(page: &mut PdfPage, series: &Series, x: &AxisScale, y: &AxisScale) {
    if series.points.len() < 2 {
        return;
    }
    let above = series.points.iter().map(|(at, e)| (x.at(*at), y.at(e.high)));
    let below = series.points.iter().rev().map(|(at, e)| (x.at(*at), y.at(e.low)));
    page.shape(&above.chain(below).collect::<Vec<_>>(), rgb(series.style), true);
}

fn line(page: &mut PdfPage, series: &Series, x: &AxisScale, y: &AxisScale) {
    let colour = rgb(series.style);
    let points: Vec<(f64, f64)> = series.points.iter().map(|(at, e)| (x.at(*at), y.at(e.value))).collect();
    page.line(&points, colour, 1.5);
    for ((at, e), (px, py)) in series.points.iter().zip(points) {
        page.line(&[(x.at(*at), y.at(e.low)), (x.at(*at), y.at(e.high))], colour, 0.9);
        marker(page, series.style, (px, py));
    }
}

/// A shape for each style, so that colour is never the only difference.
fn marker(page: &mut PdfPage, style: usize, (x, y): (f64, f64)) {
    let corners: &[(f64, f64)] = match style % 4 {
        0 => &[(-2.6, -2.6), (2.6, -2.6), (2.6, 2.6), (-2.6, 2.6)],
        1 => &[(0.0, -3.6), (3.4, 2.6), (-3.4, 2.6)],
        2 => &[(0.0, -3.8), (3.8, 0.0), (0.0, 3.8), (-3.8, 0.0)],
        _ => &[(0.0, 3.6), (3.4, -2.6), (-3.4, -2.6)],
    };
    let colour = rgb(style);
    page.shape(&corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>(), colour, false);
}
