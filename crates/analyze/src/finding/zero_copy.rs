//! What did zero-copy remove, and what did it add? Copies as the audits counted them, and what is done
//! per message besides: completions, system calls, refusals.
//!
//! What a way is held against is the way that copies and gathers by itself. Pins of pages are not
//! counted by anything here, and that is said.
//! Source: Documentation/networking/msg_zerocopy.rst, on completions and on copying.

use super::{Answer, Evidence, Finding, Question};
use super::{beside, pairs};
use crate::compare::study::{ALONG, RIVALS};
use crate::copies;
use crate::copies::data_path::{self, DataPath};
use crate::words::{and, count};
use crate::{CellRef, Statement};
use std::collections::BTreeSet;
use syscost_core::units::significant;
use syscost_measure::mechanism::Class;

pub struct ZeroCopy;

/// Metrics of what is done per message, and what one of them is called.
const PER_MESSAGE: [(&str, (&str, &str)); 4] = [
    ("completions_per_message", ("completion", "completions")),
    ("sender_system_calls_per_message", ("system call of the sender", "system calls of the sender")),
    ("sender_voluntary_switches_per_message", ("sleep of the sender", "sleeps of the sender")),
    (
        "enobufs_per_message",
        ("refusal for want of buffers (ENOBUFS)", "refusals for want of buffers (ENOBUFS)"),
    ),
];
/// Less than this per message is not worth a word.
const SHOWN: f64 = 0.005;

impl Finding for ZeroCopy {
    fn about(&self) -> Question {
        Question { id: "zero_copy", question: "What did zero-copy remove, and what did it add?" }
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        let names = mechanisms(evidence);
        let asked: Vec<&str> = names.iter().copied().filter(|n| Class::ZeroCopy.holds(n)).collect();
        let Some(control) = pairs::copying(&names) else { return unanswerable() };
        let ways = data_path::data_paths(evidence.run);
        let mut statements = Vec::new();
        let mut uncounted = Vec::new();
        for name in asked.iter().copied() {
            let counted: Vec<Statement> = ways
                .iter()
                .filter(|way| way.mechanism() == name)
                .filter_map(|way| beside::copies(evidence, &ways, way, |other| other.mechanism() == control))
                .collect();
            if counted.is_empty() {
                uncounted.push(name.to_string());
            }
            statements.extend(counted);
            statements.extend(per_message(evidence, name, control));
        }
        if statements.is_empty() {
            return unanswerable();
        }
        Answer::Found { statements, caveats: caveats(&ways, uncounted) }
    }
}

fn unanswerable() -> Answer {
    Answer::CannotBeAnswered {
        because: "it does not have a way that asks for zero-copy beside one that copies".into(),
        command: "syscost run --mechanism one-copy,zero-copy".into(),
    }
}

/// The mechanisms that were planned.
fn mechanisms<'a>(evidence: &Evidence<'a>) -> BTreeSet<&'a str> {
    evidence.run.record.plan.cases.iter().filter_map(|case| case.point.text(RIVALS)).collect()
}

/// What is done per message beside what the control does: the extremes over the places that both have.
fn per_message(evidence: &Evidence<'_>, name: &str, control: &str) -> Option<Statement> {
    let cases = |of: &str| -> Vec<usize> {
        let cases = evidence.run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
        cases.filter(|c| c.point.text(RIVALS) == Some(of)).map(|c| c.index).collect()
    };
    let (ours, theirs) = (cases(name), cases(control));
    let mut parts = Vec::new();
    let mut cells = Vec::new();
    for (metric, what) in PER_MESSAGE {
        let (Some(our), Some(their)) =
            (extremes(evidence, &ours, metric), extremes(evidence, &theirs, metric))
        else {
            continue;
        };
        // Only what is more at every place, by their intervals, is added.
        if our.low_end <= their.high_end + SHOWN {
            continue;
        }
        let (one, more) = what;
        let range = our.range();
        let thing = if range == "1" { one } else { more };
        parts.push(format!("{range} {thing} instead of {}", their.range()));
        cells.extend(ours.iter().chain(&theirs).map(|case| CellRef { case: *case, metric: our.metric }));
    }
    cells.retain(|cell| cell.exists(evidence.run, evidence.cells));
    let text = format!("{name} adds to every message, against {control}: {}.", and(&parts));
    (!parts.is_empty()).then_some(Statement { text, cells })
}

