//! The picture of README.md and the sentences under it, which are those of the recorded run's report.

use crate::{Generated, Tree};
use anyhow::{Context, Result};
use syscost_analyze::whole::Analysis;
use syscost_report::{build, html, svg};

const RUN: &str = "docs/runs/default";
/// What each rival costs relative to the control, by message size, over all thread counts.
const PLOT: &str = "cost-0-all-ways.svg";
/// Of the answer: what to use, by size.
const SENTENCES: usize = 4;

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let run = tree.load(RUN)?;
    let report = build::report(&run, &Analysis::of(&run));
    let plots = svg::files(&report);
    let (_, plot) = plots.iter().find(|(name, _)| name == PLOT).context("the report has no such plot")?;
    Ok(vec![
        Generated { path: "docs/cost.svg".into(), content: plot.clone().into() },
        Generated { path: "docs/report.html".into(), content: html::page(&report).into() },
    ])
}

/// The picture, and the answer of its run.
pub fn text(tree: &Tree, dir: &str) -> Result<String> {
    let run = tree.load(dir)?;
    let report = build::report(&run, &Analysis::of(&run));
    let told = report.verdict.iter().take(SENTENCES).map(|statement| statement.text.as_str());
    let answer = told.collect::<Vec<_>>().join(" ");
    Ok(format!(
        "![CPU time of a message, relative to the control](docs/cost.svg)\n\nCPU time of a message, relative to the control, \
         by message size, over all thread counts.\n\n{}\n",
        textwrap::fill(&answer, 110)
    ))
}
