//! What is unexpected: one visible list of kinds, each with its most likely cause.
//!
//! A surprise is a significant difference (see [`crate::compare`]) or a problem that was found before; the cause beside it is a
//! counter of the same cells that changes with it ([`cause`]), or it is said that the data show none.
//! Figures far from a prediction by more than a factor of two are told by [`crate::operations::accuracy`].

use super::{Evidence, Finding, SentenceAnswer};
use crate::compare::family::Family;
use crate::words::{and, count};
use crate::{CellRef, Statement};

mod cause;
mod outliers;
mod steps;
mod two_levels;

/// A kind of surprise.
trait SurpriseKind: Sync {
    /// `no step between neighbouring sizes at which ...`: what is said where there is none.
    fn none(&self) -> &'static str;

    /// What was looked at, and what was found in it, strongest first.
    fn look(&self, evidence: &Evidence<'_>) -> Looked;
}

#[derive(Default)]
struct Looked {
    /// The figures that were looked at.
    at: Vec<CellRef>,
    found: Vec<Statement>,
    caveat: Option<String>,
}

/// Every kind, in the order of the answer.
static KINDS: &[&dyn SurpriseKind] =
    &[&steps::CLIFFS, &steps::TURNS, &steps::SCALING, &two_levels::TwoLevels, &outliers::Outliers];

/// More of one kind than this are counted, not told.
const TOLD: usize = 8;

pub struct Unexpected;

impl Finding for Unexpected {
    fn id(&self) -> &'static str {
        "unexpected"
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        let looked: Vec<(&dyn SurpriseKind, Looked)> =
            KINDS.iter().map(|kind| (*kind, kind.look(evidence))).collect();
        if looked.iter().all(|(_, l)| l.at.is_empty()) {
            return SentenceAnswer::CannotBeAnswered {
                because: "it has no case with a figure of its own or with a neighbour to compare it with"
                    .into(),
                command: "syscost run".into(),
            };
        }
        let (mut statements, mut caveats) = (Vec::new(), Vec::new());
        for (_, of_kind) in &looked {
            statements.extend(of_kind.found.iter().take(TOLD).cloned());
            statements.extend(rest(&of_kind.found));
            caveats.extend(of_kind.caveat.clone().filter(|caveat| !caveats.contains(caveat)));
        }
        statements.extend(nothing(&looked));
        SentenceAnswer::Found { statements, caveats }
    }

    /// Cliffs and turns are told from the same steps.
    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        [steps::CLIFFS, steps::SCALING].iter().map(|steps| steps.compared(evidence)).collect()
    }
}

/// Those of one kind that are not told one by one.
fn rest(found: &[Statement]) -> Option<Statement> {
    let rest = found.get(TOLD..).filter(|rest| !rest.is_empty())?;
    let text = format!("{} of the same kind, weaker than these.", count(rest.len(), "more surprise"));
    Some(Statement { text, cells: rest.iter().flat_map(|s| s.cells.clone()).collect() })
}

/// The kinds that were looked for and not found.
fn nothing(looked: &[(&dyn SurpriseKind, Looked)]) -> Option<Statement> {
    let empty: Vec<&(&dyn SurpriseKind, Looked)> =
        looked.iter().filter(|(_, l)| !l.at.is_empty() && l.found.is_empty()).collect();
    let names: Vec<String> = empty
        .iter()
        .map(|(kind, l)| format!("{} (of {})", kind.none(), count(l.at.len(), "figure")))
        .collect();
    let text = format!("Looked for and not found: {}.", and(&names));
    (!empty.is_empty())
        .then(|| Statement { text, cells: empty.iter().flat_map(|(_, l)| l.at.clone()).collect() })
}

#[cfg(test)]
mod tests;
