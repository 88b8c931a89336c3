//! Heat maps as SVG files of their own; the page has them as tables ([`super::html`]).
//!
//! Colours are the classes `h0` (lowest) to `h8` of the shared style. Layout only.

use super::escape::xml;
use super::{HeatCell, HeatMap, svg};
use std::fmt::Write;

const CELL: (f64, f64) = (56.0, 30.0);
const TOP: f64 = 78.0;
/// Width of a character of a label, about.
const CHARACTER: f64 = 7.2;

/// The class of a shade.
pub fn class(shade: usize) -> String {
    format!("h{}", shade.min(HeatMap::SHADES - 1))
}

/// What a cell says on hover and read aloud.
pub fn detail(cell: &HeatCell) -> String {
    format!("{}: {}", cell.place, svg::with_interval(&cell.estimate))
}

/// The legend's two ends, and how the colours lie between them.
pub fn legend(map: &HeatMap) -> String {
    let how = if map.log { "each step the same factor" } else { "each step the same difference" };
    format!("{} to {}, {how}", map.ends[0], map.ends[1])
}

pub fn standalone(map: &HeatMap) -> String {
    let longest = map.y.iter().map(|y| y.chars().count()).max().unwrap_or(0) as f64;
    let left = 16.0 + CHARACTER * longest.max(6.0);
    let (columns, rows) = (map.x.len() as f64, map.y.len() as f64);
    let title_width = CHARACTER * 1.25 * map.title.chars().count() as f64;
    let width = (left + columns * CELL.0 + 16.0).max(title_width + 24.0).max(420.0);
    let height = TOP + rows * CELL.1 + 76.0;
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{:.0}\" \
         height=\"{:.0}\" role=\"img\" class=\"plot standalone\">\n<style>{}</style>\n\
         <rect class=\"paper\" x=\"0\" y=\"0\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n\
         <text class=\"heading\" x=\"12\" y=\"24\">{}</text>\n\
         <text x=\"12\" y=\"{}\">{}</text>\n",
        width * 1.4,
        height * 1.4,
        svg::STYLE,
        xml(&map.title),
        TOP - 30.0,
        xml(&map.y_title)
    );
    for (i, x) in map.x.iter().enumerate() {
        let at = left + (i as f64 + 0.5) * CELL.0;
        text(&mut out, at, TOP - 8.0, "middle", x);
    }
    for (j, (row, y)) in map.cells.chunks(map.x.len().max(1)).zip(&map.y).enumerate() {
        let top = TOP + j as f64 * CELL.1;
        text(&mut out, left - 8.0, top + CELL.1 / 2.0 + 4.5, "end", y);
        for (i, found) in row.iter().enumerate() {
            if let Some(found) = found {
                cell(&mut out, found, left + i as f64 * CELL.0, top);
            }
        }
    }
    scale(&mut out, map, left, TOP + rows * CELL.1 + 20.0);
    out.push_str("</svg>\n");
    out
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, label: &str) {
    let _ = write!(
        out,
        "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        xml(label)
    );
}

fn cell(out: &mut String, cell: &HeatCell, x: f64, y: f64) {
    let _ = write!(
        out,
        "<g class=\"heat {}\"><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
         rx=\"4\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
        class(cell.shade),
        xml(&detail(cell)),
        x + 1.0,
        y + 1.0,
        CELL.0 - 2.0,
        CELL.1 - 2.0,
        x + CELL.0 / 2.0,
        y + CELL.1 / 2.0 + 4.5,
        xml(&cell.label)
    );
}

/// The colours in a row, with what they mean.
fn scale(out: &mut String, map: &HeatMap, left: f64, top: f64) {
    for shade in 0..HeatMap::SHADES {
        let x = left + shade as f64 * 24.0;
        let _ = write!(
            out,
            "<g class=\"heat {}\"><rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"24\" height=\"12\"/></g>",
            class(shade)
        );
    }
    text(out, left, top + 30.0, "start", &legend(map));
    text(
        out,
        left,
        top + 47.0,
        "start",
        &format!("{} across, {} down, in {}", map.x_title, map.y_title, map.unit),
    );
}
