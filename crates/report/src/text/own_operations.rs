//! Which of a user's own operations or commands costs less, in words.

use super::OWN_OPERATIONS;
use super::figures::times_within;
use crate::Statement;
use crate::material::Material;
use syscost_analyze::finding::Says;
use syscost_analyze::finding::own_operations::OwnRatio;
use syscost_core::decide::Verdict;

/// Pairs that a terminal and the head of a page name.
const NAMED: usize = 4;

/// What a run says of them first.
pub fn opening(m: &Material) -> Vec<Statement> {
    let answers = m.analysis.answers.iter().filter(|answer| answer.question == OWN_OPERATIONS);
    let of = answers.flat_map(|answer| &answer.shown).filter_map(|shown| match &shown.says {
        Says::OwnOperations(ratio) => Some(Statement { text: sentence(ratio), cells: shown.cells.clone() }),
        _ => None,
    });
    of.take(NAMED).collect()
}

/// `new costs 1.05x as much as old at sum_count=64.`
pub fn sentence(said: &OwnRatio) -> String {
    let OwnRatio { operation, other, place, ratio, verdict, commands } = said;
    let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
    let (costs, cost, as_much) =
        if *commands { ("takes", "take", "the time of") } else { ("costs", "cost", "as much as") };
    match verdict {
        Verdict::Same => {
            let same = if *commands { "the same time" } else { "the same" };
            format!("{operation} and {other} {cost} {same} within 3 %{at}.")
        }
        Verdict::Undecided => format!("Whether {operation} or {other} {costs} less is undecided{at}."),
        Verdict::Less => format!("{other} {costs} {} {as_much} {operation}{at}.", times_within(ratio)),
        Verdict::More => format!("{operation} {costs} {} {as_much} {other}{at}.", times_within(ratio)),
    }
}
