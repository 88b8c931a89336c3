//! Predicted against measured: what is off by more than a factor of two, the farthest first.
//!
//! It reads what [`crate::analysis::accuracy`] makes of predictions that were written down before the
//! first sample; one whose interval crosses the limit decides nothing.

use super::{About, Answer, Evidence, Finding};
use crate::analysis::Statement;
use crate::analysis::accuracy::{self, Fit};
use crate::analysis::operations::Operation;

pub struct Predictions;

impl Finding for Predictions {
    fn about(&self) -> About {
        About {
            id: "predictions",
            question: "Predicted against measured: what is off by more than a factor of two?",
        }
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        let confidence = evidence.run.record.spec.confidence;
        let Some(summary) = accuracy::summary(evidence.operations, confidence) else {
            return Answer::CannotBeAnswered {
                because: why_none(evidence),
                command: "syscost run os".into(),
            };
        };
        let mut groups: Vec<(f64, Vec<Statement>)> = evidence
            .operations
            .chunk_by(|a, b| a.probe == b.probe)
            .map(|group| (farthest(group, confidence), accuracy::findings(group, confidence)))
            .collect();
        groups.sort_by(|a, b| b.0.total_cmp(&a.0));
        let off: Vec<Statement> = groups.into_iter().flat_map(|(_, statements)| statements).collect();
        let statements = std::iter::once(summary).chain(off).collect();
        Answer::Found { statements, caveats: caveats(evidence.operations) }
    }
}

/// How far the worst of a probe's rows lies from its formula, on the log scale.
fn farthest(group: &[Operation], confidence: f64) -> f64 {
    let outside =
        group.iter().filter_map(|o| o.ratio).filter(|r| accuracy::fit(r, confidence) == Fit::Outside);
    outside.map(|ratio| ratio.value.ln().abs()).fold(0.0, f64::max)
}

fn why_none(evidence: &Evidence<'_>) -> String {
    let operations = evidence.operations;
    if operations.is_empty() {
        "nothing in it has a formula that was written down before the measurement".into()
    } else if operations.iter().any(|o| o.predicted().is_some()) {
        "nothing that was predicted has a usable measurement".into()
    } else {
        "every prediction lacks an input".into()
    }
}

fn caveats(operations: &[Operation]) -> Vec<String> {
    let mut needed: Vec<&str> =
        operations.iter().filter(|o| o.predicted().is_none()).flat_map(Operation::needs).collect();
    needed.sort_unstable();
    needed.dedup();
    let mut caveats = vec![
        "a prediction is a number without an interval; the interval of a ratio is that of the measurement."
            .to_string(),
    ];
    if !needed.is_empty() {
        caveats.push(format!("unknown here, so that some rows have no prediction: {}.", needed.join(", ")));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::{Synthetic, clocks};
    use crate::analysis::whole::Analysis;
    use crate::run::Run;

    fn answer(run: &Run) -> Answer {
        let answers = Analysis::of(run).answers;
        answers.into_iter().find(|a| a.about == Predictions.about()).expect("asked").answer
    }

    fn texts(answer: &Answer) -> Vec<&str> {
        match answer {
            Answer::Found { statements, .. } => statements.iter().map(|s| s.text.as_str()).collect(),
            Answer::CannotBeAnswered { because, .. } => vec![because],
        }
    }

    #[test]
    fn what_is_off_by_more_than_two_is_told_after_the_summary() {
        let off = answer(&clocks(8, Some(1.0), 3.0));
        let told = texts(&off);
        assert!(told.len() == 2 && told[0].starts_with("Of ") && told[0].contains("do not"), "{told:?}");
        assert!(told[1].contains("outside a factor of 2"), "{told:?}");
        let fits = answer(&clocks(8, Some(1.0), 1.1));
        assert_eq!(texts(&fits).len(), 1, "{fits:?}");
    }

    #[test]
    fn without_predictions_the_reason_is_said() {
        assert!(texts(&answer(&Synthetic::default().run()))[0].contains("nothing in it has a formula"));
        assert!(texts(&answer(&clocks(8, None, 3.0)))[0].contains("lacks an input"));
    }
}
