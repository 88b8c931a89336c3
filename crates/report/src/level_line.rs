//! The machine's level over time as SVG: a small line of steps around the usual, broken where the run paused.
//!
//! Layout only; what it says in words stands beside it.

use super::LevelLine;
use super::canvas::{Anchor, Canvas, Frame, SvgDrawing};
use super::svg::{AxisScale, style_class};
use crate::{LevelStep, Scale};
use syscost_core::units::significant;

const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 130.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 490.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 98.0;
/// The least that is drawn on either side of the usual, so that small changes look small.
const LEAST: f64 = 0.05;
/// Lines across.
const TICKS: f64 = 4.0;
/// Styles of a step, and of one that is slow.
const STYLES: [usize; 2] = [0, 1];

impl SvgDrawing for LevelLine {
    fn frame(&self) -> Frame<'_> {
        Frame { id: &self.id, title: &self.title, width: WIDTH, height: HEIGHT, ..Frame::default() }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let ends = self.steps.iter().flat_map(|step| [step.level]);
        let low = ends.clone().fold(-LEAST.max(self.chance), f64::min);
        let high = ends.fold(LEAST.max(self.chance), f64::max);
        let y = AxisScale { scale: Scale::Linear, low, high, from: BOTTOM, to: TOP };
        let last = self.steps.last().map_or(1.0, |step| step.to_s);
        let x = AxisScale { scale: Scale::Linear, low: 0.0, high: last, from: LEFT, to: RIGHT };
        let (above, below) = (y.at(self.chance), y.at(-self.chance));
        canvas.group(&style_class(STYLES[0]), "changes within this band can be chance", |canvas| {
            canvas.rect("band", (LEFT, above), (RIGHT - LEFT, below - above));
        });
        for tick in ticks(low, high) {
            let class = if tick == 0.0 { "base" } else { "grid" };
            canvas.path(class, format_args!("M{LEFT} {:.1}H{RIGHT}", y.at(tick)));
            canvas.text("tick", (LEFT - 7.0, y.at(tick) + 4.5), Anchor::End, &signed_percent(tick));
        }
        for tick in ticks(0.0, last) {
            let text = format!("{} s", significant(tick));
            canvas.text("tick", (x.at(tick), BOTTOM + 20.0), Anchor::Middle, &text);
        }
        steps(canvas, &self.steps, (x, y));
    }
}

fn steps(canvas: &mut Canvas, steps: &[LevelStep], (x, y): (AxisScale, AxisScale)) {
    for step in steps {
        let tooltip = format!(
            "{} to {} s: {}",
            significant(step.from_s),
            significant(step.to_s),
            signed_percent(step.level)
        );
        canvas.group(&style_class(STYLES[usize::from(step.slow)]), &tooltip, |canvas| {
            let at = y.at(step.level);
            canvas.line("line", [(x.at(step.from_s), at), (x.at(step.to_s), at)].into_iter());
        });
    }
}

/// `+12 %`, `-4 %`, `0 %`
fn signed_percent(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{} %", significant(100.0 * share))
}

/// Round values between two others, 0 among them where it lies between.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let wanted = (high - low) / TICKS;
    if !wanted.is_finite() || wanted <= 0.0 {
        return vec![0.0];
    }
    let magnitude = 10f64.powf(wanted.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|s| *s >= wanted);
    let step = step.unwrap_or(10.0 * magnitude);
    let (from, to) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (from..=to).map(|i| i as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_stretches_stand_out_above_the_usual_and_pauses_are_gaps() {
        let step = |from_s, level: f64| LevelStep { from_s, to_s: from_s + 10.0, level, slow: level > 0.1 };
        let line = LevelLine {
            id: "level".into(),
            title: "a <title>".into(),
            chance: 0.03,
            steps: vec![step(0.0, -0.04), step(10.0, 0.0), step(25.0, 0.2)],
        };
        let drawn = line.inline();
        assert_eq!(drawn.matches("class=\"line\"").count(), 3);
        assert_eq!(drawn.matches("<g class=\"s1\">").count(), 1, "{drawn}");
        assert!(drawn.contains("25 to 35 s: +20 %") && drawn.contains("0 to 10 s: -4 %"), "{drawn}");
        assert!(drawn.contains("a &lt;title&gt;"));
        let heights: Vec<f64> = drawn
            .split("class=\"line\" d=\"M")
            .skip(1)
            .map(|path| path.split([' ', '"']).nth(1).unwrap().parse().unwrap())
            .collect();
        assert!(heights[2] < heights[1] && heights[1] < heights[0], "slower is higher: {heights:?}");
    }

    #[test]
    fn ticks_are_round_and_hold_the_usual() {
        assert_eq!(ticks(-0.05, 0.05).len(), 3);
        assert!(ticks(-0.16, 0.43).contains(&0.0));
        assert_eq!(ticks(0.0, 280.0), [0.0, 100.0, 200.0]);
        assert_eq!(ticks(0.0, 0.0), [0.0]);
        assert_eq!(signed_percent(0.125), "+12.5 %");
    }
}
