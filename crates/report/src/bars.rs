//! Stacked bars as SVG: what a whole should consist of, and a mark where it was measured.
//!
//! What the parts do not reach of the measured whole is outlined: it is not explained. Where they go
//! beyond, the mark stands inside the bar. Layout only; every figure is in the table beside it.

use super::canvas::{Anchor, Area, Canvas, Frame, SvgDrawing, WHOLE};
use super::{StackedBar, StackedBars, canvas};

const WIDTH: f64 = 540.0;
const LEFT: f64 = 118.0;
/// Room for the figure behind a bar, in steps of the area's margin.
const RIGHT: usize = 4;
const TOP: f64 = 6.0;
const BAR: f64 = 16.0;
const ROW: f64 = 25.0;

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
            height: TOP + self.bars.len() as f64 * ROW + 4.0,
            area: Some(Area { left: LEFT, margins: RIGHT }),
            legend: self.legend(),
            sample: "part",
            notes: vec!["bar: sum of the terms; mark and figure: measured".into()],
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let most = self.bars.iter().map(StackedBar::longest).fold(0.0, f64::max);
        if most <= 0.0 {
            return;
        }
        let at = |ns: f64| ns / most * WHOLE;
        let height = TOP + self.bars.len() as f64 * ROW;
        for (row, bar) in self.bars.iter().enumerate() {
            canvas.text("row", (-7.0, TOP + row as f64 * ROW + BAR * 0.78), Anchor::End, &bar.label);
        }
        let bars = |canvas: &mut Canvas| {
            for (row, bar) in self.bars.iter().enumerate() {
                self.stack(canvas, bar, TOP + row as f64 * ROW, at);
            }
        };
        canvas.stretched(height, bars);
        for (row, bar) in self.bars.iter().enumerate() {
            let beyond = TOP + row as f64 * ROW + BAR * 0.78;
            canvas.at(at(bar.longest()), |canvas| {
                canvas.text("tick", (6.0, beyond), Anchor::Start, &self.unit.format(bar.measured));
            });
        }
    }
}

impl StackedBars {
    fn stack(&self, canvas: &mut Canvas, bar: &StackedBar, top: f64, at: impl Fn(f64) -> f64) {
        let mut from = 0.0;
        for (style, part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
            let tooltip = format!("{}: {}", self.parts[style], self.unit.format(*part));
            canvas.group(&canvas::style_class(style), &tooltip, |canvas| {
                canvas.rect("part", (at(from), top), (at(from + part) - at(from), BAR));
            });
            from += part;
        }
        if bar.measured > from {
            canvas.rect("rest", (at(from), top + 0.5), (at(bar.measured) - at(from), BAR - 1.0));
        }
        canvas.path("measured", format_args!("M{:.1} {:.1}v{}", at(bar.measured), top - 3.0, BAR + 6.0));
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
        let quarter = WHOLE / 4.0;
        assert!(drawn.contains(&format!("width=\"{quarter:.1}\"")), "{drawn}");
        assert!(drawn.contains("a &lt;title&gt;") && bars.standalone().contains("<style>"));
        assert!(drawn.contains("one: 250 ns") && drawn.contains("1 us"), "{drawn}");
    }
}
