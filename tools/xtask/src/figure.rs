//! The picture of README.md and the sentences under it, which are those of the recorded run's report.

use crate::{Generated, Tree};
use anyhow::{Context, Result};
use std::path::Path;
use syscost_analyze::whole::Analysis;
use syscost_report::{build, html, svg};

const RUN: &str = "docs/runs/default";
/// What each rival costs relative to the control, by message size, over all thread counts.
const PLOT: &str = "cost-0-all-ways.svg";
const DARK: &str = "@media (prefers-color-scheme:dark){";

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let run = tree.load(RUN)?;
    let report = build::report(&run, &Analysis::of(&run));
    let plots = svg::files(&report);
    let (_, plot) = plots.iter().find(|(name, _)| name == PLOT).context("the report has no such plot")?;
    let file = |name: &str, content: String| Generated {
        path: Path::new("docs").join(name),
        content: content.into(),
    };
    Ok(vec![
        file("cost-light.svg", themed(plot, |_| "")),
        file("cost-dark.svg", themed(plot, |dark| dark)),
        file("report.html", html::page(&report)),
    ])
}

/// The picture in the reader's theme, and the answer of its run.
pub fn text(tree: &Tree, dir: &str) -> Result<String> {
    let run = tree.load(dir)?;
    let answer = build::report(&run, &Analysis::of(&run)).ending.answer.context("the run has no answer")?;
    Ok(format!(
        "<picture>\n  <source media=\"(prefers-color-scheme: dark)\" srcset=\"docs/cost-dark.svg\">\n  \
         <img alt=\"CPU time of a message, relative to the control\" src=\"docs/cost-light.svg\" width=\"720\">\n\
         </picture>\n\nCPU time of a message, relative to the control, by message size, over all thread counts.\n\n{}\n",
        textwrap::fill(&answer, 110)
    ))
}

/// A file for one theme: a page chooses by its own theme, which need not be that of the system.
fn themed(svg: &str, dark: impl Fn(&str) -> &str) -> String {
    let mut parts = svg.split(DARK);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |out, part| {
        let (rules, rest) = part.split_once("}}").unwrap_or((part, ""));
        let rules = dark(rules);
        out + rules + if rules.is_empty() { "" } else { "}" } + rest
    })
}
