//! What every pair of hosts cost, as a map: senders down, receivers across. One path a shade, so that a map of 500 hosts is
//! small. More hosts than the map has lines share one. Layout only.

use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Lines that the map has room for.
const LINES: usize = 125;
const SIDE: f64 = 500.0;
const TOP: f64 = 58.0;
const CHARACTER: f64 = 7.2;
/// Names that find room beside the map.
const NAMES: usize = 25;
/// Half of the height of a name.
const HALF_LINE: f64 = 10.0;
/// Classes `h0` (lowest) to `h8` of the shared style.
const SHADES: usize = 9;
/// Costs beyond these look alike.
const ENDS: (f64, f64) = (0.5, 8.0);

#[derive(Clone, Debug, PartialEq)]
pub struct PairMark {
    pub row: usize,
    pub column: usize,
    /// Over the middle of all.
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PairMap {
    /// File name of the SVG without ending.
    pub id: String,
    pub title: String,
    /// Of rows and of columns.
    pub names: Vec<String>,
    /// Those whose names are always shown.
    pub named: BTreeSet<usize>,
    pub marks: Vec<PairMark>,
}

impl PairMap {
    /// Hosts that share a line.
    fn a_line(&self) -> usize {
        self.names.len().div_ceil(LINES).max(1)
    }

    fn cell(&self) -> f64 {
        SIDE / self.names.len().div_ceil(self.a_line()).max(1) as f64
    }

    fn left(&self) -> f64 {
        let longest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0).clamp(6, 24);
        16.0 + CHARACTER * longest as f64
    }

    /// By shade, where each cell lies: the middle of those that share it.
    fn shaded(&self) -> BTreeMap<usize, Vec<(usize, usize)>> {
        let mut cells: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for mark in &self.marks {
            let place = (mark.row / self.a_line(), mark.column / self.a_line());
            cells.entry(place).or_default().push(mark.value);
        }
        let mut shades: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (place, mut values) in cells {
            values.sort_by(f64::total_cmp);
            shades.entry(shade(values[values.len() / 2])).or_default().push(place);
        }
        shades
    }

    /// Hosts whose names are shown: all where there is room, else those that matter, apart from each other.
    fn shown(&self) -> Vec<usize> {
        if self.names.len() <= NAMES {
            return (0..self.names.len()).collect();
        }
        let mut shown: Vec<usize> = Vec::new();
        for host in self.named.iter().chain([&0, &(self.names.len() - 1)]) {
            let apart = |other: &usize| self.at(*host) - self.at(*other);
            if shown.iter().all(|other| apart(other).abs() >= 2.0 * HALF_LINE) {
                shown.push(*host);
            }
        }
        shown
    }

    /// How far from the map's beginning the middle of a host's line is.
    fn at(&self, host: usize) -> f64 {
        ((host / self.a_line()) as f64 + 0.5) * self.cell()
    }
}

/// Equal factors, from half to eight times the middle.
fn shade(value: f64) -> usize {
    let share = (value / ENDS.0).ln() / (ENDS.1 / ENDS.0).ln();
    ((share * SHADES as f64).max(0.0) as usize).min(SHADES - 1)
}

impl SvgDrawing for PairMap {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "pair-map",
            id: &self.id,
            title: &self.title,
            width: self.left() + SIDE + 40.0,
            height: TOP + SIDE + 62.0,
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let (left, cell) = (self.left(), self.cell());
        canvas.text("", (12.0, 16.0), Anchor::Start, "sender down, receiver across");
        let gap = if cell > 4.0 { 1.0 } else { 0.0 };
        for (shade, places) in self.shaded() {
            let mut path = String::new();
            for (row, column) in places {
                let (x, y) = (left + column as f64 * cell, TOP + row as f64 * cell);
                let size = cell - gap;
                let _ = write!(path, "M{x:.1} {y:.1}h{size:.1}v{size:.1}h-{size:.1}z");
            }
            canvas.group(&format!("pair h{shade}"), &told(shade), |canvas| {
                canvas.path("", format_args!("{path}"))
            });
        }
        for host in self.shown() {
            let (name, at) = (&self.names[host], self.at(host));
            let name: String = name.chars().take(24).collect();
            canvas.text("tick", (left - 8.0, TOP + at + 4.5), Anchor::End, &name);
            let fits = CHARACTER * name.chars().count() as f64
                <= cell.max(60.0 * f64::from(u8::from(self.names.len() > NAMES)));
            if fits {
                canvas.text("tick", (left + at, TOP - 8.0), Anchor::Middle, &name);
            }
        }
        let top = TOP + SIDE + 14.0;
        for shade in 0..SHADES {
            let x = left + shade as f64 * 24.0;
            canvas.group(&format!("pair h{shade}"), &told(shade), |canvas| {
                canvas.path("", format_args!("M{x:.1} {top:.1}h24v12h-24z"));
            });
        }
        let legend = format!("{}x to {}x of the middle, each step the same factor", ENDS.0, ENDS.1);
        canvas.text("tick", (left, top + 30.0), Anchor::Start, &legend);
        if self.a_line() > 1 {
            let each = format!("a cell is the middle of {0} x {0} hosts", self.a_line());
            canvas.text("tick", (left, top + 46.0), Anchor::Start, &each);
        }
    }
}

/// What a shade means.
fn told(shade: usize) -> String {
    let edge = |at: usize| ENDS.0 * (ENDS.1 / ENDS.0).powf(at as f64 / SHADES as f64);
    match shade {
        0 => format!("below {:.2}x", edge(1)),
        s if s + 1 == SHADES => format!("above {:.1}x", edge(s)),
        s => format!("{:.2}x to {:.2}x", edge(s), edge(s + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(hosts: usize) -> PairMap {
        let pairs = (0..hosts).flat_map(|row| (0..hosts).map(move |column| (row, column)));
        let marks = pairs.filter(|(row, column)| row != column);
        PairMap {
            id: "m".into(),
            title: "map".into(),
            names: (0..hosts).map(|host| format!("n{host}")).collect(),
            named: [hosts / 2].into(),
            marks: marks
                .map(|(row, column)| PairMark { row, column, value: if row == 1 { 4.0 } else { 1.0 } })
                .collect(),
        }
    }

    #[test]
    fn every_pair_of_500_hosts_takes_little_room() {
        let text = map(500).inline();
        assert!(text.len() < 1_000_000, "{} bytes", text.len());
        assert!(text.contains(">n250<"), "the host that matters has its name");
    }

    #[test]
    fn few_hosts_have_all_their_names_and_a_slow_row_its_shade() {
        let map = map(4);
        let text = map.inline();
        assert!((0..4).all(|host| text.contains(&format!(">n{host}<"))));
        let shades = map.shaded();
        assert_eq!(shades[&shade(4.0)], [(1, 0), (1, 2), (1, 3)]);
        assert_eq!((shade(0.1), shade(100.0)), (0, SHADES - 1));
    }
}
