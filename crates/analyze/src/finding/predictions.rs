//! Predicted against measured: what is off by more than a factor of two, the farthest first.
//!
//! It reads what [`crate::operations::accuracy`] makes of predictions that were written down before the
//! first sample, and the accounts of transfers, which are sums of what other probes measured
//! ([`crate::model`]); one whose interval crosses the limit decides nothing.

use super::{About, Answer, Evidence, Finding};
use crate::compare::study::RIVALS;
use crate::model::{self, Account};
use crate::operations::Operation;
use crate::operations::accuracy::{self, Fit};
use crate::words::{Words, count};
use crate::{CellRef, Statement};
use syscost_core::stats::Estimate;
use syscost_core::units::{Unit, significant};

/// Transfers that are off are told one by one up to so many.
const TOLD: usize = 8;

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
        let of_accounts = accounts(evidence);
        let summary = accuracy::summary(evidence.operations, confidence);
        if summary.is_none() && of_accounts.is_empty() {
            return Answer::CannotBeAnswered {
                because: why_none(evidence),
                command: "syscost run os".into(),
            };
        }
        let mut groups: Vec<(f64, Vec<Statement>)> = evidence
            .operations
            .chunk_by(|a, b| a.probe == b.probe)
            .map(|group| (farthest(group, confidence), accuracy::findings(group, confidence)))
            .collect();
        groups.sort_by(|a, b| b.0.total_cmp(&a.0));
        let off: Vec<Statement> = groups.into_iter().flat_map(|(_, statements)| statements).collect();
        let statements = summary.into_iter().chain(off).chain(of_accounts).collect();
        Answer::Found { statements, caveats: caveats(evidence.operations) }
    }
}

/// How the accounts of transfers stand to what was measured, and those that are off, the farthest first.
fn accounts(evidence: &Evidence<'_>) -> Vec<Statement> {
    let confidence = evidence.run.record.spec.confidence;
    let mut judged: Vec<(&Account, Estimate)> =
        evidence.model.accounts.iter().filter_map(|a| Some((a, ratio(evidence, a)?))).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let cell = |account: &Account| account.case.map(|case| CellRef { case, metric: model::TOTAL });
    let far = |ratio: &Estimate| ratio.value.ln().abs();
    judged.sort_by(|a, b| far(&b.1).total_cmp(&far(&a.1)));
    let of = |fit: Fit| judged.iter().filter(move |(_, r)| accuracy::fit(r, confidence) == fit);
    let text = format!(
        "Of {} with an account (where the time goes), {} cost within a factor of 2 of its sum and {} do not.",
        count(judged.len(), "case"),
        of(Fit::Holds).count(),
        of(Fit::Outside).count()
    );
    let summary = Statement { text, cells: judged.iter().filter_map(|(a, _)| cell(a)).collect() };
    let words = Words::of(evidence.run);
    let say = |(account, ratio): &(&Account, Estimate)| Statement {
        text: format!(
            "{} at {}: {} predicted, {} times that measured {}.",
            words.name(&account.point, RIVALS.id, &account.point.without(RIVALS.id)),
            words.place(&account.point, &[RIVALS.id]),
            Unit::Nanoseconds.format(account.predicted_ns()),
            significant(ratio.value),
            words.interval(ratio)
        ),
        cells: cell(account).into_iter().collect(),
    };
    std::iter::once(summary).chain(of(Fit::Outside).take(TOLD).map(say)).collect()
}

/// Measured over predicted, with the interval of what was measured.
fn ratio(evidence: &Evidence<'_>, account: &Account) -> Option<Estimate> {
    let measured = evidence.cells.cell(account.case?, model::TOTAL)?.estimate;
    let predicted = account.predicted_ns();
    (predicted > 0.0).then(|| Estimate {
        value: measured.value / predicted,
        low: measured.low / predicted,
        high: measured.high / predicted,
        ..measured
    })
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
    use crate::synthetic::{Synthetic, clocks};
    use crate::whole::Analysis;
    use syscost_experiment::run::Run;

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
    fn transfers_are_held_against_the_sums_of_their_steps() {
        let told = |factor: f64| -> Vec<String> {
            let (run, mut analysis) = crate::model::tests::with_accounts(&[1.0; 8]);
            crate::model::tests::dearer(&mut analysis.model.accounts[3], factor);
            let answer = Predictions.answer(&analysis.evidence(&run));
            texts(&answer).iter().map(ToString::to_string).collect()
        };
        let off = told(2.5);
        assert!(
            off[0].starts_with("Of 8 cases with an account (where the time goes), 7 cost") && off.len() == 2,
            "{off:?}"
        );
        assert!(off[1].contains("predicted, 2.5 times that measured"), "{off:?}");
        assert_eq!(told(1.5).len(), 1);
    }

    #[test]
    fn without_predictions_the_reason_is_said() {
        assert!(texts(&answer(&Synthetic::default().run()))[0].contains("nothing in it has a formula"));
        assert!(texts(&answer(&clocks(8, None, 3.0)))[0].contains("lacks an input"));
    }
}
