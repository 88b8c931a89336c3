//! Which copy did scatter-gather remove?

use super::{QuestionText, copies, statement};
use crate::text::words::Words;
use syscost_analyze::finding::scatter_gather::Gathering;
use syscost_analyze::finding::{Answer, Says};
use syscost_core::units::significant;

pub const TEXT: QuestionText = QuestionText {
    id: "scatter_gather",
    question: "Which copy did scatter-gather remove?",
    headline: |answer: &Answer, words: &Words| {
        answer.shown.first().map_or(String::new(), |shown| statement(shown, words).text)
    },
    sentence: |says, _| match says {
        Says::ScatterGather(gathering) => Some(sentence(gathering)),
        _ => None,
    },
};

fn sentence(gathering: &Gathering) -> String {
    match gathering {
        Gathering::Copies(copies) => copies::sentence(copies),
        Gathering::Calls { gathering, other, gathering_calls, other_calls } => format!(
            "Against {other}, which packs nothing either, {gathering} saves system calls and no copy: {} a message \
             instead of {}.",
            significant(*gathering_calls),
            significant(*other_calls)
        ),
    }
}
