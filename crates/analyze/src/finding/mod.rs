//! Questions that a report answers from the data of its run alone: one file each, one visible list.
//!
//! A finding has a question that a reader would ask and an answer made of statements, each with the
//! cells it stands on; or it says why this run cannot answer it, and which command's run could. It
//! computes from cells, comparisons and audits that others made ([`Evidence`]); it measures nothing, and
//! it tells of a difference only where [`crate::compare`] does.

use crate::cells::Cells;
use crate::compare::family::Family;
use crate::compare::groups::Groups;
use crate::compare::study::Study;
use crate::limits::limiter::Limiter;
use crate::model::Model;
use crate::{Problem, Statement};
use syscost_experiment::run::Run;

mod along;
mod beside;
mod overtake;
mod pairs;

/// What a finding is, for reports and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Anchor on the page: `trustworthy`.
    pub id: &'static str,
    /// As a reader would ask it.
    pub question: &'static str,
}

/// What findings are made from.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub run: &'a Run,
    pub cells: &'a Cells,
    pub groups: &'a Groups,
    pub studies: &'a [Study],
    pub limiters: &'a [Limiter],
    pub model: &'a Model,
    pub problems: &'a [Problem],
}

impl<'a> Evidence<'a> {
    /// One headline metric, compared.
    pub fn study(&self, metric: &str) -> Option<&'a Study> {
        self.studies.iter().find(|s| s.comparisons.metric.id == metric)
    }
}

/// What a run says to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Found {
        /// Most important first. A statement about figures names its cells.
        statements: Vec<Statement>,
        /// What a reader must know before relying on it.
        caveats: Vec<String>,
    },
    CannotBeAnswered {
        /// Completes "cannot be answered from this run because ".
        because: String,
        /// A command whose run could answer it.
        command: String,
    },
}

pub trait Finding: Sync {
    fn about(&self) -> Question;

    /// Is the question one of this run at all? One that most runs have nothing to do with is not asked of them.
    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        let _ = evidence;
        true
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer;

    /// What it compares by itself, beside the studies.
    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        let _ = evidence;
        Vec::new()
    }
}

/// A question and what the run says to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub about: Question,
    pub answer: Answer,
}

syscost_core::registry! {
    /// Every finding, in the order of reports.
    pub static ALL: dyn Finding = [
        scatter_gather::ScatterGather,
        zero_copy::ZeroCopy,
        not_fastest::NotFastest,
        cache_levels::CacheLevels,
        threads::Threads,
        connections::Connections,
        wakeups::WakeUps,
        one_copy::OneCopy,
        zero_copy_from::ZeroCopyFrom,
        unexpected::Unexpected,
    ];
}

/// Every question of this run with its answer.
pub fn answers(evidence: &Evidence<'_>) -> Vec<Answered> {
    let asked = ALL.iter().filter(|finding| finding.asked(evidence));
    asked.map(|f| Answered { about: f.about(), answer: f.answer(evidence) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use std::collections::BTreeSet;

    #[test]
    fn questions_are_distinct_and_every_statement_stands_on_cells_that_exist() {
        let ids: BTreeSet<&str> = ALL.iter().map(|f| f.about().id).collect();
        assert_eq!(ids.len(), ALL.len());
        let run = Synthetic::default().run();
        let analysis = Analysis::of(&run);
        assert!(analysis.answers.len() < ALL.len(), "one of them is asked of few runs");
        for answered in &analysis.answers {
            assert!(answered.about.question.ends_with('?'), "{:?}", answered.about);
            match &answered.answer {
                Answer::Found { statements, .. } => {
                    assert!(!statements.is_empty(), "{}", answered.about.id);
                    for cell in statements.iter().flat_map(|s| &s.cells) {
                        assert!(cell.exists(&run, &analysis.cells), "{cell:?}");
                    }
                }
                Answer::CannotBeAnswered { because, command } => {
                    assert!(!because.is_empty() && command.contains("syscost"), "{}", answered.about.id);
                }
            }
        }
    }
}
