//! Marks in a plot: where its machine's capacities lie, where a curve stands still, and what curves are
//! held against.
//!
//! Layout only, in the coordinates of [`super::svg`].

use super::escape::xml;
use super::{Mark, Place, svg};
use std::fmt::Write;

/// Width of a character of a label, about; and how far labels of neighbours are moved apart.
const CHARACTER: f64 = 6.0;
const STEP: f64 = 13.0;
/// Rows of labels before they start again at the top.
const ROWS: usize = 3;

/// Draws the marks; `x` and `y` turn values into positions.
pub fn draw(out: &mut String, marks: &[Mark], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) {
    // The right end of the last label in each row.
    let mut taken = [f64::NEG_INFINITY; ROWS];
    for mark in marks {
        match &mark.place {
            Place::At { x: value } => limit(out, mark, x(*value), &mut taken),
            Place::Level { y: value, from_x, to_x } => level(out, mark, y(*value), x(*from_x), x(*to_x)),
            Place::Line { points } => reference(out, points.iter().map(|(px, py)| (x(*px), y(*py)))),
        }
    }
}

/// The points that a mark draws a line through.
pub fn line(mark: &Mark) -> &[(f64, f64)] {
    match &mark.place {
        Place::Line { points } => points,
        _ => &[],
    }
}

/// An upright line with its label beside its top.
fn limit(out: &mut String, mark: &Mark, x: f64, taken: &mut [f64; ROWS]) {
    let row = taken.iter().position(|end| x > *end).unwrap_or(0);
    taken[row] = x + CHARACTER * mark.label.chars().count() as f64 + 8.0;
    let _ = write!(
        out,
        "<path class=\"limit\" d=\"M{x:.1} {}V{}\"/><text class=\"limit-name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        svg::TOP - 6.0,
        svg::BOTTOM,
        x + 3.0,
        svg::TOP + 4.0 + STEP * row as f64,
        xml(&mark.label)
    );
}

/// A level as long as it was measured, with its value above its middle.
fn level(out: &mut String, mark: &Mark, y: f64, from: f64, to: f64) {
    let class = mark.style.map(svg::style_class).unwrap_or_default();
    let _ = write!(
        out,
        "<g class=\"{class}\"><path class=\"level\" d=\"M{from:.1} {y:.1}H{to:.1}\"/><text class=\"level-name\" \
         x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
        (from + to) / 2.0,
        y - 7.0,
        xml(&mark.label)
    );
}

/// A thin line; its name stands with those of the series.
fn reference(out: &mut String, points: impl Iterator<Item = (f64, f64)>) {
    out.push_str("<path class=\"reference-line\" d=\"");
    for (i, (x, y)) in points.enumerate() {
        let _ = write!(out, "{}{x:.1} {y:.1} ", if i == 0 { "M" } else { "L" });
    }
    out.push_str("\"/>");
}
