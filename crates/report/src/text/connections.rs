//! What does it cost when a thread serves more connections?

use super::figures::{at_places, times_within};
use super::{QuestionText, along, each, headline_of};
use syscost_analyze::finding::Says;
use syscost_analyze::finding::along::AlongChanges;

pub const TEXT: QuestionText = QuestionText {
    id: "connections",
    question: "What does it cost when a thread serves more connections?",
    headline: |answer, words| headline_of(answer, words, |says, _| known(says).map(headline)),
    told: |answer, words| each(answer, words, |says, _| known(says).map(along::sentence)),
};

fn known(says: &Says) -> Option<&AlongChanges> {
    if let Says::Along(changes) = says { Some(changes) } else { None }
}

/// `250 connections a thread cost up to 1.8x more CPU per byte than 1 (3 of 4 places).`
fn headline(all: &AlongChanges) -> String {
    let ends = || Some((all.values.first()?, all.values.last()?));
    let (Some(cost), Some((few, many))) = (all.changes.first(), ends()) else { return String::new() };
    match &cost.more {
        Some(more) => format!(
            "{many} connections a thread cost up to {} more CPU per byte than {few}{}.",
            times_within(&more.largest.ratio),
            at_places(more.places, cost.places)
        ),
        None => format!(
            "CPU per byte is not significantly higher with {many} connections a thread than with {few}."
        ),
    }
}
