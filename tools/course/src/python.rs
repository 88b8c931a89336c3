//! Figures as one Python script for matplotlib with every value written into it.
//!
//! The script reads no file, as the course asks. Its data are literals (numbers, strings, lists,
//! dictionaries), so that they can be checked against the table without running it.

use super::figure::{CourseFigure, CoursePanel, PanelAxis};
use syscost_core::stats::Estimate;
use syscost_report::Series;

/// Names, colours and markers in order of style.
const PROGRAM: &str = include_str!("plots.py");
/// Where the data stand in it.
const DATA: &str = "FIGURES = []\n";

/// The whole script; `about` becomes its documentation.
pub fn script(about: &str, figures: &[CourseFigure], colours: &[String]) -> String {
    let data = format!("FIGURES = [\n{}]\n", figures.iter().map(figure).collect::<String>());
    let colours: Vec<String> = colours.iter().map(|c| literal(c)).collect();
    PROGRAM
        .replace("\"ABOUT\"", &format!("\"\"\"{}\"\"\"", plain(about)))
        .replace("COLOURS = []", &format!("COLOURS = [{}]", colours.join(", ")))
        .replace(DATA, &data)
}

fn figure(figure: &CourseFigure) -> String {
    let captions: Vec<String> = figure.caption.iter().map(|c| literal(c)).collect();
    format!(
        "    {{\n        \"file\": {},\n        \"title\": {},\n        \"caption\": [{}],\n        \"panels\": [\n\
         {}        ],\n    }},\n",
        literal(&figure.name),
        literal(&figure.title),
        captions.join(", "),
        figure.panels.iter().map(panel).collect::<String>()
    )
}

fn panel(panel: &CoursePanel) -> String {
    let truth = |holds: bool| if holds { "True" } else { "False" };
    let indent = "                ";
    format!(
        "            {{\n{indent}\"title\": {},\n{indent}\"x\": {}, \"bytes\": {},\n{indent}\"y\": {}, \"log_y\": {},\n\
         {indent}\"missing\": {},\n{indent}\"series\": [\n{}{indent}],\n            }},\n",
        literal(&panel.title),
        literal(panel.x.title()),
        truth(panel.x == PanelAxis::MessageBytes),
        literal(&panel.y),
        truth(panel.log_y),
        panel.missing.as_deref().map_or("None".into(), literal),
        panel.series.iter().map(series).collect::<String>()
    )
}

fn series(series: &Series) -> String {
    let list = |value: fn(&(f64, Estimate)) -> f64| {
        series.points.iter().map(|point| value(point).to_string()).collect::<Vec<_>>().join(", ")
    };
    let indent = "                    ";
    format!(
        "{indent}{{\"name\": {}, \"style\": {},\n{indent} \"x\": [{}],\n{indent} \"value\": [{}],\n\
         {indent} \"low\": [{}],\n{indent} \"high\": [{}]}},\n",
        literal(&series.name),
        series.style,
        list(|p| p.0),
        list(|p| p.1.value),
        list(|p| p.1.low),
        list(|p| p.1.high)
    )
}

/// A string of Python that is also one of JSON.
fn literal(text: &str) -> String {
    // A line feed would end the string, and with it the script.
    format!("\"{}\"", plain(text).replace('\n', " "))
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
    use syscost_core::units::Unit;

    #[test]
    fn recorded_text_stays_text() {
        let e = Estimate { value: 1.5, low: 1.25, high: 2.0, level: 0.95, n: 8, unit: Unit::Ratio };
        let series = Series::of("a\"]; import\nos #", 0, vec![(64.0, e)]);
        let panel = CoursePanel {
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
