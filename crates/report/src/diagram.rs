//! Diagrams as SVG: down the sender's stack on the left, across the link, up the receiver's on the right;
//! and as a line of text.
//!
//! Narrow enough for a phone and for several side by side. Colours and strokes are classes of the shared
//! style; an arrow is as thick as what was copied along it. Layout only.

use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use super::{Arrow, Diagram, Layer, Location, Movement};
use std::fmt::Write;

const WIDTH: f64 = 400.0;
/// A box, and the distance from one row to the next.
const BOX: (f64, f64) = (138.0, 32.0);
const PITCH: f64 = 84.0;
/// From the boundary of the kernel to its first row.
const GAP: f64 = 6.0;
const TOP: f64 = 10.0;
const MARGIN: f64 = 8.0;
/// From one line beside an arrow to the next.
const LINE: f64 = 13.0;
/// Height of an arrow's head.
const HEAD: f64 = 9.0;

/// Where a stage stands.
struct Spot {
    left: f64,
    top: f64,
    width: f64,
}

impl Spot {
    fn middle(&self) -> f64 {
        self.left + self.width / 2.0
    }

    /// Where its text stands.
    fn line(&self) -> f64 {
        self.top + BOX.1 / 2.0 + 4.5
    }
}

/// The row of what lies between: the last.
fn turn(diagram: &Diagram) -> usize {
    diagram.stages.iter().position(|s| s.area == Layer::Between).unwrap_or(diagram.stages.len())
}

fn spots(diagram: &Diagram) -> Vec<Spot> {
    let turn = turn(diagram);
    let spot = |index: usize| {
        let row = if index <= turn { index } else { (2 * turn).saturating_sub(index) };
        let (left, width) = match index {
            i if i == turn => (MARGIN, WIDTH - 2.0 * MARGIN),
            i if i < turn => (MARGIN, BOX.0),
            _ => (WIDTH - MARGIN - BOX.0, BOX.0),
        };
        Spot { left, top: TOP + row as f64 * PITCH, width }
    };
    (0..diagram.stages.len()).map(spot).collect()
}

impl SvgDrawing for Diagram {
    fn frame(&self) -> Frame<'_> {
        let notes = self.claim.iter().map(|(_, text)| text.clone()).chain([self.notes.join("; ")]);
        Frame {
            class: "path",
            id: &self.id,
            title: &self.title,
            spoken: Some(spoken(self)),
            width: WIDTH,
            height: TOP + turn(self) as f64 * PITCH + BOX.1 + 8.0,
            notes: notes.collect(),
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let spots = spots(self);
        let turn = turn(self);
        boundary(canvas, self, &spots);
        for (index, (arrow, ends)) in self.arrows.iter().zip(spots.windows(2)).enumerate() {
            let names = &self.stages[index..index + 2];
            let down = index < turn;
            // Upright, in the column of whichever end is not the wide one.
            let (upper, lower) = if down { (&ends[0], &ends[1]) } else { (&ends[1], &ends[0]) };
            let span = (upper.top + BOX.1, lower.top);
            draw_arrow(canvas, arrow, upper.middle(), span, down, &hop(arrow, names));
        }
        for (stage, spot) in self.stages.iter().zip(&spots) {
            let class = match stage.area {
                Layer::User => "stage user",
                Layer::Kernel => "stage kernel",
                Layer::Between => "stage between",
            };
            canvas.rect(class, (spot.left, spot.top), (spot.width, BOX.1));
            canvas.text("stage", (spot.middle(), spot.line()), Anchor::Middle, &stage.name);
        }
    }
}

/// How [`line()`] is read.
pub const LEGEND: &str = "=1x=> copied, -0-> by reference, ~1x~> by a device, -?-> not verified";

/// `fields =1x=> buffer -0-> socket`: every stage by its short name.
pub fn line(diagram: &Diagram) -> String {
    let mut out = String::new();
    for (stage, arrow) in diagram.stages.iter().zip(diagram.arrows.iter().map(Some).chain([None])) {
        out.push_str(&stage.short);
        if let Some(arrow) = arrow {
            let (shaft, amount) = match arrow.kind {
                Movement::Copied(_) => ('=', arrow.amount.as_str()),
                Movement::Device => ('~', arrow.amount.as_str()),
                Movement::Reference | Movement::Unknown => ('-', arrow.amount.as_str()),
            };
            let _ = write!(out, " {shaft}{amount}{shaft}> ");
        }
    }
    out
}

