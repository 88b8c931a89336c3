//! Did TCP have to send anything twice?
//!
//! Template of the words of a finding: the question as a reader asks it, the answer in one sentence of less than 25 words,
//! and a sentence for each thing that the analysis shows.

use super::{QuestionText, statement};
use crate::text::words::count;
use syscost_analyze::finding::Says;
use syscost_core::units::significant;

pub const TEXT: QuestionText = QuestionText {
    id: "repeats",
    question: "Did TCP have to send anything twice?",
    headline: |answer, words| {
        answer.shown.first().map_or(String::new(), |shown| statement(shown, words).text)
    },
    sentence: |says, _| match says {
        Says::Repeats(said) if said.with_any == 0 => {
            Some(format!("No segment was retransmitted in {}.", count(said.cases, "case")))
        }
        Says::Repeats(said) => Some(format!(
            "{} of {} retransmitted, at most {} segments a sample.",
            said.with_any,
            count(said.cases, "case"),
            significant(said.most)
        )),
        _ => None,
    },
};
