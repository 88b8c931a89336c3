//! The verdict: what an engineer should do, in one paragraph made from cells.

use crate::report::Statement;
use crate::report::build::Material;
use crate::run::State;

pub fn statements(m: &Material) -> Vec<Statement> {
    let mut statements = Vec::new();
    statements.extend(unfinished(m));
    statements
}

/// A partial run says so before anything else.
fn unfinished(m: &Material) -> Option<Statement> {
    let text = match m.run.record.state {
        State::Complete | State::TimeLimit => return None,
        State::Running => {
            "This run has not ended: it is still going, or was killed. What follows rests on the samples so far; continue it with `syscost run --resume DIR`."
        }
        State::Interrupted => {
            "This run was interrupted. What follows rests on the samples so far; continue it with `syscost run --resume DIR`."
        }
    };
    Some(Statement { text: text.into(), cells: Vec::new() })
}
