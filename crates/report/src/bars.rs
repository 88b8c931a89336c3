//! Stacked bars as SVG: what a whole should consist of, and a mark where it was measured.
//!
//! What the parts do not reach of the measured whole is outlined: it is not explained. Where they go
//! beyond, the mark stands inside the bar. Layout only; every figure is in the table beside it.

use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use super::{StackedBar, StackedBars, svg};

const WIDTH: f64 = 500.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 430.0;
const TOP: f64 = 10.0;
const BAR: f64 = 20.0;
const ROW: f64 = 31.0;
/// Characters of a label that fit to the left of its bar.
const LABEL: usize = 18;

impl StackedBar {
    fn longest(&self) -> f64 {
        self.parts.iter().sum::<f64>().max(self.measured)
    }
}

impl StackedBars {
    /// The parts that any bar has, with their styles.
    pub fn legend(&self) -> Vec<(&str, usize)> {
        let used = |part: usize| self.bars.iter().any(|bar| bar.parts.get(part).is_some_and(|ns| *ns > 0.0));
        let parts = self.parts.iter().enumerate().filter(|(part, _)| used(*part));
        parts.map(|(part, name)| (name.as_str(), part)).collect()
    }
}

impl SvgDrawing for StackedBars {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "bars",
            id: &self.id,
            title: &self.title,
            width: WIDTH,
            height: TOP + self.bars.len() as f64 * ROW + 26.0,
            legend: self.legend(),
            sample: "part",
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let most = self.bars.iter().map(StackedBar::longest).fold(0.0, f64::max);
        if most <= 0.0 {
            return;
        }
        let at = |ns: f64| LEFT + ns / most * (RIGHT - LEFT);
        for (row, bar) in self.bars.iter().enumerate() {
            let top = TOP + row as f64 * ROW;
            let label: String = bar.label.chars().take(LABEL).collect();
            canvas.text("row", (LEFT - 7.0, top + BAR * 0.7), Anchor::End, &label);
            let mut from = 0.0;
            for (style, part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
                let tooltip = format!("{}: {}", self.parts[style], self.unit.format(*part));
                canvas.group(&svg::style_class(style), &tooltip, |canvas| {
                    canvas.rect("part", (at(from), top), (at(from + part) - at(from), BAR));
                });
                from += part;
            }
            if bar.measured > from {
                canvas.rect("rest", (at(from), top + 0.5), (at(bar.measured) - at(from), BAR - 1.0));
            }
            canvas.path("measured", format_args!("M{:.1} {:.1}v{}", at(bar.measured), top - 3.0, BAR + 6.0));
            let beyond = (at(bar.longest()) + 6.0, top + BAR * 0.7);
            canvas.text("tick", beyond, Anchor::Start, &self.unit.format(bar.measured));
        }
        let below = TOP + self.bars.len() as f64 * ROW + 20.0;
        canvas.text("", (LEFT, below), Anchor::Start, "bar: sum of the terms; mark and figure: measured");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::units::Unit;

    #[test]
    fn parts_are_stacked_to_scale_and_the_rest_is_outlined() {
        let bar = |label: &str, parts: [f64; 2], measured| StackedBar {
            label: label.into(),
            parts: parts.to_vec(),
            measured,
            cell: crate::CellRef { case: 0, metric: "cost" },
        };
        let bars = StackedBars {
            id: "bars".into(),
            title: "a <title>".into(),
            unit: Unit::Nanoseconds,
            parts: vec!["one".into(), "two".into()],
            bars: vec![bar("short of it", [250.0, 250.0], 1000.0), bar("beyond", [900.0, 0.0], 800.0)],
        };
        let drawn = bars.inline();
        assert_eq!(drawn.matches("class=\"part\"").count(), 3, "no part of nothing");
        assert_eq!(drawn.matches("class=\"rest\"").count(), 1, "only what is missing is outlined");
        let quarter = (RIGHT - LEFT) / 4.0;
        assert!(drawn.contains(&format!("width=\"{quarter:.1}\"")), "{drawn}");
        assert!(drawn.contains("a &lt;title&gt;") && bars.standalone().contains("<style>"));
        assert!(drawn.contains("one: 250 ns") && drawn.contains("1 us"), "{drawn}");
    }
}
