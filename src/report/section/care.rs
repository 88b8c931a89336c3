//! What the analysis found wrong with figures: impossible samples, wide, drifting, two-level cells.

use super::{plural, unless_empty};
use crate::analysis::Problem;
use crate::report::material::Material;
use crate::report::{Block, Notice, Section};

/// Sentences listed of one kind.
const LISTED: usize = 8;

pub fn section(m: &Material) -> Option<Section> {
    let mut blocks = Vec::new();
    for (id, problems) in kinds(&m.analysis.problems) {
        blocks.push(Block::Heading(format!("{} ({})", heading(id), problems.len())));
        blocks.push(Block::Statements(problems.iter().take(LISTED).map(|p| p.statement.clone()).collect()));
        if problems.len() > LISTED {
            let cases: Vec<String> = problems[LISTED..].iter().take(60).map(|p| p.case.to_string()).collect();
            let more = if problems.len() > LISTED + 60 { " and others" } else { "" };
            blocks.push(Block::Text(format!("The same of cases {}{more}.", cases.join(", "))));
        }
    }
    unless_empty("care", "Figures to be careful with", "Care", blocks)
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

/// Problems by kind, in order of appearance.
fn kinds(problems: &[Problem]) -> Vec<(&'static str, Vec<&Problem>)> {
    let mut kinds: Vec<(&'static str, Vec<&Problem>)> = Vec::new();
    for problem in problems {
        match kinds.iter_mut().find(|k| k.0 == problem.id) {
            Some(kind) => kind.1.push(problem),
            None => kinds.push((problem.id, vec![problem])),
        }
    }
    kinds
}

fn heading(id: &str) -> String {
    super::capital(&id.replace('_', " "))
}
