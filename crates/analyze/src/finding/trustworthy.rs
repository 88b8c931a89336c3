//! Is any figure impossible, or too noisy to use? What was refused, and which cells to be careful with.
//!
//! It reads the problems that [`crate::cells::sanity`] and [`crate::cells::quality`] found.

use super::{About, Answer, Evidence, Finding};
use crate::words::count;
use crate::{CellRef, Problem, Statement};
use std::collections::BTreeMap;

pub struct Trustworthy;

impl Finding for Trustworthy {
    fn about(&self) -> About {
        About { id: "trustworthy", question: "Is any figure impossible, or too noisy to use?" }
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        let cells: Vec<CellRef> = headline_cells(evidence);
        if cells.is_empty() {
            return Answer::CannotBeAnswered {
                because: "it has no usable sample".into(),
                command: "syscost run".into(),
            };
        }
        if evidence.problems.is_empty() {
            let text = format!(
                "No: no sample of {} was refused, and every figure is as precise as was asked.",
                count(cells.len(), "case")
            );
            return Answer::Found { statements: vec![Statement { text, cells }], caveats: Vec::new() };
        }
        let statements = kinds(evidence.problems).into_iter().map(|(_, of)| kind(&of, evidence)).collect();
        Answer::Found { statements, caveats: Vec::new() }
    }
}

/// The first decisive metric of every case that has a figure.
fn headline_cells(evidence: &Evidence<'_>) -> Vec<CellRef> {
    let cases = evidence.run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
    cases
        .filter_map(|case| {
            let metric = syscost_measure::probe::find(&case.probe)?.decisive().first().copied()?;
            let cell = evidence.cells.cell(case.index, metric)?;
            Some(CellRef { case: case.index, metric: cell.metric })
        })
        .collect()
}

/// Problems of one kind together, the most frequent kind first.
fn kinds(problems: &[Problem]) -> Vec<(&'static str, Vec<&Problem>)> {
    let mut kinds: BTreeMap<&'static str, Vec<&Problem>> = BTreeMap::new();
    for problem in problems {
        kinds.entry(problem.id).or_default().push(problem);
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    kinds
}

/// The first of a kind in its own words, and how many cases share it.
fn kind(of: &[&Problem], evidence: &Evidence<'_>) -> Statement {
    let exists = |cell: &&CellRef| cell.exists(evidence.run, evidence.cells);
    let cells: Vec<CellRef> = of.iter().flat_map(|p| &p.statement.cells).filter(exists).cloned().collect();
    let first = &of[0].statement.text;
    let text = match of.len() {
        1 => first.clone(),
        n => format!("{first} The same is true of {} more.", count(n - 1, "figure")),
    };
    Statement { text, cells }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;

    fn told(run: &syscost_experiment::run::Run) -> Vec<Statement> {
        let analysis = Analysis::of(run);
        let answered = analysis.answers.iter().find(|a| a.about == Trustworthy.about()).expect("asked");
        match &answered.answer {
            Answer::Found { statements, .. } => statements.clone(),
            Answer::CannotBeAnswered { .. } => Vec::new(),
        }
    }

    #[test]
    fn a_clean_run_is_said_to_be_clean_and_a_broken_sample_shows() {
        let mut run = Synthetic { rounds: 12, noise: 0.002, ..Default::default() }.run();
        run.record.spec.precision = 0.5;
        assert!(told(&run)[0].text.starts_with("No: no sample"), "{:?}", told(&run));
        run.samples[0].elapsed_ns = -1.0;
        assert!(told(&run).iter().any(|s| s.text.contains("no length")), "{:?}", told(&run));
        run.samples.clear();
        assert!(told(&run).is_empty(), "nothing was measured");
    }
}
