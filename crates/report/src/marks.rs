//! Marks in a plot: where its machine's capacities lie, where a curve stands still, and what curves are
//! held against.
//!
//! Layout only, in the coordinates of [`super::svg`].

use super::canvas::{Anchor, Canvas};
use super::svg::{self, AxisScale};
use super::{Mark, MarkShape};

/// Width of a character of a label, about; and how far labels of neighbours are moved apart.
const CHARACTER: f64 = 6.0;
const STEP: f64 = 13.0;
/// Rows of labels before they start again at the top.
const ROWS: usize = 3;

pub fn draw(canvas: &mut Canvas, marks: &[Mark], (x, y): (AxisScale, AxisScale)) {
    // The right end of the last label in each row.
    let mut taken = [f64::NEG_INFINITY; ROWS];
    for mark in marks {
        match &mark.shape {
            MarkShape::At { x: value } => limit(canvas, mark, x.at(*value), &mut taken),
            MarkShape::Level { y: value, from_x, to_x } => {
                level(canvas, mark, y.at(*value), x.at(*from_x), x.at(*to_x));
            }
            // Its name stands with those of the series.
            MarkShape::Line { points } => {
                canvas.line("reference-line", points.iter().map(|(px, py)| (x.at(*px), y.at(*py))));
            }
        }
    }
}

/// The points that a mark draws a line through.
pub fn line(mark: &Mark) -> &[(f64, f64)] {
    match &mark.shape {
        MarkShape::Line { points } => points,
        _ => &[],
    }
}

/// An upright line with its label beside its top.
fn limit(canvas: &mut Canvas, mark: &Mark, x: f64, taken: &mut [f64; ROWS]) {
    let row = taken.iter().position(|end| x > *end).unwrap_or(0);
    taken[row] = x + CHARACTER * mark.label.chars().count() as f64 + 8.0;
    canvas.path("limit", format_args!("M{x:.1} {}V{}", svg::TOP - 6.0, svg::BOTTOM));
    let at = (x + 3.0, svg::TOP + 4.0 + STEP * row as f64);
    canvas.text("limit-name", at, Anchor::Start, &mark.label);
}

/// A level as long as it was measured, with its value above its middle.
fn level(canvas: &mut Canvas, mark: &Mark, y: f64, from: f64, to: f64) {
    let class = mark.style.map(svg::style_class).unwrap_or_default();
    canvas.group(&class, "", |canvas| {
        canvas.path("level", format_args!("M{from:.1} {y:.1}H{to:.1}"));
        canvas.text("level-name", ((from + to) / 2.0, y - 7.0), Anchor::Middle, &mark.label);
    });
}
