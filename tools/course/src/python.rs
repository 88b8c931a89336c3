//! Figures as one Python script for matplotlib with every value written into it.
//!
//! The script reads no file, as the course asks. Its data are literals (numbers, strings, lists,
//! dictionaries), so that they can be checked against the table without running it.

use super::figure::{CourseFigure, Panel, PanelAxis};
use std::fmt::Write;
use syscost_report::Series;

/// Names, colours and markers in order of style.
const PROGRAM: &str = include_str!("plots.py");
/// Where the data stand in it.
const DATA: &str = "FIGURES = []\n";

/// The whole script; `about` becomes its documentation.
pub fn script(about: &str, figures: &[CourseFigure], colours: &[String]) -> String {
    let mut data = String::from("FIGURES = [\n");
    for figure in figures {
        write_figure(&mut data, figure);
    }
    data.push_str("]\n");
    let colours: Vec<String> = colours.iter().map(|c| literal(c)).collect();
    PROGRAM
        .replace("\"ABOUT\"", &format!("\"\"\"{}\"\"\"", plain(about)))
        .replace("COLOURS = []", &format!("COLOURS = [{}]", colours.join(", ")))
        .replace(DATA, &data)
}

fn write_figure(out: &mut String, figure: &CourseFigure) {
    let _ = writeln!(out, "    {{");
    let _ = writeln!(out, "        \"file\": {},", literal(&figure.name));
    let _ = writeln!(out, "        \"title\": {},", literal(&figure.title));
    let captions: Vec<String> = figure.caption.iter().map(|c| literal(c)).collect();
    let _ = writeln!(out, "        \"caption\": [{}],", captions.join(", "));
    let _ = writeln!(out, "        \"panels\": [");
    for panel in &figure.panels {
        write_panel(out, panel);
    }
    let _ = writeln!(out, "        ],\n    }},");
}

fn write_panel(out: &mut String, panel: &Panel) {
    let bytes = if panel.x == PanelAxis::MessageBytes { "True" } else { "False" };
    let log = if panel.log_y { "True" } else { "False" };
    let missing = panel.missing.as_deref().map_or("None".into(), literal);
    let _ = writeln!(out, "            {{");
    let _ = writeln!(out, "                \"title\": {},", literal(&panel.title));
    let _ = writeln!(out, "                \"x\": {}, \"bytes\": {bytes},", literal(panel.x.title()));
    let _ = writeln!(out, "                \"y\": {}, \"log_y\": {log},", literal(&panel.y));
    let _ = writeln!(out, "                \"missing\": {missing},");
    let _ = writeln!(out, "                \"series\": [");
    for series in &panel.series {
        write_series(out, series);
    }
    let _ = writeln!(out, "                ],\n            }},");
}

fn write_series(out: &mut String, series: &Series) {
    let list = |values: Vec<f64>| values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let of = |value: fn(&syscost_core::stats::Estimate) -> f64| {
        series.points.iter().map(|p| value(&p.1)).collect()
    };
    let indent = "                    ";
    let _ = writeln!(out, "{indent}{{\"name\": {}, \"style\": {},", literal(&series.name), series.style);
    let _ = writeln!(out, "{indent} \"x\": [{}],", list(series.points.iter().map(|p| p.0).collect()));
    let _ = writeln!(out, "{indent} \"value\": [{}],", list(of(|e| e.value)));
    let _ = writeln!(out, "{indent} \"low\": [{}],", list(of(|e| e.low)));
    let _ = writeln!(out, "{indent} \"high\": [{}]}},", list(of(|e| e.high)));
}

/// A string of Python that is also one of JSON.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in plain(text).chars() {
        // A line feed would end the string, and with it the script.
        out.push(if c == '\n' { ' ' } else { c });
    }
    out.push('"');
    out
}

/// Text that can end no string and start no escape: a stranger's run must not become a program.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '"' | '\\' => '\'',
            c if c.is_control() && c != '\n' => ' ',
            c if c.is_ascii() => c,
            _ => '?',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::Estimate;
    use syscost_core::units::Unit;

    #[test]
    fn recorded_text_stays_text() {
        let e = Estimate { value: 1.5, low: 1.25, high: 2.0, level: 0.95, n: 8, unit: Unit::Ratio };
        let series = Series { name: "a\"]; import\nos #".into(), style: 0, points: vec![(64.0, e)] };
        let panel = Panel {
            title: "p".into(),
            x: PanelAxis::Threads,
            y: "y".into(),
            log_y: false,
            series: vec![series],
            missing: None,
        };
        let figure =
            CourseFigure { name: "f".into(), title: "\\\"\"\"".into(), panels: vec![panel], caption: vec![] };
        let text = script("about \"\"\" this", &[figure], &["#000000".into()]);
        assert!(text.contains("\"name\": \"a']; import os #\""), "{text}");
        assert!(text.contains("\"value\": [1.5],") && text.contains("about ''' this"), "{text}");
        assert!(text.contains("COLOURS = [\"#000000\"]") && !text.contains(DATA));
    }
}
