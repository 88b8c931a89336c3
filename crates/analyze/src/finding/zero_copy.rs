//! What did zero-copy remove, and what did it add? Copies as the audits counted them, and what is done
//! per message besides: completions, system calls, refusals.
//!
//! What a way is held against is the way that copies and gathers by itself. Pins of pages are not
//! counted by anything here, and that is said.
//! Source: Documentation/networking/msg_zerocopy.rst, on completions and on copying.

use super::beside::{self, CopiesBeside};
use super::pairs;
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, CellRef, Lack};
use crate::compare::study::{ALONG, RIVALS};
use crate::copies;
use crate::copies::data_path::{self, DataPath};
use crate::finding::{Answer, Says, Shown};
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_measure::mechanism::Class;

pub struct ZeroCopy;

/// What is done per message.
const PER_MESSAGE: [&str; 4] = [
    "completions_per_message",
    "sender_system_calls_per_message",
    "sender_voluntary_switches_per_message",
    "enobufs_per_message",
];
/// Less than this per message is not worth a word.
const SHOWN: f64 = 0.005;

/// What zero-copy changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroCopyChange {
    Copies(CopiesBeside),
    /// Counts that are larger at every place.
    PerMessage {
        ours: String,
        theirs: String,
        added: Vec<AddedCount>,
    },
}

/// A count per message: the smallest and the largest median over the places that both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AddedCount {
    pub metric: &'static str,
    pub ours: (f64, f64),
    pub theirs: (f64, f64),
}

impl Finding for ZeroCopy {
    fn id(&self) -> &'static str {
        "zero_copy"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let id = self.id();
        let names = mechanisms(evidence);
        let not_measured = || {
            Answer::not_measured(
                id,
                Lack::ZeroCopyBesideCopying,
                "syscost run --mechanism one-copy,zero-copy",
            )
        };
        let Some(control) = pairs::copying(&names) else { return not_measured() };
        let ways = data_path::data_paths(evidence.run);
        let (mut shown, mut uncounted) = (Vec::new(), Vec::new());
        let (mut counted, mut saves) = (0, 0);
        for name in names.iter().copied().filter(|n| Class::ZeroCopy.holds(n)) {
            let of_name = ways.iter().filter(|way| way.mechanism() == name);
            let beside: Vec<(CopiesBeside, Vec<CellRef>)> = of_name
                .filter_map(|way| beside::copies(evidence, &ways, way, |other| other.mechanism() == control))
                .collect();
            if beside.is_empty() {
                uncounted.push(name.to_string());
            }
            counted += beside.len();
            saves += beside.iter().filter(|(copies, _)| copies.removes_any()).count();
            let copies = |(copies, cells)| Shown::of(Says::ZeroCopy(ZeroCopyChange::Copies(copies)), cells);
            shown.extend(beside.into_iter().map(copies));
            shown.extend(per_message(evidence, name, control));
        }
        if shown.is_empty() {
            return not_measured();
        }
        let verdict = if counted == 0 { AnswerVerdict::Undecided } else { AnswerVerdict::at(saves, counted) };
        Answer::found(id, verdict, shown, caveats(&ways, uncounted))
    }
}

/// The mechanisms that were planned.
fn mechanisms<'a>(evidence: &Evidence<'a>) -> BTreeSet<&'a str> {
    evidence.run.record.plan.cases.iter().filter_map(|case| case.point.text(RIVALS)).collect()
}

