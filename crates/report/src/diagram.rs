//! Data paths: a row of places, and how the payload goes from each to the next; as SVG and as a line of text.
//!
//! The page has the row in its own markup. Layout only.

use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use super::{Arrow, Diagram, Layer, Location, Movement};
use std::fmt::Write;

/// A place, and the room for an arrow.
const PLACE: (f64, f64) = (86.0, 28.0);
const ARROW: f64 = 92.0;
const TOP: f64 = 18.0;
const HEIGHT: f64 = 66.0;

impl SvgDrawing for Diagram {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "path",
            id: &self.id,
            title: &self.title,
            spoken: Some(spoken(self)),
            width: self.stages.len() as f64 * PLACE.0 + self.arrows.len() as f64 * ARROW + 16.0,
            height: HEIGHT,
            notes: self.claim.iter().map(|(_, text)| text.clone()).collect(),
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let left = |index: usize| 8.0 + index as f64 * (PLACE.0 + ARROW);
        let line = TOP + PLACE.1 / 2.0;
        for (index, stage) in self.stages.iter().enumerate() {
            let class = if stage.area == Layer::User { "stage" } else { "stage kernel" };
            canvas.rect(class, (left(index), TOP), PLACE);
            canvas.text("stage", (left(index) + PLACE.0 / 2.0, line + 4.5), Anchor::Middle, &stage.short);
        }
        for (index, (arrow, ends)) in self.arrows.iter().zip(self.stages.windows(2)).enumerate() {
            let (from, to) = (left(index) + PLACE.0 + 3.0, left(index + 1) - 3.0);
            let class = match arrow.kind {
                Movement::Copied(_) => "flow copied",
                Movement::Device => "flow device",
                Movement::Reference | Movement::Unknown => "flow reference",
            };
            canvas.group(class, &hop(arrow, ends), |canvas| {
                canvas.path("shaft", format_args!("M{from} {line}H{to}m-6-4l6 4l-6 4"));
                let middle = (from + to) / 2.0;
                canvas.text("amount", (middle, line - 7.0), Anchor::Middle, &arrow.amount);
                canvas.text("what", (middle, TOP + PLACE.1 + 16.0), Anchor::Middle, &arrow.what);
            });
        }
    }
}

/// Everything that the drawing shows, for those who hear it.
fn spoken(diagram: &Diagram) -> String {
    let hops = diagram.arrows.iter().zip(diagram.stages.windows(2)).map(|(arrow, ends)| hop(arrow, ends));
    let claim = diagram.claim.iter().map(|(_, text)| text.clone());
    format!("Data path of {}. {}.", diagram.title, hops.chain(claim).collect::<Vec<_>>().join(". "))
}

/// `the fields to sender's buffer: 1x copied in user space`
pub fn hop(arrow: &Arrow, ends: &[Location]) -> String {
    let names: Vec<&str> = ends.iter().map(|s| s.name.as_str()).collect();
    let rest = arrow.rest.as_ref().map_or(String::new(), |rest| format!(", {rest}"));
    format!("{}: {} {}{rest}", names.join(" to "), arrow.amount, arrow.what)
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
