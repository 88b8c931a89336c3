//! Diagrams as SVG: down the sender's stack on the left, across the link, up the receiver's on the right;
//! and as a line of text.
//!
//! Narrow enough for a phone and for several side by side. Colours and strokes are classes of the shared
//! style; an arrow is as thick as what was copied along it. Layout only.

use super::escape::xml;
use super::svg;
use super::{Area, Arrow, Diagram, Kind, Stage};
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
}

/// The row of what lies between: the last.
fn turn(diagram: &Diagram) -> usize {
    diagram.stages.iter().position(|s| s.area == Area::Between).unwrap_or(diagram.stages.len())
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

fn height(diagram: &Diagram) -> f64 {
    TOP + turn(diagram) as f64 * PITCH + BOX.1 + 8.0
}

/// For embedding in a page that has the shared style.
pub fn inline(diagram: &Diagram) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {}\" class=\"plot path\" role=\"img\" aria-label=\"{}\">",
        height(diagram),
        xml(&spoken(diagram))
    );
    body(&mut out, diagram);
    out.push_str("</svg>");
    out
}

/// As a file of its own.
pub fn standalone(diagram: &Diagram) -> String {
    // Titles and notes stand above and below; long ones are broken by the width of a character.
    let titles = lines(&diagram.title, 44);
    let mut below: Vec<String> = diagram.claim.iter().flat_map(|(_, text)| lines(text, 58)).collect();
    below.extend(lines(&diagram.notes.join("; "), 58));
    let head = 14.0 + 20.0 * titles.len() as f64;
    let foot = height(diagram);
    let whole = head + foot + 18.0 * below.len() as f64 + 8.0;
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {} {WIDTH} {whole}\" width=\"{}\" height=\"{}\" \
         role=\"img\" class=\"plot path standalone\">\n<title>{}</title>\n<style>{}</style>\n\
         <rect class=\"paper\" x=\"0\" y=\"{}\" width=\"{WIDTH}\" height=\"{whole}\"/>\n",
        -head,
        WIDTH * 1.6,
        whole * 1.6,
        xml(&spoken(diagram)),
        svg::STYLE,
        -head
    );
    for (line, y) in titles.iter().zip((0..).map(|i| 20.0 - head + 20.0 * f64::from(i))) {
        let _ = writeln!(out, "<text class=\"heading\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", xml(line));
    }
    body(&mut out, diagram);
    for (line, y) in below.iter().zip((0..).map(|i| foot + 12.0 + 18.0 * f64::from(i))) {
        let _ = write!(out, "<text x=\"{MARGIN}\" y=\"{y}\">{}</text>", xml(line));
    }
    out.push_str("</svg>\n");
    out
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
                Kind::Copied(_) => ('=', arrow.amount.as_str()),
                Kind::Device => ('~', arrow.amount.as_str()),
                Kind::Reference | Kind::Unknown => ('-', arrow.amount.as_str()),
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
fn hop(arrow: &Arrow, ends: &[Stage]) -> String {
    let names: Vec<&str> = ends.iter().map(|s| s.name.as_str()).collect();
    let rest = arrow.rest.as_ref().map_or(String::new(), |rest| format!(", {rest}"));
    format!("{}: {}{rest}", names.join(" to "), label(arrow).join(" "))
}

/// What stands beside an arrow: figure, then what it is.
fn label(arrow: &Arrow) -> [&str; 2] {
    [&arrow.amount, &arrow.what]
}

