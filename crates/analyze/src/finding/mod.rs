//! Questions that a report answers from the data of its run alone: one file each, one visible list.
//!
//! A finding answers a question of a reader by data ([`crate::answer`]); its words are in the report crate. It
//! computes from cells, comparisons and audits that others made ([`Evidence`]); it measures nothing, and
//! it tells of a difference only where [`crate::compare`] does.

use crate::answer::{self, AnswerVerdict, Caveat, Lack, Says, Shown};
use crate::cells::Cells;
use crate::compare::family::Family;
use crate::compare::groups::Groups;
use crate::compare::study::Study;
use crate::limits::limiter::Limiter;
use crate::model::Model;
use crate::{Problem, Statement};
use syscost_experiment::run::Run;
use syscost_measure::probe::{Probe, transfer};

pub mod along;
pub mod beside;
mod overtake;
mod pairs;

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

/// What a run says to a question, in sentences: of questions whose answers are not yet data.
#[derive(Clone, Debug, PartialEq)]
pub enum SentenceAnswer {
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
    /// Anchor on the page: `scatter_gather`.
    fn id(&self) -> &'static str;

    /// Is the question one of this run at all? Most are about the copies and the cost of transfers.
    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        let of = transfer::Transfer.about().id;
        evidence.run.record.plan.cases.iter().any(|case| case.probe == of)
    }

    /// In sentences, where it is not yet data.
    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        let _ = evidence;
        unreachable!("{} is answered by data", self.id())
    }

    fn answered(&self, evidence: &Evidence<'_>) -> answer::Answer {
        of_sentences(self.id(), self.answer(evidence))
    }

    /// `None`: it is not asked of this run.
    fn said(&self, evidence: &Evidence<'_>) -> Option<answer::Answer> {
        self.asked(evidence).then(|| self.answered(evidence))
    }

    /// What it compares by itself, beside the studies.
    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        let _ = evidence;
        Vec::new()
    }
}

fn of_sentences(question: &'static str, answer: SentenceAnswer) -> answer::Answer {
    match answer {
        SentenceAnswer::Found { statements, caveats } => answer::Answer::found(
            question,
            AnswerVerdict::Yes,
            statements.into_iter().map(|s| Shown::of(Says::Sentence(s.text), s.cells)).collect(),
            caveats.into_iter().map(Caveat::Sentence).collect(),
        ),
        SentenceAnswer::CannotBeAnswered { because, command } => {
            answer::Answer::not_measured(question, Lack::Sentence(because), command)
        }
    }
}

syscost_core::registry! {
    /// Every finding, in the order of reports.
    pub static ALL: dyn Finding = [
        pub scatter_gather::ScatterGather,
        pub zero_copy::ZeroCopy,
        pub not_fastest::NotFastest,
        pub cache_levels::CacheLevels,
        pub threads::Threads,
        connections::Connections,
        pub wakeups::WakeUps,
        pub regimes::Regimes,
        one_copy::OneCopy,
        zero_copy_from::ZeroCopyFrom,
        pub unexpected::Unexpected,
    ];
}

/// What the run says to every question that is asked of it.
pub fn answers(evidence: &Evidence<'_>) -> Vec<answer::Answer> {
    ALL.iter().filter_map(|finding| finding.said(evidence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use std::collections::BTreeSet;

    #[test]
    fn questions_are_distinct_and_every_statement_stands_on_cells_that_exist() {
        let ids: BTreeSet<&str> = ALL.iter().map(|f| f.id()).collect();
        assert_eq!(ids.len(), ALL.len());
        let run = Synthetic::default().run();
        let analysis = Analysis::of(&run);
        assert!(analysis.answers.len() < ALL.len(), "one of them is asked of few runs");
        for answer in &analysis.answers {
            let question = answer.question;
            if answer.verdict == AnswerVerdict::NotMeasured {
                let command = answer.command.as_deref().unwrap_or_default();
                assert!(answer.lacks.is_some() && command.contains("syscost"), "{question}");
                continue;
            }
            assert!(!answer.shown.is_empty(), "{question}");
            for cell in answer.shown.iter().flat_map(|shown| &shown.cells) {
                assert!(cell.exists(&run, &analysis.cells), "{cell:?}");
            }
        }
    }
}
