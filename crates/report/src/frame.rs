//! What drawings of coloured surfaces share: the SVG around them, on a page and as a file of its own,
//! and the legend that only the file needs. Layout only.

use super::escape::xml;
use super::svg;
use std::fmt::Write;

/// A drawing without its content.
pub struct Frame<'a> {
    pub title: &'a str,
    /// What kind of drawing it is, for the style.
    pub class: &'static str,
    /// What the legend's samples are, for the style.
    pub sample: &'static str,
    pub width: f64,
    pub height: f64,
    /// Names and their styles.
    pub legend: Vec<(&'a str, usize)>,
}

impl Frame<'_> {
    /// The drawing for embedding in a page that has the shared style.
    pub fn inline(&self, body: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg viewBox=\"0 0 {} {:.0}\" class=\"plot {}\" role=\"img\" aria-label=\"{}\">",
            self.width,
            self.height,
            self.class,
            xml(self.title)
        );
        body(&mut out);
        out.push_str("</svg>");
        out
    }

    /// The drawing as a file of its own, with style, title and legend.
    pub fn standalone(&self, body: impl FnOnce(&mut String)) -> String {
        let Frame { width, class, sample, .. } = self;
        let legend = 34.0 + 18.0 * self.legend.len() as f64;
        let height = self.height + legend;
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -{legend:.0} {width} {height:.0}\" width=\"{:.0}\" \
             height=\"{:.0}\" role=\"img\" class=\"plot {class} standalone\">\n<style>{}</style>\n\
             <rect class=\"paper\" x=\"0\" y=\"-{legend:.0}\" width=\"{width}\" height=\"{height:.0}\"/>\n\
             <text class=\"heading\" x=\"12\" y=\"{:.0}\">{}</text>\n",
            width * 1.6,
            height * 1.6,
            svg::STYLE,
            22.0 - legend,
            xml(self.title)
        );
        for (i, (name, style)) in self.legend.iter().enumerate() {
            let y = 40.0 - legend + 18.0 * i as f64;
            let _ = write!(
                out,
                "<g class=\"{}\"><rect class=\"{sample}\" x=\"12\" y=\"{:.0}\" width=\"16\" height=\"11\"/>\
                 <text class=\"name\" x=\"34\" y=\"{y:.0}\">{}</text></g>",
                svg::style_class(*style),
                y - 10.0,
                xml(name)
            );
        }
        body(&mut out);
        out.push_str("</svg>\n");
        out
    }
}