fn body(out: &mut String, diagram: &Diagram) {
    let spots = spots(diagram);
    let turn = turn(diagram);
    boundary(out, diagram, &spots);
    for (index, (arrow, ends)) in diagram.arrows.iter().zip(spots.windows(2)).enumerate() {
        let names = &diagram.stages[index..index + 2];
        let down = index < turn;
        // Upright, in the column of whichever end is not the wide one.
        let (upper, lower) = if down { (&ends[0], &ends[1]) } else { (&ends[1], &ends[0]) };
        let span = (upper.top + BOX.1, lower.top);
        draw_arrow(out, arrow, upper.middle(), span, down, &hop(arrow, names));
    }
    for (stage, spot) in diagram.stages.iter().zip(&spots) {
        let _ = write!(
            out,
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"7\"/><text class=\"stage\" x=\"{}\" \
             y=\"{}\" text-anchor=\"middle\">{}</text>",
            match stage.area {
                Area::User => "stage user",
                Area::Kernel => "stage kernel",
                Area::Between => "stage between",
            },
            spot.left,
            spot.top,
            spot.width,
            BOX.1,
            spot.middle(),
            spot.top + BOX.1 / 2.0 + 4.5,
            xml(&stage.name)
        );
    }
}

/// Between the last row of user space and the kernel's first: on the left the sender's, on the right the
/// receiver's, which are the same row unless the payload never was in the sender's memory.
fn boundary(out: &mut String, diagram: &Diagram, spots: &[Spot]) {
    let kernel = |stage: &Stage| stage.area == Area::Kernel;
    let Some(first) = diagram.stages.iter().position(kernel) else { return };
    let last = diagram.stages.iter().rposition(kernel).unwrap_or(first);
    let (left, y) = (spots[first].top - GAP, spots[last].top - GAP);
    let step = if left == y { String::new() } else { format!("{left}H{}V", MARGIN + BOX.0 + 2.5 * GAP) };
    let middle = WIDTH / 2.0;
    let _ = write!(
        out,
        "<path class=\"limit\" d=\"M0 {step}{y}H{WIDTH}\"/><text class=\"area\" x=\"{middle}\" y=\"{}\" \
         text-anchor=\"middle\">user space</text><text class=\"area\" x=\"{middle}\" y=\"{}\" \
         text-anchor=\"middle\">kernel</text>",
        spots[0].top + BOX.1 / 2.0 + 4.5,
        y + GAP + BOX.1 / 2.0 + 4.5
    );
}

/// `x` is the middle of its column; `span` its ends from top to bottom.
fn draw_arrow(out: &mut String, arrow: &Arrow, x: f64, span: (f64, f64), down: bool, spoken: &str) {
    let (class, width) = match arrow.kind {
        Kind::Copied(copies) => ("copied", (6.0 * copies).clamp(2.0, 12.0)),
        Kind::Device => ("device", 3.0),
        Kind::Reference => ("reference", 1.75),
        Kind::Unknown => ("unknown", 1.75),
    };
    let (from, to) = if down { (span.0 + 1.0, span.1 - 1.0) } else { (span.1 - 1.0, span.0 + 1.0) };
    let step = if down { 1.0 } else { -1.0 };
    let neck = to - HEAD * step;
    let half = (width / 2.0 + 3.0).max(5.0);
    let _ = write!(
        out,
        "<g class=\"flow {class}\"><title>{}</title><path class=\"shaft\" stroke-width=\"{width}\" \
         d=\"M{x} {from}V{neck}\"/><path class=\"head\" d=\"M{} {neck}H{}L{x} {to}Z\"/>",
        xml(spoken),
        x - half,
        x + half
    );
    // Labels stand towards the middle, where there is room.
    let (side, anchor) = if x < WIDTH / 2.0 { (half + 5.0, "start") } else { (-half - 5.0, "end") };
    let parts = label(arrow).into_iter().chain(arrow.rest.as_deref());
    let first = (span.0 + span.1) / 2.0 + if arrow.rest.is_some() { -12.0 } else { -3.0 };
    for (index, part) in parts.enumerate() {
        let class = if index == 0 { "amount" } else { "what" };
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            x + side,
            first + LINE * index as f64,
            xml(part)
        );
    }
    out.push_str("</g>");
}

/// Words in lines of at most so many characters.
fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}