/// A count over several places: the smallest and the largest median, and the ends of their intervals.
struct Extremes {
    metric: &'static str,
    smallest: f64,
    largest: f64,
    low_end: f64,
    high_end: f64,
}

impl Extremes {
    /// `1`, `1.24 to 1.35`, `none`
    fn range(&self) -> String {
        let (low, high) = (significant(self.smallest), significant(self.largest));
        match low == high {
            true if self.largest == 0.0 => "none".into(),
            true => low,
            false => format!("{low} to {high}"),
        }
    }
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

fn caveats(ways: &[DataPath], uncounted: Vec<String>) -> Vec<String> {
    let mut caveats = Vec::new();
    let asked: Vec<&DataPath> = ways.iter().filter(|way| copies::zero_copy_asked(way.audit)).collect();
    let completes: Vec<&&DataPath> = asked.iter().filter(|way| way.audit.completions > 0).collect();
    if let Some(way) = completes.first() {
        let pages = way.audit.point.int(ALONG).unwrap_or(0).div_ceil(4096).max(1);
        caveats.push(format!(
            "pins are not counted: while the kernel holds a message it pins every page that it lies on ({} or more \
             for the audited size, with pages of 4 KiB), and what that costs is inside the CPU figures",
            count(pages as usize, "page")
        ));
    }
    let orphaned =
        |way: &&&DataPath| way.audit.counts.is_some_and(|c| c.orphan_copied > 0 && c.device_fetched == 0);
    if asked.iter().any(|way| orphaned(&way)) {
        caveats.push(
            "the orphan copy belongs to a path whose receiver is on the same machine; a device that gathers pages \
             fetches them itself, and `syscost lab` counts that"
                .into(),
        );
    }
    if !uncounted.is_empty() {
        caveats.push(format!("of {} no copies were counted beside the control's", and(&uncounted)));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, audit};
    use crate::whole::Analysis;
    use syscost_experiment::run::Run;
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
        let analysis = Analysis::of(run);
        analysis.answers.iter().find(|a| a.about == ZeroCopy.about()).expect("asked").answer.clone()
    }

    #[test]
    fn what_is_removed_and_added_is_told_from_bytes_and_counts() {
        let mut run = run();
        let lent = Counts { copied_in: 0, uncopied_in: 1000, orphan_copied: 1000, ..PLAIN };
        run.record.audits =
            vec![audit("sendmsg", Some(PLAIN), (0, 0)), audit("msg_zerocopy", Some(lent), (4, 4))];
        let Answer::Found { statements, caveats } = answer(&run) else { panic!("both were counted") };
        assert_eq!(
            statements[0].text,
            "Against sendmsg over veth, with msg_zerocopy over veth: removed is the copy into the kernel (0 per byte \
             instead of 1); added is the orphan copy of lent pages on arrival (1 per byte instead of 0). In all every \
             byte is copied 2 times, as often as with sendmsg, so that on this path no copy is saved."
        );
        assert_eq!(statements[0].cells.len(), 2);
        assert_eq!(
            statements[1].text,
            "msg_zerocopy adds to every message, against sendmsg: 1 completion instead of none and 1.25 \
             system calls of the sender instead of 1."
        );
        assert!(caveats[0].contains("16 pages or more") && caveats[1].contains("syscost lab"), "{caveats:?}");
        // Over a device nothing is copied at all on the way.
        let fetched = Counts { orphan_copied: 0, device_fetched: 1000, ..lent };
        run.record.audits[1] = audit("msg_zerocopy", Some(fetched), (4, 0));
        let Answer::Found { statements, caveats } = answer(&run) else { panic!("both were counted") };
        assert!(
            statements[0]
                .text
                .ends_with("no copy is added. In all every byte is copied 1 times, 2 with sendmsg.")
        );
        assert_eq!(caveats.len(), 1, "{caveats:?}");
    }

    #[test]
    fn without_audits_only_what_the_cells_say_and_without_zero_copy_nothing() {
        let Answer::Found { statements, caveats } = answer(&run()) else { panic!("there are completions") };
        assert_eq!(statements.len(), 1);
        assert!(
            caveats.iter().any(|c| c.starts_with("of msg_zerocopy no copies were counted")),
            "{caveats:?}"
        );
        assert!(matches!(answer(&Synthetic::default().run()), Answer::CannotBeAnswered { .. }));
    }
}
