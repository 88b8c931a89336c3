//! Which of a user's own operations or commands costs less: each pair that a run compares, at the same settings.
//!
//! They took turns, so that rounds hold ratios. Answers are corrected over all pairs asked here.

use super::{Evidence, Finding};
use crate::answer::Lack;
use crate::compare::Comparison;
use crate::compare::groups::Groups;
use crate::finding::{Answer, AskedPair, Says};
use serde::Serialize;
use syscost_core::axis::{NameAxis, Point};
use syscost_core::decide::Verdict;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_measure::probe::own_command::OWN_COMMAND;
use syscost_measure::probe::own_operation::OWN_OPERATION;

pub struct OwnRivals;

const METRIC: &str = "cost";
/// The axes whose values name the user's own code.
const AXES: [NameAxis; 2] = [OWN_OPERATION, OWN_COMMAND];

/// Are values of this axis compared here?
pub fn is_asked(axis: &str) -> bool {
    AXES.iter().any(|own| own.id == axis)
}

/// Two operations at one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnRatio {
    pub operation: String,
    pub other: String,
    pub place: Point,
    /// The cost of the first over that of the other.
    pub ratio: Estimate,
    pub verdict: Verdict,
    /// Are they commands, whose cost is time?
    #[serde(skip)]
    pub commands: bool,
}

impl Finding for OwnRivals {
    fn id(&self) -> &'static str {
        "own_operations"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        !asked(evidence.run).is_empty()
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let named = |point: &Point| AXES.iter().find_map(|axis| Some(point.text(*axis)?.to_string()));
        let says = |claim: &Comparison, [own, other]: [&Point; 2]| {
            let says = OwnRatio {
                operation: named(own)?,
                other: named(other)?,
                place: AXES.iter().fold(own.clone(), |point, axis| point.without(axis.id)),
                commands: own.text(OWN_COMMAND).is_some(),
                ratio: claim.seen_from(claim.a),
                verdict: claim.decision.verdict,
            };
            Some(Says::OwnOperations(says))
        };
        let mut answer = Answer::of_claims(self.id(), evidence, &asked(evidence.run), says);
        if answer.shown.is_empty() {
            let command = "syscost run --operation ./mine.so";
            return Answer::not_measured(self.id(), Lack::ComparableFigures, command);
        }
        // Differences come first, because they are what was asked for.
        answer.shown.sort_by_key(|one| match &one.says {
            Says::OwnOperations(OwnRatio { verdict: Verdict::Undecided, .. }) => 2,
            Says::OwnOperations(OwnRatio { verdict: Verdict::Same, .. }) => 1,
            _ => 0,
        });
        answer
    }
}

/// Each pair of operations that were measured together.
fn asked(run: &Run) -> Vec<AskedPair> {
    let mut asked = Vec::new();
    for group in AXES.iter().flat_map(|axis| Groups::of(run, axis.id).groups) {
        for (i, a) in group.members.iter().enumerate() {
            asked.extend(group.members[i + 1..].iter().map(|b| (METRIC, *a, *b)));
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Shown;
    use crate::synthetic::single_operations;
    use crate::whole::Analysis;
    use syscost_core::axis::Value;

    /// Three operations of which one costs so many times as much.
    fn told(dearer: f64) -> Vec<OwnRatio> {
        let points = ["base", "dear", "twin"].map(|name| {
            let mut point = Point::default();
            point.set(OWN_OPERATION.id, Value::text(name));
            point
        });
        let cost =
            |point: &Point| 100.0 * if point.text(OWN_OPERATION) == Some("dear") { dearer } else { 1.0 };
        let run = single_operations("own_operation", points.into_iter(), 8, None, 7, cost);
        let answers = Analysis::of(&run).answers;
        let answer =
            answers.into_iter().find(|answer| answer.question == OwnRivals.id()).expect("it is asked");
        let one = |shown: Shown| if let Says::OwnOperations(ratio) = shown.says { Some(ratio) } else { None };
        answer.shown.into_iter().filter_map(one).collect()
    }

    #[test]
    fn a_planted_difference_is_told_and_none_is_not() {
        let verdict = |all: &[OwnRatio], names: [&str; 2]| {
            let both = |one: &&OwnRatio| names.contains(&&*one.operation) && names.contains(&&*one.other);
            let one = all.iter().find(both).expect("each pair is told");
            match (one.verdict, one.operation == names[0]) {
                (Verdict::Less, false) => Verdict::More,
                (Verdict::More, false) => Verdict::Less,
                (verdict, _) => verdict,
            }
        };
        let planted = told(1.1);
        assert_eq!(planted.len(), 3);
        assert_eq!(verdict(&planted, ["dear", "base"]), Verdict::More);
        assert_eq!(verdict(&planted, ["twin", "dear"]), Verdict::Less);
        for all in [planted, told(1.0)] {
            assert!(!matches!(verdict(&all, ["base", "twin"]), Verdict::Less | Verdict::More));
        }
    }
}
