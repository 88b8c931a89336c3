//! Marks in a plot: where its machine's capacities lie, and where a curve stands still.
//!
//! Layout only, in the coordinates of [`super::svg`].

use super::canvas::{Anchor, Canvas, WHOLE, style_class};
use super::ticks::AxisScale;
use super::{Mark, MarkShape};

/// Where the frame of a plot begins.
pub const TOP: f64 = 24.0;
/// Rows of labels before they start again at the top, and how far they are apart.
const ROWS: usize = 3;
const STEP: f64 = 14.0;
/// Width of a character of a label in per mille of the narrowest area that has labels, about.
const CHARACTER: f64 = 18.0;

fn class(mark: &Mark) -> String {
    mark.style.map(style_class).unwrap_or_default()
}

/// Their lines.
pub fn stretched(canvas: &mut Canvas, marks: &[Mark], (x, y): (AxisScale, AxisScale), bottom: f64) {
    for mark in marks {
        canvas.group(&class(mark), "", |canvas| match &mark.shape {
            MarkShape::At { x: value } => {
                canvas.path("limit", format_args!("M{:.1} {}V{bottom}", x.at(*value), TOP - 6.0));
            }
            MarkShape::Level { y: value, from_x, to_x } => {
                let (from, to) = (x.at(*from_x), x.at(*to_x));
                canvas.path("level", format_args!("M{from:.1} {:.1}H{to:.1}", y.at(*value)));
            }
        });
    }
}

/// Where a name of this width stands that belongs to a place: to its left or right, where there is room, and in the first
/// row in which no name before it reaches so far.
fn seat(at: f64, width: f64, taken: &mut [f64; ROWS]) -> (bool, usize) {
    let to_left = at > WHOLE / 2.0;
    let from = if to_left { at - width } else { at };
    let row = taken.iter().position(|end| from > *end).unwrap_or(0);
    taken[row] = from + width;
    (to_left, row)
}

/// Their names.
pub fn placed(canvas: &mut Canvas, marks: &[Mark], (x, y): (AxisScale, AxisScale)) {
    // The right end of the last label in each row.
    let mut taken = [f64::NEG_INFINITY; ROWS];
    for mark in marks {
        canvas.group(&class(mark), "", |canvas| match &mark.shape {
            MarkShape::At { x: value } => {
                let at = x.at(*value);
                let (to_left, row) = seat(at, CHARACTER * mark.label.chars().count() as f64, &mut taken);
                let (anchor, gap) = if to_left { (Anchor::End, -8.0) } else { (Anchor::Start, 8.0) };
                let place = (at + gap, TOP + 4.0 + STEP * row as f64);
                canvas.label("limit-name", place, anchor, &mark.label);
            }
            MarkShape::Level { y: value, from_x, to_x } => {
                let middle = (x.at(*from_x) + x.at(*to_x)) / 2.0;
                canvas.label("level-name", (middle, y.at(*value) - 7.0), Anchor::Middle, &mark.label);
            }
        });
    }
}
