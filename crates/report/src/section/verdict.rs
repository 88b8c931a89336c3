//! The verdict: what an engineer should do; and the findings behind it.

use super::unless_empty;
use crate::material::Material;
use crate::text::recommendation::recommendation;
use crate::{Block, Section, Statement};
use syscost_analyze::compare::study::ALONG;
use syscost_analyze::copies::zero_copy;
use syscost_analyze::limits::limiter;
use syscost_experiment::run::State;
use syscost_measure::probe::tcp_latency::axes::RATE;

/// What to use, by what a reader has to send; what rows cost where nothing competes.
pub fn statements(m: &Material) -> Vec<Statement> {
    let latency = &m.analysis.latency;
    let of_latency = [(&latency.by_rate, RATE.id), (&latency.by_size, ALONG.id)]
        .into_iter()
        .flat_map(|(found, along)| recommendation(m.run, found, along).advice)
        .flat_map(|advice| std::iter::once(advice.headline).chain(advice.details));
    unfinished(m)
        .into_iter()
        .chain(empty(m))
        .chain(recommendation(m.run, &m.analysis.recommendation, ALONG.id).statements())
        .chain(of_latency)
        .chain(latency.statements.iter().cloned())
        .chain(m.analysis.costs.iter().cloned())
        .collect()
}

/// Every finding that the verdict does not already say.
pub fn findings(m: &Material) -> Option<Section> {
    let compared = !m.analysis.studies.is_empty();
    let copied = compared.then(|| zero_copy::statements(m.run, &m.analysis.cells)).unwrap_or_default();
    let limited = limiter::statement(&m.analysis.limiters).into_iter().filter(|_| compared);
    let all: Vec<Statement> =
        copied.into_iter().chain(limited).chain(m.analysis.findings.iter().cloned()).collect();
    let blocks = if all.is_empty() { Vec::new() } else { vec![Block::Statements(all)] };
    unless_empty("findings", "Findings", "Findings", blocks)
}

fn empty(m: &Material) -> Option<Statement> {
    let text = "No usable sample was recorded, so there is nothing to say about this run.".into();
    m.analysis.cells.is_empty().then_some(Statement { text, cells: Vec::new() })
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
