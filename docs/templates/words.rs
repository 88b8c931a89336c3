//! Did TCP have to send anything twice?
//!
//! Template of the words of a finding: the question as a reader asks it, the answer in one sentence of less than 25 words,
//! and a sentence for each thing that the analysis shows.

use super::{QuestionText, each, headline_of};
use crate::text::words::count;
use syscost_analyze::finding::Says;
use syscost_analyze::finding::repeats::Retransmitted;
use syscost_core::units::significant;

pub const TEXT: QuestionText = QuestionText {
    id: "repeats",
    question: "Did TCP have to send anything twice?",
    headline: |answer, words| headline_of(answer, words, |says, _| known(says).map(headline)),
    told: |answer, words| each(answer, words, |says, _| known(says).and_then(sentence)),
};

fn known(says: &Says) -> Option<&Retransmitted> {
    if let Says::Repeats(repeats) = says { Some(repeats) } else { None }
}

fn headline(said: &Retransmitted) -> String {
    match said.with_any {
        0 => format!("No segment was retransmitted in {}.", count(said.cases, "case")),
        some => format!("{some} of {} retransmitted.", count(said.cases, "case")),
    }
}

/// What the headline does not say.
fn sentence(said: &Retransmitted) -> Option<String> {
    (said.with_any > 0).then(|| format!("At most {} segments a sample.", significant(said.most)))
}
