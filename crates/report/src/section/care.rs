//! What the analysis found wrong with figures: impossible samples, wide, drifting, two-level cells.

use super::{grouped, plural, unless_empty};
use crate::material::Material;
use crate::{Block, Notice, Section};
use std::collections::BTreeMap;
use syscost_analyze::Problem;
use syscost_measure::probe;

/// Sentences listed of one kind.
const LISTED: usize = 8;
/// Cases whose numbers are given.
const NUMBERED: usize = 24;

pub fn section(m: &Material) -> Option<Section> {
    let mut blocks = Vec::new();
    for (id, problems) in kinds(&m.analysis.problems) {
        blocks.push(Block::Heading(format!("{} ({})", heading(id), problems.len())));
        blocks.push(Block::Statements(problems.iter().take(LISTED).map(|p| p.statement.clone()).collect()));
        if problems.len() > LISTED {
            blocks.push(Block::Text(rest(m, &problems[LISTED..])));
        }
    }
    unless_empty("care", "Figures to be careful with", "Care", blocks)
}

/// The cases of the others; where they are many, how many of each probe.
fn rest(m: &Material, problems: &[&Problem]) -> String {
    if problems.len() <= NUMBERED {
        let cases: Vec<String> = problems.iter().map(|p| p.case.to_string()).collect();
        return format!("The same of cases {}.", cases.join(", "));
    }
    let title =
        |p: &&&Problem| m.run.case(p.case).and_then(|c| probe::find(&c.probe)).map(|p| p.about().title);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for title in problems.iter().filter_map(|p| title(&p)) {
        *counts.entry(title).or_default() += 1;
    }
    let counts: Vec<String> = counts.into_iter().map(|(title, n)| format!("{n} of {title}")).collect();
    format!("The same of {}: {}.", plural(problems.len(), "more case"), counts.join(", "))
}

/// One line for the list of warnings.
pub fn notice(m: &Material) -> Option<Notice> {
    let problems = &m.analysis.problems;
    let mut cases: Vec<usize> = problems.iter().map(|p| p.case).collect();
    cases.sort_unstable();
    cases.dedup();
    let kinds: Vec<String> = kinds(problems)
        .into_iter()
        .map(|(id, list)| format!("{} {}", list.len(), id.replace('_', " ")))
        .collect();
    (!cases.is_empty()).then(|| Notice {
        title: format!("Figures of {} need care", plural(cases.len(), "case")),
        text: format!("Found: {}. Each is listed under \"Figures to be careful with\".", kinds.join(", ")),
        remedy: "give the run more time with --time-limit, or free the machine of other work".into(),
        cases,
    })
}

fn kinds(problems: &[Problem]) -> Vec<(&'static str, Vec<&Problem>)> {
    grouped(problems.iter().map(|problem| (problem.id, problem)))
}

fn heading(id: &str) -> String {
    super::capital(&id.replace('_', " "))
}
