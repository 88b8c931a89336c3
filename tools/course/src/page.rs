//! One page of PDF, drawn with lines, filled shapes and text in Helvetica: as much as a plot needs.
//!
//! Nothing is embedded: Helvetica is one of the fonts that every reader has, and its widths are here so
//! that text can be centred. Coordinates are points from the upper left corner, as in SVG.
//! Source: ISO 32000-1 (PDF 1.7), 7.5 (file structure), 8.5 (paths), 9.6.2 (standard fonts); Adobe's
//! font metrics of Helvetica.

use std::fmt::Write;
use syscost_report::Anchor;

/// Red, green, blue from 0 to 1.
pub type Rgb = [f64; 3];

pub const INK: Rgb = [0.11, 0.12, 0.14];
pub const MUTED: Rgb = [0.35, 0.39, 0.43];
pub const RULE: Rgb = [0.88, 0.89, 0.9];

/// In points.
pub const A4: (f64, f64) = (595.0, 842.0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Plain,
    Bold,
}

pub struct PdfPage {
    width: f64,
    height: f64,
    content: String,
}

impl PdfPage {
    /// The size that is printed.
    pub fn a4() -> PdfPage {
        PdfPage::new(A4.0, A4.1)
    }

    pub fn new(width: f64, height: f64) -> PdfPage {
        PdfPage { width, height, content: "1 J 1 j\n".into() }
    }

    /// A line through all points.
    pub fn line(&mut self, points: &[(f64, f64)], colour: Rgb, width: f64) {
        self.path(points);
        let _ = writeln!(self.content, "{} RG {width:.2} w S", rgb(colour));
    }

    /// A filled shape; `opacity` as for the bands of intervals, or whole.
    pub fn shape(&mut self, points: &[(f64, f64)], colour: Rgb, faint: bool) {
        let state = if faint { "/faint gs" } else { "/whole gs" };
        let _ = writeln!(self.content, "q {state} {} rg", rgb(colour));
        self.path(points);
        self.content.push_str("h f Q\n");
    }

    pub fn text(&mut self, at: (f64, f64), text: &str, size: f64, anchor: Anchor, face: Face, colour: Rgb) {
        let before = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width(text, size, face) / 2.0,
            Anchor::End => width(text, size, face),
        };
        let place = format!("{:.2} {:.2} Td", at.0 - before, self.height - at.1);
        self.set(&place, text, size, face, colour);
    }

    /// Text that reads upwards, its middle at the point.
    pub fn upward(&mut self, at: (f64, f64), text: &str, size: f64, colour: Rgb) {
        let below = at.1 + width(text, size, Face::Plain) / 2.0;
        let place = format!("0 1 -1 0 {:.2} {:.2} Tm", at.0, self.height - below);
        self.set(&place, text, size, Face::Plain, colour);
    }

    fn set(&mut self, place: &str, text: &str, size: f64, face: Face, colour: Rgb) {
        let font = if face == Face::Bold { "bold" } else { "plain" };
        let (colour, text) = (rgb(colour), escaped(text));
        let _ = writeln!(self.content, "BT {colour} rg /{font} {size} Tf {place} ({text}) Tj ET");
    }

    fn path(&mut self, points: &[(f64, f64)]) {
        for (index, (x, y)) in points.iter().enumerate() {
            let verb = if index == 0 { 'm' } else { 'l' };
            let _ = writeln!(self.content, "{x:.2} {:.2} {verb}", self.height - y);
        }
    }

    /// The file; `title` is what a reader shows in its frame.
    pub fn pdf(&self, title: &str) -> Vec<u8> {
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_string(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_string(),
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << /Font << /plain 5 0 R \
                 /bold 6 0 R >> /ExtGState << /faint << /ca 0.15 >> /whole << /ca 1 >> >> >> >>",
                self.width, self.height
            ),
            format!("<< /Length {} >>\nstream\n{}endstream", self.content.len(), self.content),
            standard_font("Helvetica"),
            standard_font("Helvetica-Bold"),
            format!("<< /Title ({}) /Creator (syscost) >>", escaped(title)),
        ];
        let mut out = String::from("%PDF-1.7\n");
        let mut offsets = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            offsets.push(out.len());
            let _ = write!(out, "{} 0 obj\n{object}\nendobj\n", index + 1);
        }
        let table = out.len();
        let _ = write!(out, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
        for offset in &offsets {
            let _ = writeln!(out, "{offset:010} 00000 n ");
        }
        let _ = write!(
            out,
            "trailer\n<< /Size {} /Root 1 0 R /Info {} 0 R >>\nstartxref\n{table}\n%%EOF\n",
            objects.len() + 1,
            objects.len()
        );
        out.into_bytes()
    }
}

fn standard_font(name: &str) -> String {
    format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
}

fn rgb(colour: Rgb) -> String {
    colour.map(|part| format!("{part:.3}")).join(" ")
}

/// A string of PDF in WinAnsi; what Helvetica's encoding does not have in one byte becomes a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' | ')' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            '±' => out.push_str("\\261"),
            _ => out.push('?'),
        }
    }
    out
}

/// Widths of the printable ASCII characters, in thousandths of the size.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Bold letters are a little wider; near enough to centre them.
const BOLD: f64 = 1.06;

pub fn width(text: &str, size: f64, face: Face) -> f64 {
    let of = |c: char| {
        let index = (c as usize).wrapping_sub(' ' as usize);
        f64::from(WIDTHS.get(index).copied().unwrap_or(WIDTHS['?' as usize - ' ' as usize]))
    };
    let plain = text.chars().map(of).sum::<f64>() * size / 1000.0;
    if face == Face::Bold { plain * BOLD } else { plain }
}

/// Words in lines that fit a width.
pub fn lines(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, Face::Plain) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_objects_points_at_them() {
        let mut page = PdfPage::new(200.0, 100.0);
        page.text((10.0, 20.0), "a (b) \\ c é", 9.0, Anchor::End, Face::Bold, INK);
        page.shape(&[(0.0, 0.0), (5.0, 5.0), (0.0, 5.0)], RULE, true);
        let text = String::from_utf8(page.pdf("t")).unwrap();
        assert!(text.contains("(a \\(b\\) \\\\ c ?) Tj"), "{text}");
        let table: usize =
            text.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
        assert!(text[table..].starts_with("xref\n0 8\n"));
        let entries = text[table..].lines().skip(3).take(7);
        for (number, entry) in entries.enumerate() {
            let offset: usize = entry[..10].parse().unwrap();
            assert!(text[offset..].starts_with(&format!("{} 0 obj\n", number + 1)), "{entry}");
            assert_eq!(entry.len(), 19, "with its line end twenty bytes: {entry:?}");
        }
        let stream = text.split("stream\n").nth(1).unwrap().trim_end_matches("end");
        assert!(text.contains(&format!("/Length {} ", stream.len())));
    }

    #[test]
    fn text_is_broken_where_it_does_not_fit() {
        assert_eq!(width("HH", 10.0, Face::Plain), 14.44);
        assert_eq!(lines("aa bb cc", 10.0, width("aa bb", 10.0, Face::Plain)), ["aa bb", "cc"]);
        assert!(lines("", 10.0, 50.0).is_empty());
    }
}
