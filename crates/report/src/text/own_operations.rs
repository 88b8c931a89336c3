//! Which of a user's own operations costs less, in words.

use super::OWN_OPERATIONS;
use super::figures::times_within;
use crate::material::Material;
use syscost_analyze::finding::Says;
use syscost_analyze::finding::own_operations::OwnRatio;
use syscost_core::decide::Verdict;

/// Pairs that a terminal names.
const NAMED: usize = 4;

/// What a run says of them first.
pub fn opening(m: &Material) -> Option<String> {
    let answer = m.analysis.answers.iter().find(|answer| answer.question == OWN_OPERATIONS)?;
    let of = answer.shown.iter().filter_map(|shown| match &shown.says {
        Says::OwnOperations(ratio) => Some(sentence(ratio)),
        _ => None,
    });
    Some(of.take(NAMED).collect::<Vec<_>>().join(" "))
}

/// `new costs 1.05x as much as old at sum_count=64.`
pub fn sentence(said: &OwnRatio) -> String {
    let OwnRatio { operation, other, place, ratio, verdict } = said;
    let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
    match verdict {
        Verdict::Same => format!("{operation} and {other} cost the same within 3 %{at}."),
        Verdict::Undecided => format!("Whether {operation} or {other} costs less is undecided{at}."),
        Verdict::Less => format!("{other} costs {} as much as {operation}{at}.", times_within(ratio)),
        Verdict::More => format!("{operation} costs {} as much as {other}{at}.", times_within(ratio)),
    }
}
