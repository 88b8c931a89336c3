//! Which copy did scatter-gather remove? A way that packs the fields of a message before it sends them
//! beside one that hands them to a single call where they lie: what was counted of both.

use super::beside;
use super::pairs::{self, Pair};
use super::{Answer, Evidence, Finding, Question};
use crate::compare::study::{HEADLINES, RIVALS};
use crate::copies::data_path::{self, DataPath};
use crate::{CellRef, Statement};
use syscost_core::units::significant;
use syscost_experiment::run::audit::TOLERANCE;
use syscost_measure::mechanism::Class;

pub struct ScatterGather;

const CALLS: &str = "sender_system_calls_per_message";

impl Finding for ScatterGather {
    fn about(&self) -> Question {
        Question { id: "scatter_gather", question: "Which copy did scatter-gather remove?" }
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        let ways = data_path::data_paths(evidence.run);
        let gathers = |way: &&DataPath| Class::OneCopy.holds(way.mechanism());
        let packed = |way: &DataPath| way.audit.per_byte(way.audit.user_copied) > TOLERANCE;
        let mut statements: Vec<Statement> =
            ways.iter().filter(gathers).filter_map(|g| beside::copies(evidence, &ways, g, packed)).collect();
        if statements.is_empty() {
            return Answer::CannotBeAnswered {
                because: "the copies of a way that packs and of one that gathers were not both counted in it"
                    .into(),
                command: "syscost run --mechanism two-copy,one-copy, as root: counting copies needs it"
                    .into(),
            };
        }
        statements.extend(calls(evidence));
        let caveats = vec![
            "what a copy costs depends on where the bytes lie: the messages here were sent over and over, \
                            so that they stay in the caches that hold them"
                .into(),
        ];
        Answer::Found { statements, caveats }
    }
}

/// Does a mechanism copy in user space before it sends, by its own count?
fn packs(evidence: &Evidence<'_>, name: &str) -> bool {
    let mut audits = evidence.run.record.audits.iter();
    audits.any(|audit| audit.user_copied > 0 && audit.point.text(RIVALS) == Some(name))
}

/// A way that copies no more than a gathering one, but in more calls: what gathering saves there.
fn calls(evidence: &Evidence<'_>) -> Vec<Statement> {
    let Some(study) = evidence.study(HEADLINES[0]) else { return Vec::new() };
    let all = pairs::pairs(
        &study.crossovers,
        |ours| Class::OneCopy.holds(ours),
        |theirs| Class::TwoCopy.holds(theirs) && !packs(evidence, theirs),
    );
    let of_two = all.chunk_by(|a, b| a.names() == b.names());
    of_two.filter_map(|of_two| calls_of(evidence, &of_two[0])).collect()
}

/// System calls per message of both at the smallest size, where they differ.
fn calls_of(evidence: &Evidence<'_>, pair: &Pair<'_>) -> Option<Statement> {
    let (ours, theirs) = pair.cases(pair.steps().first()?);
    let figure = |case| Some(evidence.cells.cell(case, CALLS)?.estimate.value);
    let (ours_calls, their_calls) = (figure(ours)?, figure(theirs)?);
    let (our, their) = pair.names();
    let text = format!(
        "Against {their}, which packs nothing either, gathering removes calls and no copy: {our} makes {} per \
         message instead of {}.",
        significant(ours_calls),
        significant(their_calls)
    );
    let cells = [ours, theirs].map(|case| CellRef { case, metric: CALLS }).to_vec();
    (their_calls > ours_calls * 1.5).then_some(Statement { text, cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, audit};
    use crate::whole::Analysis;
    use syscost_experiment::run::{Audit, Run};
    use syscost_measure::ledger::Counts;

    const PLAIN: Counts = Counts {
        copied_in: 1000,
        uncopied_in: 0,
        orphan_copied: 0,
        copied_out: 1000,
        decrypted_out: 0,
        retransmitted: 0,
        device_fetched: 0,
        dropped: 0,
        dropped_segments: 0,
    };

    /// Packing costs 0.1 ns a byte; eight calls cost 3 us.
    fn run() -> Run {
        let cost_ns = |p: &syscost_core::axis::Point| {
            let bytes = p.int_at("message_bytes").unwrap() as f64;
            match p.text_at("mechanism").unwrap() {
                "pack_send" => 1000.0 + 0.3 * bytes,
                "send_fields" => 4000.0 + 0.2 * bytes,
                _ => 1000.0 + 0.2 * bytes,
            }
        };
        let mechanisms = vec!["send_fields", "pack_send", "sendmsg"];
        let mut run = Synthetic { mechanisms, cost_ns, rounds: 12, noise: 0.01, ..Default::default() }.run();
        let cases = run.record.plan.cases.clone();
        for sample in &mut run.samples {
            let eight = cases[sample.case].point.text_at("mechanism") == Some("send_fields");
            let calls = sample.ops * if eight { 8.0 } else { 1.0 };
            sample.quantities.insert("sender_system_calls".into(), Some(calls));
        }
        let packed = Audit { user_copied: 1000, ..audit("pack_send", Some(PLAIN), (0, 0)) };
        run.record.audits =
            vec![audit("send_fields", Some(PLAIN), (0, 0)), packed, audit("sendmsg", Some(PLAIN), (0, 0))];
        run
    }

    fn answer(run: &Run) -> Answer {
        let analysis = Analysis::of(run);
        analysis.answers.iter().find(|a| a.about == ScatterGather.about()).expect("asked").answer.clone()
    }

    #[test]
    fn the_copy_that_is_gone_and_the_calls_are_named() {
        let Answer::Found { statements, .. } = answer(&run()) else { panic!("both were counted") };
        assert_eq!(
            statements[0].text,
            "Against pack_send over veth, with sendmsg over veth: removed is the copy in user space (0 per byte instead \
             of 1); no copy is added. In all every byte is copied 2 times, 3 with pack_send."
        );
        let calls = &statements.last().unwrap().text;
        assert_eq!(
            calls,
            "Against send_fields, which packs nothing either, gathering removes calls and no copy: sendmsg makes 1 per \
             message instead of 8."
        );
        for statement in &statements {
            assert!(statement.cells.len() > 1, "{}", statement.text);
        }
    }

    #[test]
    fn nothing_is_said_of_copies_that_were_not_counted_on_both_sides() {
        let mut run = run();
        run.record.audits.remove(1);
        assert!(matches!(answer(&run), Answer::CannotBeAnswered { .. }), "nothing packs");
        run.record.audits.clear();
        assert!(matches!(answer(&run), Answer::CannotBeAnswered { .. }), "nothing was counted");
    }
}
