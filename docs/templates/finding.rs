//! Did TCP have to send anything twice? The cases with retransmitted segments, the worst first.
//!
//! Template of a finding. Why each method is there:
//! - `about()`: the question as a reader asks it, and its anchor on the page.
//! - `asked()`: false where a run has nothing to do with the question. Default: true.
//! - `answer()`: from cells, claims and audits of this run alone. A sentence about figures names its cells.
//!   That one figure is larger than another is read from a comparison, never decided here.

use super::{Answer, Evidence, Finding, Question};
use crate::cells::Cell;
use crate::words::{Words, count};
use crate::{CellRef, Statement};
use syscost_core::units::significant;

const METRIC: &str = "retransmits";

pub struct Repeats;

impl Finding for Repeats {
    fn about(&self) -> Question {
        Question { id: "repeats", question: "Did TCP have to send anything twice?" }
    }

    // From the data of this run alone: cells, claims and audits that others made. Nothing is measured here.
    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        let mut cells: Vec<&Cell> = evidence.cells.of_metric(METRIC).collect();
        cells.sort_by(|a, b| b.estimate.value.total_cmp(&a.estimate.value));
        let Some(worst) = cells.first() else {
            return Answer::CannotBeAnswered {
                because: "nothing in it counts retransmitted segments".into(),
                command: "syscost run".into(),
            };
        };
        let repeating = cells.iter().filter(|c| c.estimate.value > 0.0).count();
        let text = match evidence.run.case(worst.case) {
            Some(case) if repeating > 0 => format!(
                "Yes: {} of {}, most at {}, with {} segments a sample.",
                repeating,
                count(cells.len(), "case"),
                Words::of(evidence.run).place(&case.point, &[]),
                significant(worst.estimate.value)
            ),
            _ => format!("No: no segment was retransmitted in {}.", count(cells.len(), "case")),
        };
        // Every sentence about figures names the cells that show it; the page links them.
        let refs = cells.iter().map(|c| CellRef { case: c.case, metric: c.metric }).collect();
        Answer::Found { statements: vec![Statement { text, cells: refs }], caveats: Vec::new() }
    }
}