/// Everything that the drawing shows, for those who hear it.
fn spoken(diagram: &Diagram) -> String {
    let mut text = format!("Data path of {}.", diagram.title);
    for (arrow, ends) in diagram.arrows.iter().zip(diagram.stages.windows(2)) {
        let _ = write!(text, " {}.", hop(arrow, ends));
    }
    if let Some((_, claim)) = &diagram.claim {
        let _ = write!(text, " {claim}.");
    }
    text
}

/// `eight fields to sender's buffer: 1x copied in user space`
fn hop(arrow: &Arrow, ends: &[Location]) -> String {
    let names: Vec<&str> = ends.iter().map(|s| s.name.as_str()).collect();
    let rest = arrow.rest.as_ref().map_or(String::new(), |rest| format!(", {rest}"));
    format!("{}: {}{rest}", names.join(" to "), label(arrow).join(" "))
}

/// What stands beside an arrow: figure, then what it is.
fn label(arrow: &Arrow) -> [&str; 2] {
    [&arrow.amount, &arrow.what]
}

/// Between the last row of user space and the kernel's first: on the left the sender's, on the right the
/// receiver's, which are the same row unless the payload never was in the sender's memory.
fn boundary(canvas: &mut Canvas, diagram: &Diagram, spots: &[Spot]) {
    let kernel = |stage: &Location| stage.area == Layer::Kernel;
    let Some(first) = diagram.stages.iter().position(kernel) else { return };
    let last = diagram.stages.iter().rposition(kernel).unwrap_or(first);
    let (left, y) = (spots[first].top - GAP, spots[last].top - GAP);
    let step = if left == y { String::new() } else { format!("{left}H{}V", MARGIN + BOX.0 + 2.5 * GAP) };
    canvas.path("limit", format_args!("M0 {step}{y}H{WIDTH}"));
    for (line, space) in [(spots[0].line(), "user space"), (spots[last].line(), "kernel")] {
        canvas.text("area", (WIDTH / 2.0, line), Anchor::Middle, space);
    }
}

/// `x` is the middle of its column; `span` its ends from top to bottom.
fn draw_arrow(canvas: &mut Canvas, arrow: &Arrow, x: f64, span: (f64, f64), down: bool, spoken: &str) {
    let (class, width) = match arrow.kind {
        Movement::Copied(copies) => ("copied", (6.0 * copies).clamp(2.0, 12.0)),
        Movement::Device => ("device", 3.0),
        Movement::Reference => ("reference", 1.75),
        Movement::Unknown => ("unknown", 1.75),
    };
    let (from, to) = if down { (span.0 + 1.0, span.1 - 1.0) } else { (span.1 - 1.0, span.0 + 1.0) };
    let neck = to - if down { HEAD } else { -HEAD };
    let half = (width / 2.0 + 3.0).max(5.0);
    canvas.group(&format!("flow {class}"), spoken, |canvas| {
        canvas.put(format_args!("<path class=\"shaft\" stroke-width=\"{width}\" d=\"M{x} {from}V{neck}\"/>"));
        canvas.path("head", format_args!("M{} {neck}H{}L{x} {to}Z", x - half, x + half));
        // Labels stand towards the middle, where there is room.
        let (side, anchor) =
            if x < WIDTH / 2.0 { (half + 5.0, Anchor::Start) } else { (-half - 5.0, Anchor::End) };
        let parts = label(arrow).into_iter().chain(arrow.rest.as_deref());
        let first = (span.0 + span.1) / 2.0 + if arrow.rest.is_some() { -12.0 } else { -3.0 };
        for (index, part) in parts.enumerate() {
            let class = if index == 0 { "amount" } else { "what" };
            canvas.text(class, (x + side, first + LINE * index as f64), anchor, part);
        }
    });
}
