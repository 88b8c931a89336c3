//! The reports of a small recorded run: its results, what a terminal shows, the text of the page, what a course asks for.

use crate::{Generated, Tree};
use anyhow::Result;
use std::path::Path;
use syscost_analyze::whole::Analysis;
use syscost_course::pa02;
use syscost_report::terminal::{self, RunPlace, TerminalLook};
use syscost_report::{build, csv, html};

/// Of a course's files these; the others are made of the same parts.
const COURSE: &[&str] = &["Results.csv", "Plots.py", "README.md"];

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let run = tree.load("tests/data/small-run")?;
    let analysis = Analysis::of(&run);
    let report = build::report(&run, &analysis);
    let look = TerminalLook { width: 80, colour: false };
    let place = RunPlace { run: Path::new("DIR"), page: Path::new("DIR/report.html") };
    let terminal = terminal::text(&report, Some(place), look);
    let artefacts = pa02::artefacts(&run, &analysis, "MT25999", None, None)?.into_iter();
    let kept = artefacts.filter(|file| COURSE.iter().any(|end| file.name.ends_with(end)));
    let mut files = vec![
        Generated::golden("small-run.results.csv", csv::results(&run, &analysis.cells)),
        Generated::golden("small-run.terminal.txt", terminal),
        Generated::golden("small-run.page.txt", visible_text(&html::page(&report))),
    ];
    files.extend(kept.map(|file| Generated::golden(&format!("course/{}", file.name), file.content)));
    Ok(files)
}

/// What a reader sees of a page, drawings aside: a line for each paragraph, item and row.
fn visible_text(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('<') {
        text += before;
        let (tag, mut after) = after.split_once('>').unwrap_or((after, ""));
        let name = tag.split_whitespace().next().unwrap_or("").trim_start_matches('/');
        match name {
            "style" | "svg" => after = after.split_once(&format!("</{name}>")).map_or("", |parts| parts.1),
            "td" | "th" if !tag.starts_with('/') => text += " | ",
            "td" | "th" | "a" | "b" | "code" | "i" | "small" | "span" | "strong" | "sup" | "wbr" => {}
            _ => text.push('\n'),
        }
        rest = after;
    }
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let text = lines.map(|line| format!("{line}\n")).collect::<String>();
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (entity, character)| text.replace(entity, character))
}
