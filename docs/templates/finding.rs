//! Did TCP have to send anything twice? The cases with retransmitted segments, the worst first.
//!
//! Template of a finding. Why each method is there:
//! - `id()`: its anchor on the page, and its name in findings.json.
//! - `asked()`: false where a run has nothing to do with the question. Default: true for runs with transfers.
//! - `answered()`: from cells, comparisons and audits of this run alone, as data: no English. What is shown names its cells.
//!   That one figure is larger than another is read from a comparison, never decided here.

use super::{Answer, Evidence, Finding, Says, Shown};
use crate::answer::{AnswerVerdict, CellRef, Lack};
use crate::cells::Cell;
use serde::Serialize;

const METRIC: &str = "retransmits";

pub struct Repeats;

/// What the words are made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Retransmitted {
    pub cases: usize,
    pub with_any: usize,
    /// Segments of a sample, of the worst case.
    pub most: f64,
}

impl Finding for Repeats {
    fn id(&self) -> &'static str {
        "repeats"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let mut cells: Vec<&Cell> = evidence.cells.of_metric(METRIC).collect();
        cells.sort_by(|a, b| b.estimate.value.total_cmp(&a.estimate.value));
        let Some(worst) = cells.first() else {
            return Answer::not_measured(self.id(), Lack::ComparableFigures, "syscost run");
        };
        let with_any = cells.iter().filter(|c| c.estimate.value > 0.0).count();
        let verdict = if with_any > 0 { AnswerVerdict::Yes } else { AnswerVerdict::No };
        let says = Retransmitted { cases: cells.len(), with_any, most: worst.estimate.value };
        // The page links the cells that show it.
        let refs = cells.iter().map(|c| CellRef { case: c.case, metric: c.metric }).collect();
        Answer::found(self.id(), verdict, vec![Shown::of(Says::Repeats(says), refs)], Vec::new())
    }
}
