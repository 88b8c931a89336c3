//! The verdict: what an engineer should do, in one paragraph; and the findings behind it.

use super::unless_empty;
use crate::material::Material;
use crate::{Block, Section, Statement};
use syscost_analyze::compare::study::ALONG;
use syscost_analyze::copies::zero_copy;
use syscost_analyze::recommend::regions;
use syscost_experiment::run::State;

/// Of the recommendations: the rest stands in the section on regions.
pub const PARAGRAPHS: usize = 6;

/// What to use along the sizes, by every metric that ranks.
pub fn recommendations(m: &Material) -> Vec<Statement> {
    regions::statements(m.run, &m.analysis.ways, ALONG.id)
}

/// The recommendations, also whether batching is the answer; and what the kernel said about zero-copy. Where nothing
/// competes: the findings.
pub fn statements(m: &Material) -> Vec<Statement> {
    let advice: Vec<Statement> = recommendations(m).into_iter().take(PARAGRAPHS).collect();
    let found = if advice.is_empty() { m.analysis.verdict.clone() } else { told(m) };
    let costs = m.analysis.costs.clone();
    unfinished(m)
        .into_iter()
        .chain(advice)
        .chain(m.analysis.latency.statements.clone())
        .chain(found)
        .chain(costs)
        .collect()
}

/// The sentences on zero-copy: they belong beside any advice to use it.
fn told(m: &Material) -> Vec<Statement> {
    zero_copy::statements(m.run, &m.analysis.cells)
}

/// Every finding that the verdict does not already say.
pub fn findings(m: &Material) -> Option<Section> {
    let said = statements(m);
    let all = m.analysis.verdict.iter().chain(&m.analysis.findings);
    let rest: Vec<Statement> = all.filter(|s| !said.contains(s)).cloned().collect();
    let blocks = if rest.is_empty() { Vec::new() } else { vec![Block::Statements(rest)] };
    unless_empty("findings", "Findings", "Findings", blocks)
}

/// A partial run says so before anything else.
fn unfinished(m: &Material) -> Option<Statement> {
    let text = match m.run.record.state {
        State::Complete | State::TimeLimit => return None,
        State::Running => {
            "This run has not ended: it is still going, or was killed. What follows rests on the samples so far; \
             continue it with `syscost run --resume DIR`."
        }
        State::Interrupted => {
            "This run was interrupted. What follows rests on the samples so far; continue it with \
             `syscost run --resume DIR`."
        }
    };
    Some(Statement { text: text.into(), cells: Vec::new() })
}
