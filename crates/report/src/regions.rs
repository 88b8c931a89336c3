//! Maps of regions as SVG: a band for each row, coloured by what is best there; hatched where several are.
//!
//! A tested place colours its band half way to its neighbours, on the log scale; between two places with
//! different answers the band is pale, because the border lies somewhere in it. Layout only.

use super::canvas::{Anchor, Area, Canvas, Frame, SvgDrawing, WHOLE};
use super::svg::{self, AxisScale};
use super::{RegionMap, RegionPlace, RegionRow, Scale};
use std::fmt::Write;

const WIDTH: f64 = 540.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 6.0;
const BAND: f64 = 26.0;
const GAP: f64 = 20.0;
/// Where the first and the last place lie, what their bands take beyond them, and what a label needs, in per mille.
const INSET: f64 = 40.0;
const BEYOND: f64 = 28.0;
const LABEL: f64 = 72.0;
const STRIPE: f64 = 7.0;

impl SvgDrawing for RegionMap {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "region",
            id: &self.id,
            title: &self.title,
            width: WIDTH,
            height: TOP + self.rows.len() as f64 * (BAND + GAP) + 2.0,
            area: Some(Area { left: LEFT, margins: 1 }),
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
            from: INSET,
            to: WHOLE - INSET,
        };
        let top = |i: usize| TOP + i as f64 * (BAND + GAP);
        for (i, row) in self.rows.iter().enumerate() {
            canvas.text("tick", (-8.0, top(i) + BAND / 2.0 + 4.5), Anchor::End, &row.label);
        }
        canvas.stretched(top(self.rows.len()), |canvas| {
            self.rows.iter().enumerate().for_each(|(i, row)| band(canvas, self, row, x, top(i)));
        });
        self.rows.iter().enumerate().for_each(|(i, row)| labels(canvas, row, x, top(i)));
    }
}

fn band(canvas: &mut Canvas, map: &RegionMap, row: &RegionRow, x: AxisScale, top: f64) {
    let at: Vec<f64> = row.places.iter().map(|p| x.at(p.x)).collect();
    for (i, place) in row.places.iter().enumerate() {
        let left = if i == 0 { at[0] - BEYOND } else { (at[i - 1] + at[i]) / 2.0 };
        let right = at.get(i + 1).map_or(at[i] + BEYOND, |next| (at[i] + next) / 2.0);
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
}

/// A dot for each place. A border's two places are named first; others where there is room.
fn labels(canvas: &mut Canvas, row: &RegionRow, x: AxisScale, top: f64) {
    let named: Vec<f64> = row.borders.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let mut label_from = f64::NEG_INFINITY;
    let mut shown = 0;
    for place in &row.places {
        let here = x.at(place.x);
        canvas.at(here, |canvas| canvas.circle("dot", (0.0, top + BAND / 2.0), 2.4));
        let near_border = row.places.iter().any(|other| {
            let there = x.at(other.x);
            named.contains(&other.x) && other.x != place.x && (there - here).abs() < LABEL && there > here
        });
        if (named.contains(&place.x) || !near_border) && here >= label_from {
            // A narrow map shows every other.
            let class = if shown % 2 == 1 { "tick minor" } else { "tick" };
            canvas.label(class, (here, top + BAND + 14.0), Anchor::Middle, &place.label);
            shown += 1;
            label_from = here + LABEL;
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
        let border = format!("M{:.1} {TOP:.1}v{BAND}M{:.1} {TOP:.1}", INSET, WHOLE - INSET);
        assert!(drawn.contains(&border), "{border} in {drawn}");
    }
}
