//! Maps of regions as SVG: a band for each row, coloured by what is best there; hatched where several are.
//!
//! A tested place colours its band half way to its neighbours, on the log scale; between two places with
//! different answers the band is pale, because the border lies somewhere in it. Layout only.

use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use super::svg::{self, AxisScale};
use super::{RegionMap, RegionPlace, RegionRow, Scale};
use std::fmt::Write;

const WIDTH: f64 = 500.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 486.0;
const TOP: f64 = 14.0;
const BAND: f64 = 34.0;
const GAP: f64 = 22.0;
/// Room that a label of a place needs.
const LABEL: f64 = 34.0;
const STRIPE: f64 = 7.0;

impl SvgDrawing for RegionMap {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "region",
            id: &self.id,
            title: &self.title,
            width: WIDTH,
            height: TOP + self.rows.len() as f64 * (BAND + GAP) + 30.0,
            legend: self.names.iter().map(|(name, style)| (name.as_str(), *style)).collect(),
            sample: "fill",
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let xs = || self.rows.iter().flat_map(|r| r.places.iter().map(|p| p.x.max(1.0)));
        let x = AxisScale {
            scale: Scale::Log2,
            low: xs().fold(f64::INFINITY, f64::min),
            high: xs().fold(1.0, f64::max),
            from: LEFT + 16.0,
            to: RIGHT - 16.0,
        };
        for (i, row) in self.rows.iter().enumerate() {
            let top = TOP + i as f64 * (BAND + GAP);
            canvas.text("tick", (LEFT - 8.0, top + BAND / 2.0 + 4.5), Anchor::End, &row.label);
            band(canvas, self, row, x, top);
        }
        let below = self.frame().height - 8.0;
        canvas.text("", ((LEFT + RIGHT) / 2.0, below), Anchor::Middle, &self.x_title);
        canvas.text("", (4.0, below), Anchor::Start, &self.y_title);
    }
}

fn band(canvas: &mut Canvas, map: &RegionMap, row: &RegionRow, x: AxisScale, top: f64) {
    let at: Vec<f64> = row.places.iter().map(|p| x.at(p.x)).collect();
    for (i, place) in row.places.iter().enumerate() {
        let left = if i == 0 { at[0] - 12.0 } else { (at[i - 1] + at[i]) / 2.0 };
        let right = at.get(i + 1).map_or(at[i] + 12.0, |next| (at[i] + next) / 2.0);
        canvas.group("", &place.detail, |canvas| {
            fill(canvas, map, place, (left, right), top);
            canvas.rect("hit", (left, top), (right - left, BAND));
        });
    }
    for (below, above) in &row.borders {
        let (from, to) = (x.at(*below), x.at(*above));
        canvas.rect("unsure", (from, top), (to - from, BAND));
        canvas.path("border", format_args!("M{from:.1} {top:.1}v{BAND}M{to:.1} {top:.1}v{BAND}"));
    }
    // A border's two places are named first; others where there is room.
    let named: Vec<f64> = row.borders.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let mut label_from = f64::NEG_INFINITY;
    for (x, place) in at.iter().zip(&row.places) {
        canvas.circle("dot", (*x, top + BAND / 2.0), 2.4);
        let near_border = row.places.iter().zip(&at).any(|(other, ox)| {
            named.contains(&other.x) && other.x != place.x && (ox - x).abs() < LABEL && *ox > *x
        });
        if (named.contains(&place.x) || !near_border) && *x >= label_from {
            canvas.text("tick", (*x, top + BAND + 14.0), Anchor::Middle, &place.label);
            label_from = x + LABEL;
        }
    }
}

fn fill(canvas: &mut Canvas, map: &RegionMap, place: &RegionPlace, (left, right): (f64, f64), top: f64) {
    let names = place.best.iter().filter_map(|i| map.names.get(*i));
    let styles: Vec<String> = names.map(|(_, style)| svg::style_class(*style)).collect();
    let size = (right - left, BAND);
    if let ([one], true) = (&styles[..], place.significant) {
        return canvas.group(one, "", |canvas| canvas.rect("fill", (left, top), size));
    }
    for (style, offset) in styles.iter().zip([0.0, STRIPE]) {
        canvas.group(style, "", |canvas| {
            if offset == 0.0 {
                canvas.rect("back", (left, top), size);
            }
            canvas.path("stripe", format_args!("{}", stripes(left, right, top, offset)));
        });
    }
}

/// Slanted lines within the rectangle, every other one.
fn stripes(left: f64, right: f64, top: f64, offset: f64) -> String {
    let mut path = String::new();
    let bottom = top + BAND;
    let mut x = left - BAND + offset;
    while x < right {
        // From the bottom edge up to the right, cut off at the sides.
        let (x1, x2) = (x.max(left), (x + BAND).min(right));
        if x2 > x1 {
            let _ = write!(path, "M{x1:.1} {:.1}L{x2:.1} {:.1}", bottom - (x1 - x), bottom - (x2 - x));
        }
        x += 2.0 * STRIPE;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(x: f64, best: &[usize], significant: bool) -> RegionPlace {
        let (label, detail) = (format!("{x}"), format!("detail of {x} <&>"));
        RegionPlace { x, label, best: best.to_vec(), significant, detail }
    }

    #[test]
    fn the_best_is_filled_several_hatched_and_borders_drawn_at_their_places() {
        let places =
            vec![place(1024.0, &[0], true), place(4096.0, &[0, 1], false), place(65536.0, &[1], true)];
        let row = RegionRow { label: "1".into(), places, borders: vec![(1024.0, 65536.0)] };
        let map = RegionMap {
            id: "regions".into(),
            title: "Lowest <cost>".into(),
            x_title: "message size".into(),
            y_title: "threads".into(),
            names: vec![("send".into(), 0), ("sendmsg".into(), 3)],
            rows: vec![row],
        };
        let drawn = map.standalone();
        // One in the legend for each name, one for each best.
        assert_eq!(drawn.matches("class=\"fill\"").count(), 4);
        assert_eq!(drawn.matches("class=\"stripe\"").count(), 2);
        assert_eq!(drawn.matches("class=\"dot\"").count(), 3);
        assert!(drawn.contains("Lowest &lt;cost&gt;") && drawn.contains("detail of 1024 &lt;&amp;&gt;"));
        let border = format!("M{:.1} {TOP:.1}v{BAND}M{:.1} {TOP:.1}", LEFT + 16.0, RIGHT - 16.0);
        assert!(drawn.contains(&border), "{border} in {drawn}");
    }
}