/// What is done per message beside what the control does: the extremes over the places that both have.
fn per_message(evidence: &Evidence<'_>, name: &str, control: &str) -> Option<Shown> {
    let cases = |of: &str| -> Vec<usize> {
        let cases = evidence.run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
        cases.filter(|c| c.point.text(RIVALS) == Some(of)).map(|c| c.index).collect()
    };
    let (ours, theirs) = (cases(name), cases(control));
    let (mut added, mut cells) = (Vec::new(), Vec::new());
    for metric in PER_MESSAGE {
        let (Some(our), Some(their)) =
            (extremes(evidence, &ours, metric), extremes(evidence, &theirs, metric))
        else {
            continue;
        };
        // Only what is more at every place, by their intervals, is added.
        if our.low_end > their.high_end + SHOWN {
            let range = |of: &Extremes| (of.smallest, of.largest);
            added.push(AddedCount { metric: our.metric, ours: range(&our), theirs: range(&their) });
            cells.extend(ours.iter().chain(&theirs).map(|case| CellRef { case: *case, metric: our.metric }));
        }
    }
    cells.retain(|cell| cell.exists(evidence.run, evidence.cells));
    let says = |added| ZeroCopyChange::PerMessage { ours: name.into(), theirs: control.into(), added };
    (!added.is_empty()).then(|| Shown::of(Says::ZeroCopy(says(added)), cells))
}

/// A count over several places: the smallest and the largest median, and the ends of their intervals.
struct Extremes {
    metric: &'static str,
    smallest: f64,
    largest: f64,
    low_end: f64,
    high_end: f64,
}

fn extremes(evidence: &Evidence<'_>, cases: &[usize], metric: &str) -> Option<Extremes> {
    let found: Vec<_> = cases.iter().filter_map(|case| evidence.cells.cell(*case, metric)).collect();
    let first = found.first()?;
    let fold = |of: fn(&syscost_core::stats::Estimate) -> f64, best: fn(f64, f64) -> f64| {
        found.iter().map(|cell| of(&cell.estimate)).reduce(best)
    };
    Some(Extremes {
        metric: first.metric,
        smallest: fold(|e| e.value, f64::min)?,
        largest: fold(|e| e.value, f64::max)?,
        low_end: fold(|e| e.low, f64::min)?,
        high_end: fold(|e| e.high, f64::max)?,
    })
}

fn caveats(ways: &[DataPath], uncounted: Vec<String>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let asked: Vec<&DataPath> = ways.iter().filter(|way| copies::zero_copy_asked(way.audit)).collect();
    if let Some(way) = asked.iter().find(|way| way.audit.completions > 0) {
        let pages = way.audit.point.int(ALONG).unwrap_or(0).div_ceil(4096).max(1);
        caveats.push(Caveat::PinsNotCounted { pages });
    }
    let orphaned =
        |way: &&&DataPath| way.audit.counts.is_some_and(|c| c.orphan_copied > 0 && c.device_fetched == 0);
    if asked.iter().any(|way| orphaned(&way)) {
        caveats.push(Caveat::OneMachine);
    }
    if !uncounted.is_empty() {
        caveats.push(Caveat::CopiesNotCounted { mechanisms: uncounted });
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_experiment::run::Run;

    /// Two ways; the one that asks has a completion and a quarter of a call more per message.
    fn run() -> Run {
        let mut run = Synthetic { mechanisms: vec!["sendmsg", "msg_zerocopy"], ..Default::default() }.run();
        let cases = run.record.plan.cases.clone();
        for sample in &mut run.samples {
            let asked = cases[sample.case].point.text_at("mechanism") == Some("msg_zerocopy");
            let (calls, completions) = if asked { (1.25, 1.0) } else { (1.0, 0.0) };
            let messages = sample.ops;
            for (id, per) in
                [("system_calls", calls), ("completions", completions), ("voluntary_switches", 0.0)]
            {
                sample.quantities.insert(format!("sender_{id}"), Some(per * messages));
            }
        }
        run
    }

    fn answer(run: &Run) -> Answer {
        ZeroCopy.answered(&Analysis::of(run).evidence(run))
    }

    #[test]
    fn without_audits_only_what_the_cells_say_and_without_zero_copy_nothing() {
        let found = answer(&run());
        assert_eq!((found.shown.len(), found.verdict), (1, AnswerVerdict::Undecided));
        assert_eq!(found.caveats, [Caveat::CopiesNotCounted { mechanisms: vec!["msg_zerocopy".into()] }]);
        assert_eq!(answer(&Synthetic::default().run()).lacks, Some(Lack::ZeroCopyBesideCopying));
    }
}
