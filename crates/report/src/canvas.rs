//! SVG: its elements, and what surrounds every drawing on a page and in a file of its own.
//!
//! Colours and strokes are classes of the shared style. Layout only.

use super::escape::xml;
use super::palette::{self, COLOURS, DASHES};
use std::fmt::{Arguments, Write};

/// The colours and the strokes; the page and the standalone files share them.
pub const STYLE: &str = include_str!("plot.css");

/// The class list of a series or a name.
pub fn style_class(style: usize) -> String {
    let (colour, dash) = match palette::parts(style) {
        Some((place, variant)) => (format!("hue{place}-{variant}"), variant % DASHES),
        None => (format!("s{}", style % COLOURS), (style / COLOURS) % DASHES),
    };
    if dash == 0 { colour } else { format!("{colour} d{dash}") }
}

/// What hatches: a mask, so that the hatched keeps its colour. Once on a page, once in a file.
pub const HATCH: &str = "<svg class=\"shared\" width=\"0\" height=\"0\" aria-hidden=\"true\"><pattern id=\"stripes\" width=\"5\" \
    height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"2.2\" height=\"5\" fill=\"#fff\"/></pattern>\
    <mask id=\"hatch\" maskUnits=\"userSpaceOnUse\" x=\"-99\" y=\"-99\" width=\"3000\" height=\"2000\"><rect x=\"-99\" y=\"-99\" \
    width=\"3000\" height=\"2000\" fill=\"url(#stripes)\"/></mask></svg>";

/// A drawing that stands on the page and is a file of its own.
pub trait SvgDrawing {
    fn frame(&self) -> Frame<'_>;
    fn draw(&self, canvas: &mut Canvas);

    /// For embedding in a page that has the shared style.
    fn inline(&self) -> String {
        let Frame { title, class, spoken, width, height, area, .. } = self.frame();
        let mut canvas = Canvas::default();
        // Nothing is ever scaled, so that all text has one size. The style makes an area's margins padding.
        let (size, margins) = match area {
            Some(area) => (format!("width=\"100%\" height=\"{height:.0}\""), format!(" m{}", area.margins)),
            None => (
                format!("viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\""),
                String::new(),
            ),
        };
        canvas.put(format_args!(
            "<svg {size} class=\"plot {class}{margins}\" role=\"img\" aria-label=\"{}\">",
            xml(spoken.as_deref().unwrap_or(title))
        ));
        self.draw(&mut canvas);
        canvas.0 + "</svg>"
    }

    /// With style, title and legend above, and notes below.
    fn standalone(&self) -> String {
        let Frame { title, class, spoken, width, height, area, legend, sample, notes, .. } = self.frame();
        let characters = (width / 9.0) as usize;
        let titles = textwrap::wrap(title, characters);
        let notes: Vec<_> = notes.iter().flat_map(|note| textwrap::wrap(note, characters * 4 / 3)).collect();
        let above = 14.0 + 20.0 * titles.len() as f64 + 18.0 * legend.len() as f64;
        let whole = above + height + 18.0 * notes.len() as f64 + 8.0;
        let mut canvas = Canvas::default();
        self.draw(&mut canvas);
        let drawn = std::mem::take(&mut canvas).0;
        let legends: String = legend.iter().map(|(_, style)| style_class(*style)).collect();
        canvas.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -{above:.0} {width:.0} {whole:.0}\" \
             width=\"{:.0}\" height=\"{:.0}\" role=\"img\" class=\"plot {class} standalone\">\n\
             <title>{}</title>\n<style>{}{}</style>{}\n",
            width * 1.6,
            whole * 1.6,
            xml(spoken.as_deref().unwrap_or(title)),
            STYLE,
            palette::rules(&(legends + &drawn)),
            HATCH
        ));
        canvas.rect("paper", (0.0, -above), (width, whole));
        for (line, y) in titles.iter().zip((0..).map(|i| 20.0 - above + 20.0 * f64::from(i))) {
            canvas.text("heading", (12.0, y), Anchor::Start, line);
        }
        for ((name, style), y) in legend.iter().rev().zip((0..).map(|i| -8.0 - 18.0 * f64::from(i))) {
            canvas.group(&style_class(*style), "", |canvas| {
                canvas.rect(sample, (12.0, y - 10.0), (16.0, 11.0));
                canvas.text("name", (34.0, y), Anchor::Start, name);
            });
        }
        match area {
            Some(Area { left, margins }) => {
                let inner = width - left - margins as f64 * MARGIN;
                canvas.put(format_args!(
                    "<svg x=\"{left}\" width=\"{inner:.0}\" height=\"{height:.0}\" overflow=\"visible\">"
                ));
                canvas.0.push_str(&(drawn + "</svg>"));
            }
            None => canvas.0.push_str(&drawn),
        }
        for (line, y) in notes.iter().zip((0..).map(|i| height + 12.0 + 18.0 * f64::from(i))) {
            canvas.text("", (12.0, y), Anchor::Start, line);
        }
        canvas.0 + "</svg>\n"
    }
}

