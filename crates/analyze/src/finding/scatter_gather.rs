//! Which copy did scatter-gather remove? A way that packs the fields of a message before it sends them
//! beside one that hands them to a single call where they lie: what was counted of both.

use super::beside::{self, CopiesBeside};
use super::pairs::{self, Pair};
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, CellRef, Lack};
use crate::compare::study::{HEADLINES, RIVALS};
use crate::copies::data_path::{self, DataPath};
use crate::finding::{Answer, Says, Shown};
use serde::Serialize;
use syscost_experiment::run::audit::TOLERANCE;
use syscost_measure::mechanism::Class;

pub struct ScatterGather;

const CALLS: &str = "sender_system_calls_per_message";

/// What gathering changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gathering {
    /// Against a way that packs.
    Copies(CopiesBeside),
    /// Against one that packs nothing either: system calls per message.
    Calls { gathering: String, other: String, gathering_calls: f64, other_calls: f64 },
}

impl Finding for ScatterGather {
    fn id(&self) -> &'static str {
        "scatter_gather"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let id = self.id();
        let ways = data_path::data_paths(evidence.run);
        let gathers = |way: &&DataPath| Class::OneCopy.holds(way.mechanism());
        let packed = |way: &DataPath| way.audit.per_byte(way.audit.user_copied) > TOLERANCE;
        let beside: Vec<(CopiesBeside, Vec<CellRef>)> =
            ways.iter().filter(gathers).filter_map(|g| beside::copies(evidence, &ways, g, packed)).collect();
        if beside.is_empty() {
            // Counting copies needs root.
            return Answer::not_measured(
                id,
                Lack::CountedCopies,
                "sudo syscost run --mechanism two-copy,one-copy",
            );
        }
        let removes = beside.iter().filter(|(copies, _)| copies.removes_any()).count();
        let verdict = AnswerVerdict::at(removes, beside.len());
        let copies = |(copies, cells)| Shown::of(Says::ScatterGather(Gathering::Copies(copies)), cells);
        let shown = beside.into_iter().map(copies).chain(calls(evidence)).collect();
        Answer::found(id, verdict, shown, vec![Caveat::CachedMessages])
    }
}

/// Does a mechanism copy in user space before it sends, by its own count?
fn packs(evidence: &Evidence<'_>, name: &str) -> bool {
    let mut audits = evidence.run.record.audits.iter();
    audits.any(|audit| audit.user_copied > 0 && audit.point.text(RIVALS) == Some(name))
}

/// A way that copies no more than a gathering one, but in more calls: what gathering saves there.
fn calls(evidence: &Evidence<'_>) -> Vec<Shown> {
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
fn calls_of(evidence: &Evidence<'_>, pair: &Pair<'_>) -> Option<Shown> {
    let (ours, theirs) = pair.cases(pair.steps().first()?);
    let figure = |case| Some(evidence.cells.cell(case, CALLS)?.estimate.value);
    let (gathering_calls, other_calls) = (figure(ours)?, figure(theirs)?);
    let (gathering, other) = pair.names();
    let says =
        Gathering::Calls { gathering: gathering.into(), other: other.into(), gathering_calls, other_calls };
    let cells = [ours, theirs].map(|case| CellRef { case, metric: CALLS }).to_vec();
    (other_calls > gathering_calls * 1.5).then(|| Shown::of(Says::ScatterGather(says), cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{PLAIN, Synthetic, audit};
    use crate::whole::Analysis;
    use syscost_experiment::run::{Audit, Run};

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
        ScatterGather.answered(&Analysis::of(run).evidence(run))
    }

    #[test]
    fn nothing_is_said_of_copies_that_were_not_counted_on_both_sides() {
        let mut run = run();
        run.record.audits.remove(1);
        assert_eq!(answer(&run).lacks, Some(Lack::CountedCopies), "nothing packs");
        run.record.audits.clear();
        assert_eq!(answer(&run).lacks, Some(Lack::CountedCopies), "nothing was counted");
    }
}
