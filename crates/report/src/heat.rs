//! Heat maps as SVG. Colours are the classes `h0` (lowest) to `h8` of the shared style. Layout only.

use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use super::{HeatMap, svg};

const CELL: (f64, f64) = (56.0, 30.0);
const TOP: f64 = 40.0;
/// Width of a character of a label, about.
const CHARACTER: f64 = 7.2;

impl HeatMap {
    /// Where the columns begin.
    fn left(&self) -> f64 {
        let longest = self.y.iter().map(|y| y.chars().count()).max().unwrap_or(0).max(6);
        16.0 + CHARACTER * longest as f64
    }

    fn bottom(&self) -> f64 {
        TOP + self.y.len() as f64 * CELL.1
    }
}

impl SvgDrawing for HeatMap {
    fn frame(&self) -> Frame<'_> {
        let width = (self.left() + self.x.len() as f64 * CELL.0 + 16.0).max(420.0);
        Frame {
            class: "heat-map",
            id: &self.id,
            title: &self.title,
            width,
            height: self.bottom() + 76.0,
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let left = self.left();
        canvas.text("", (12.0, TOP - 25.0), Anchor::Start, &self.y_title);
        for (i, x) in self.x.iter().enumerate() {
            canvas.text("tick", (left + (i as f64 + 0.5) * CELL.0, TOP - 8.0), Anchor::Middle, x);
        }
        for (j, (row, y)) in self.cells.chunks(self.x.len().max(1)).zip(&self.y).enumerate() {
            let top = TOP + j as f64 * CELL.1;
            canvas.text("tick", (left - 8.0, top + CELL.1 / 2.0 + 4.5), Anchor::End, y);
            for (i, cell) in row.iter().enumerate().filter_map(|(i, cell)| Some((i, cell.as_ref()?))) {
                let x = left + i as f64 * CELL.0;
                let tooltip = format!("{}: {}", cell.place, svg::with_interval(&cell.estimate));
                canvas.group(&class(cell.shade), &tooltip, |canvas| {
                    canvas.rect("", (x + 1.0, top + 1.0), (CELL.0 - 2.0, CELL.1 - 2.0));
                    let middle = (x + CELL.0 / 2.0, top + CELL.1 / 2.0 + 4.5);
                    canvas.text("", middle, Anchor::Middle, &cell.label);
                });
            }
        }
        let top = self.bottom() + 20.0;
        for shade in 0..HeatMap::SHADES {
            canvas.group(&class(shade), "", |canvas| {
                canvas.rect("", (left + shade as f64 * 24.0, top), (24.0, 12.0));
            });
        }
        let step = if self.log { "each step the same factor" } else { "each step the same difference" };
        let legend = format!("{} to {}, {step}", self.ends[0], self.ends[1]);
        canvas.text("tick", (left, top + 30.0), Anchor::Start, &legend);
        let axes = format!("{} across, {} down, in {}", self.x_title, self.y_title, self.unit);
        canvas.text("tick", (left, top + 47.0), Anchor::Start, &axes);
    }
}

fn class(shade: usize) -> String {
    format!("heat h{}", shade.min(HeatMap::SHADES - 1))
}
