//! Maps of regions as SVG: a band for each row, coloured by what is best there; ties are hatched.
//!
//! A tested place colours its band half way to its neighbours, on the log scale; between two places with
//! different answers the band is pale, because the border lies somewhere in it. Layout only.

use super::escape::xml;
use super::frame::Frame;
use super::{RegionMap, RegionPlace, RegionRow, svg};
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

fn height(map: &RegionMap) -> f64 {
    TOP + map.rows.len() as f64 * (BAND + GAP) + 30.0
}

fn frame(map: &RegionMap) -> Frame<'_> {
    let legend = map.names.iter().map(|(name, style)| (name.as_str(), *style)).collect();
    Frame { title: &map.title, class: "region", sample: "fill", width: WIDTH, height: height(map), legend }
}

/// The map for embedding in a page that has the shared style.
pub fn inline(map: &RegionMap) -> String {
    frame(map).inline(|out| body(out, map))
}

pub fn standalone(map: &RegionMap) -> String {
    frame(map).standalone(|out| body(out, map))
}

/// From a value to a position across.
struct Ruler {
    low: f64,
    high: f64,
}

impl Ruler {
    fn of(map: &RegionMap) -> Ruler {
        let xs = || map.rows.iter().flat_map(|r| r.places.iter().map(|p| p.x.max(1.0).log2()));
        Ruler { low: xs().fold(f64::INFINITY, f64::min), high: xs().fold(f64::NEG_INFINITY, f64::max) }
    }

    fn at(&self, x: f64) -> f64 {
        let (from, to) = (LEFT + 16.0, RIGHT - 16.0);
        let share =
            if self.high > self.low { (x.max(1.0).log2() - self.low) / (self.high - self.low) } else { 0.5 };
        from + share.clamp(0.0, 1.0) * (to - from)
    }
}

fn body(out: &mut String, map: &RegionMap) {
    let ruler = Ruler::of(map);
    for (i, row) in map.rows.iter().enumerate() {
        let top = TOP + i as f64 * (BAND + GAP);
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            top + BAND / 2.0 + 4.5,
            xml(&row.label)
        );
        band(out, map, row, &ruler, top);
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text x=\"4\" y=\"{:.1}\">{}</text>",
        (LEFT + RIGHT) / 2.0,
        height(map) - 8.0,
        xml(&map.x_title),
        height(map) - 8.0,
        xml(&map.y_title)
    );
}

fn band(out: &mut String, map: &RegionMap, row: &RegionRow, ruler: &Ruler, top: f64) {
    let at: Vec<f64> = row.places.iter().map(|p| ruler.at(p.x)).collect();
    let mut label_from = f64::NEG_INFINITY;
    for (i, place) in row.places.iter().enumerate() {
        let left = if i == 0 { at[0] - 12.0 } else { (at[i - 1] + at[i]) / 2.0 };
        let right = at.get(i + 1).map_or(at[i] + 12.0, |next| (at[i] + next) / 2.0);
        let _ = write!(out, "<g><title>{}</title>", xml(&place.detail));
        fill(out, map, place, (left, right), top);
        let _ = write!(
            out,
            "<rect class=\"hit\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAND}\"/></g>",
            right - left
        );
    }
    for (below, above) in &row.borders {
        let (from, to) = (ruler.at(*below), ruler.at(*above));
        let _ = write!(
            out,
            "<rect class=\"unsure\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAND}\"/>\
             <path class=\"border\" d=\"M{from:.1} {top:.1}v{BAND}M{to:.1} {top:.1}v{BAND}\"/>",
            to - from
        );
    }
    // A border's two places are named first; others where there is room.
    let named: Vec<f64> = row.borders.iter().flat_map(|(a, b)| [*a, *b]).collect();
    for (x, place) in at.iter().zip(&row.places) {
        let _ = write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"2.4\"/>", top + BAND / 2.0);
        let near_border = row.places.iter().zip(&at).any(|(other, ox)| {
            named.contains(&other.x) && other.x != place.x && (ox - x).abs() < LABEL && *ox > *x
        });
        let wanted = named.contains(&place.x) || !near_border;
        if wanted && *x >= label_from {
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                top + BAND + 14.0,
                xml(&place.label)
            );
            label_from = x + LABEL;
        }
    }
}

fn fill(out: &mut String, map: &RegionMap, place: &RegionPlace, (left, right): (f64, f64), top: f64) {
    let styles: Vec<String> = place
        .best
        .iter()
        .filter_map(|i| map.names.get(*i))
        .map(|(_, style)| svg::style_class(*style))
        .collect();
    let rect = |class: &str| {
        format!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAND}\"/>",
            right - left
        )
    };
    match &styles[..] {
        [one] if place.claimed => {
            let _ = write!(out, "<g class=\"{one}\">{}</g>", rect("fill"));
        }
        [] => {}
        [one, others @ ..] => {
            let _ = write!(out, "<g class=\"{one}\">{}{}</g>", rect("back"), stripes(left, right, top, 0.0));
            if let Some(second) = others.first() {
                let _ = write!(out, "<g class=\"{second}\">{}</g>", stripes(left, right, top, STRIPE));
            }
        }
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
    format!("<path class=\"stripe\" d=\"{path}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(x: f64, best: &[usize], claimed: bool) -> RegionPlace {
        let (label, detail) = (format!("{x}"), format!("detail of {x} <&>"));
        RegionPlace { x, label, best: best.to_vec(), claimed, detail }
    }

    #[test]
    fn claims_are_filled_ties_hatched_and_borders_drawn_at_their_places() {
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
        let drawn = standalone(&map);
        // One in the legend for each name, one for each claim.
        assert_eq!(drawn.matches("class=\"fill\"").count(), 4);
        assert_eq!(drawn.matches("class=\"stripe\"").count(), 2);
        assert_eq!(drawn.matches("class=\"dot\"").count(), 3);
        assert!(drawn.contains("Lowest &lt;cost&gt;") && drawn.contains("detail of 1024 &lt;&amp;&gt;"));
        let border = format!("M{:.1} {TOP:.1}v{BAND}M{:.1} {TOP:.1}", LEFT + 16.0, RIGHT - 16.0);
        assert!(drawn.contains(&border), "{border} in {drawn}");
    }
}