/// What surrounds a drawing.
#[derive(Default)]
pub struct Frame<'a> {
    /// File name without ending.
    pub id: &'a str,
    pub title: &'a str,
    /// What kind of drawing it is, for the style.
    pub class: &'static str,
    /// For those who hear it, where that is not the title.
    pub spoken: Option<String>,
    pub width: f64,
    pub height: f64,
    /// Of what fills the width of its place: it is drawn in coordinates of the area.
    pub area: Option<Area>,
    /// Names and their styles.
    pub legend: Vec<(&'a str, usize)>,
    /// The class of the legend's samples.
    pub sample: &'static str,
    /// What the page says beside the drawing.
    pub notes: Vec<String>,
}

/// Parts of the whole width of an [`Area`].
pub const WHOLE: f64 = 1000.0;

/// The part of a drawing that grows with its place, between margins that do not.
#[derive(Clone, Copy)]
pub struct Area {
    pub left: f64,
    /// To the right, in steps of [`MARGIN`]: the style has a class for each.
    pub margins: usize,
}

pub const MARGIN: f64 = 20.0;

/// Where a text is held.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn attribute(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        }
    }
}

#[derive(Default)]
pub struct Canvas(String);

impl Canvas {
    pub fn put(&mut self, text: Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.0.write_fmt(text);
    }

    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = anchor.attribute();
        let text = xml(text);
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{text}</text>"));
    }

    /// What is drawn with x in per mille of the area, and grows with it.
    pub fn stretched(&mut self, height: f64, content: impl FnOnce(&mut Canvas)) {
        self.put(format_args!(
            "<svg viewBox=\"0 0 {WHOLE} {height:.0}\" width=\"100%\" height=\"{height:.0}\" preserveAspectRatio=\"none\" overflow=\"visible\">"
        ));
        content(self);
        self.0.push_str("</svg>");
    }

    /// What is cut off at the edges of its room (x and width in per mille of the area).
    pub fn clipped(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        content: impl FnOnce(&mut Canvas),
    ) {
        let (x, width) = (x / 10.0, width / 10.0);
        self.put(format_args!(
            "<svg x=\"{x:.2}%\" y=\"{y:.0}\" width=\"{width:.2}%\" height=\"{height:.0}\">"
        ));
        content(self);
        self.0.push_str("</svg>");
    }

    /// What is drawn around a place of an area (x in per mille).
    pub fn at(&mut self, x: f64, content: impl FnOnce(&mut Canvas)) {
        self.put(format_args!("<svg x=\"{:.1}%\" overflow=\"visible\">", x / 10.0));
        content(self);
        self.0.push_str("</svg>");
    }

    /// A text at a place of an area.
    pub fn label(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = anchor.attribute();
        let text = xml(text);
        let x = x / 10.0;
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.1}%\" y=\"{y:.1}\"{anchor}>{text}</text>"));
    }

    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        self.put(format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"));
    }

    pub fn path(&mut self, class: &str, path: Arguments<'_>) {
        self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// A line through points.
    pub fn line(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        self.path(class, format_args!("M{}", points.join(" ")));
    }

    /// Elements that share a class, with what they say on hover.
    pub fn group(&mut self, class: &str, tooltip: &str, content: impl FnOnce(&mut Canvas)) {
        self.put(format_args!("<g class=\"{class}\">"));
        if !tooltip.is_empty() {
            self.put(format_args!("<title>{}</title>", xml(tooltip)));
        }
        content(self);
        self.0.push_str("</g>");
    }

    pub fn into_string(self) -> String {
        self.0
    }
}
