//! Ratios as a forest plot: one axis, a row for each, its interval as a line. What is called the same is a band around 1.
//!
//! Names stand above the lines, so that long ones fit a phone. Layout only.

use super::canvas::style_class;
use super::canvas::{Anchor, Area, Canvas, Frame, SvgDrawing, WHOLE};
use super::terminal::cut;
use super::ticks::AxisScale;
use super::ticks::ratio_ticks;
use super::{ForestPlot, ForestRow, Scale};
use syscost_core::units::significant;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 14.0;
const TOP: f64 = 24.0;
const ROW: f64 = 34.0;
/// From the top of a row to its name, and to its line.
const NAME: f64 = 12.0;
const LINE: f64 = 22.0;
/// Characters of a name that leave room for the figure, on a phone.
const LONGEST: usize = 30;
/// An interval that reaches so many times farther than any ratio is cut off.
const FAR: f64 = 1.5;

impl ForestPlot {
    fn bottom(&self) -> f64 {
        TOP + self.rows.len() as f64 * ROW
    }

    /// From the least to the most that is drawn.
    fn range(&self) -> (f64, f64) {
        let ratios = || self.rows.iter().map(|row| row.ratio);
        let low = ratios().fold(self.same.0, f64::min) / FAR;
        let high = ratios().fold(self.same.1, f64::max) * FAR;
        let ends = || self.rows.iter().filter_map(|row| row.interval);
        let least = ends().map(|(low, _)| low).chain(ratios()).fold(self.same.0 * 0.98, f64::min);
        let most = ends().map(|(_, high)| high).chain(ratios()).fold(self.same.1 * 1.02, f64::max);
        (low.max(least), high.min(most))
    }
}

impl SvgDrawing for ForestPlot {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "forest",
            id: &self.id,
            title: &self.title,
            width: WIDTH,
            height: self.bottom() + 4.0,
            area: Some(Area { left: LEFT, margins: 1 }),
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let (low, high) = self.range();
        let x = AxisScale { scale: Scale::Log10, low, high, from: 0.0, to: WHOLE };
        let ticks = ratio_ticks(low, high);
        canvas.stretched(self.bottom(), |canvas| {
            let (from, to) = (x.at(self.same.0), x.at(self.same.1));
            canvas.rect("noise", (from, TOP - 4.0), (to - from, self.bottom() - TOP + 4.0));
            for tick in &ticks {
                let class = if *tick == 1.0 { "one" } else { "grid" };
                canvas.path(class, format_args!("M{:.1} {:.1}V{:.1}", x.at(*tick), TOP - 4.0, self.bottom()));
            }
        });
        for (place, tick) in ticks.iter().enumerate() {
            let class = if place % 2 == 1 { "tick minor" } else { "tick" };
            canvas.label(class, (x.at(*tick), TOP - 10.0), Anchor::Middle, &significant(*tick));
        }
        for (place, row) in self.rows.iter().enumerate() {
            self.row(canvas, row, TOP + place as f64 * ROW, x);
        }
    }
}

impl ForestPlot {
    fn row(&self, canvas: &mut Canvas, row: &ForestRow, top: f64, x: AxisScale) {
        let class = row.style.map_or("none".into(), style_class);
        canvas.label("row", (0.0, top + NAME), Anchor::Start, &cut(&row.label, LONGEST));
        canvas.group(&class, &row.detail, |canvas| {
            canvas.label("told", (WHOLE, top + NAME), Anchor::End, &row.told);
            if let Some((low, high)) = row.interval {
                canvas.stretched(self.bottom(), |canvas| {
                    let (from, to, at) = (x.at(low), x.at(high), top + LINE);
                    canvas.path("interval", format_args!("M{from:.1} {at:.1}H{to:.1}"));
                });
            }
            canvas.at(x.at(row.ratio), |canvas| {
                let mark = if row.style.is_some() { "mark" } else { "mark hollow" };
                canvas.circle(mark, (0.0, top + LINE), 4.5);
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ratio: f64, interval: Option<(f64, f64)>) -> ForestRow {
        ForestRow {
            label: "a <case>".into(),
            ratio,
            interval,
            style: interval.map(|_| 1),
            told: "told".into(),
            detail: "in detail".into(),
        }
    }

    #[test]
    fn a_row_has_its_interval_and_one_of_too_few_runs_has_none() {
        let plot = ForestPlot {
            id: "forest".into(),
            title: "Changes".into(),
            same: (1.0 / 1.03, 1.03),
            rows: vec![row(1.2, Some((1.1, 1.3))), row(0.9, None)],
        };
        let drawn = plot.inline();
        assert_eq!(
            (drawn.matches("class=\"interval\"").count(), drawn.matches("mark hollow").count()),
            (1, 1)
        );
        assert!(drawn.contains("a &lt;case&gt;") && drawn.contains("in detail"), "{drawn}");
        let (low, high) = plot.range();
        assert!(low <= 0.9 && high >= 1.3, "all is drawn: {low} {high}");
    }

    #[test]
    fn an_interval_without_end_leaves_the_others_their_room() {
        let plot = ForestPlot {
            id: String::new(),
            title: String::new(),
            same: (0.97, 1.03),
            rows: vec![row(1.1, Some((1.05, 1.15))), row(1.0, Some((1e-9, 1e9)))],
        };
        let (low, high) = plot.range();
        assert!(low > 0.5 && high < 2.0, "{low} {high}");
        assert!(!plot.inline().contains("NaN"));
    }
}
