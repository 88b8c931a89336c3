//! Stacked bars as SVG: what a whole should consist of, and a mark where it was measured.
//!
//! What the parts do not reach of the measured whole is outlined: it is not explained. Where they go
//! beyond, the mark stands inside the bar. Layout only; every figure is in the table beside it.

use super::escape::xml;
use super::frame::Frame;
use super::{StackedBar, StackedBars, svg};
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

const WIDTH: f64 = 500.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 430.0;
const TOP: f64 = 10.0;
const BAR: f64 = 20.0;
const ROW: f64 = 31.0;
/// Characters of a label that fit to the left of its bar.
const LABEL: usize = 18;

fn height(bars: &StackedBars) -> f64 {
    TOP + bars.bars.len() as f64 * ROW + 26.0
}

fn whole(bar: &StackedBar) -> f64 {
    bar.parts.iter().sum::<f64>().max(bar.measured)
}

fn frame(bars: &StackedBars) -> Frame<'_> {
    let legend = bars.parts.iter().enumerate().map(|(style, name)| (name.as_str(), style)).collect();
    let height = height(bars);
    Frame { title: &bars.title, class: "bars", sample: "part", width: WIDTH, height, legend }
}

/// The drawing for embedding in a page that has the shared style.
pub fn inline(bars: &StackedBars) -> String {
    frame(bars).inline(|out| body(out, bars))
}

pub fn standalone(bars: &StackedBars) -> String {
    frame(bars).standalone(|out| body(out, bars))
}

fn body(out: &mut String, bars: &StackedBars) {
    let most = bars.bars.iter().map(whole).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let at = |ns: f64| LEFT + ns / most * (RIGHT - LEFT);
    for (row, bar) in bars.bars.iter().enumerate() {
        let top = TOP + row as f64 * ROW;
        let label: String = bar.label.chars().take(LABEL).collect();
        let _ = write!(
            out,
            "<text class=\"row\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            top + BAR * 0.7,
            xml(&label)
        );
        let mut from = 0.0;
        for (style, part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
            let _ = write!(
                out,
                "<g class=\"{}\"><title>{}: {}</title><rect class=\"part\" x=\"{:.1}\" y=\"{top:.1}\" \
                 width=\"{:.1}\" height=\"{BAR}\"/></g>",
                svg::style_class(style),
                xml(&bars.parts[style]),
                bars.unit.format(*part),
                at(from),
                at(from + part) - at(from)
            );
            from += part;
        }
        if bar.measured > from {
            let _ = write!(
                out,
                "<rect class=\"rest\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                at(from),
                top + 0.5,
                at(bar.measured) - at(from),
                BAR - 1.0
            );
        }
        let mark = at(bar.measured);
        let _ = write!(
            out,
            "<path class=\"measured\" d=\"M{mark:.1} {:.1}v{:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            top - 3.0,
            BAR + 6.0,
            at(whole(bar)) + 6.0,
            top + BAR * 0.7,
            bars.unit.format(bar.measured)
        );
    }
    let _ = write!(
        out,
        "<text x=\"{LEFT}\" y=\"{:.1}\">bar: sum of the terms; mark and figure: measured</text>",
        height(bars) - 6.0
    );
}

/// The drawing with its legend and the same figures as a table.
pub fn figure(bars: &StackedBars) -> Markup {
    let used = |style: usize| bars.bars.iter().any(|bar| bar.parts.get(style).is_some_and(|ns| *ns > 0.0));
    html! {
        figure.wide id=(bars.id) {
            figcaption { (bars.title) }
            div.legend { @for (style, name) in bars.parts.iter().enumerate() {
                @if used(style) { span { (PreEscaped(svg::marker_icon(style))) (name) } }
            } }
            (PreEscaped(inline(bars)))
            details { summary { "The same as a table" }
                div.scroll tabindex="0" { table {
                    thead { tr {
                        th { "" }
                        @for (style, name) in bars.parts.iter().enumerate() { @if used(style) { th { (name) } } }
                        th { "sum" } th { "not explained" } th { "measured" }
                    } }
                    tbody { @for bar in &bars.bars { tr {
                        th { (bar.label) }
                        @for (style, ns) in bar.parts.iter().enumerate() { @if used(style) { td { (bars.unit.format(*ns)) } } }
                        td { (bars.unit.format(bar.parts.iter().sum())) }
                        td { (bars.unit.format(bar.measured - bar.parts.iter().sum::<f64>())) }
                        td { (bars.unit.format(bar.measured)) }
                    } } }
                } }
            }
        }
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
        let drawn = inline(&bars);
        assert_eq!(drawn.matches("class=\"part\"").count(), 3, "no part of nothing");
        assert_eq!(drawn.matches("class=\"rest\"").count(), 1, "only what is missing is outlined");
        let quarter = (RIGHT - LEFT) / 4.0;
        assert!(drawn.contains(&format!("width=\"{quarter:.1}\"")), "{drawn}");
        assert!(drawn.contains("a &lt;title&gt;") && standalone(&bars).contains("<style>"));
        let table = figure(&bars).into_string();
        assert!(table.contains("-100 ns") && table.contains("500 ns"), "{table}");
    }
}
