//! Whether zero-copy was zero-copy: from counted copies where there are any, else from completions.
//!
//! The share of completions that the kernel flagged as copied (SO_EE_CODE_ZEROCOPY_COPIED) is a cell
//! of every case that has completions. The flag is the kernel's word, not a count of copies; it can be
//! wrong in either direction, and an audit's count goes before it.
//! Source: Documentation/networking/msg_zerocopy.rst, "Notification".

use super::cells::Cells;
use super::words::{self, Words, count};
use super::{CellRef, Statement, copies};
use crate::axis::Value;
use crate::plan::Case;
use crate::run::Run;
use std::collections::BTreeMap;

const METRIC: &str = "copied_fraction";

/// One statement per mechanism and path that has completions.
pub fn statements(run: &Run, cells: &Cells) -> Vec<Statement> {
    let words = Words::of(run);
    let metric = METRIC;
    let mut groups: BTreeMap<(String, String), Vec<(usize, f64)>> = BTreeMap::new();
    for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        let Some(cell) = cells.cell(case.index, metric) else { continue };
        let text = |axis| case.point.text(axis).unwrap_or("").to_string();
        groups.entry((text("mechanism"), text("path"))).or_default().push((case.index, cell.estimate.value));
    }
    let gathers = |case: usize| {
        let settings = run.record.settings.get(&case);
        settings.and_then(|told| told.get("sender_scatter_gather")).is_none_or(|told| told != "off")
    };
    let tell = |((mechanism, path), found): ((String, String), Vec<(usize, f64)>)| {
        let shares = found.iter().map(|(_, share)| *share);
        let low = shares.clone().fold(f64::INFINITY, f64::min);
        let high = shares.fold(f64::NEG_INFINITY, f64::max);
        let how = if low == high {
            words::percent(low)
        } else {
            format!("{} to {}", words::percent(low), words::percent(high))
        };
        let first = found.first().and_then(|(case, _)| run.case(*case));
        let what =
            first.and_then(|case| counted(run, case, &words)).unwrap_or_else(|| flagged(low, high).into());
        let over = if path.is_empty() {
            String::new()
        } else {
            format!(" over {}", words.value("path", &Value::text(path)))
        };
        let device = if found.iter().all(|(case, _)| gathers(*case)) {
            ""
        } else {
            " The sending device cannot gather scattered memory (scatter-gather is off): the kernel \
             copies every packet together for it, whatever is flagged."
        };
        let text = format!(
            "{mechanism}{over}: {how} of the completions are flagged as copied at {} with completions; {what}.{device}",
            count(found.len(), "point")
        );
        let cells = found.into_iter().map(|(case, _)| CellRef { case, metric }).collect();
        Statement { text, cells }
    };
    groups.into_iter().map(tell).collect()
}

/// What an audit counted, which decides; and what it has against the flag.
fn counted(run: &Run, case: &Case, words: &Words) -> Option<String> {
    let audit = copies::of_case(run, case).filter(|audit| audit.balanced() == Some(true))?;
    let size = audit.point.get("message_bytes").map_or(String::new(), |v| words.value("message_bytes", v));
    let mut text = format!(
        "counted at {size}: {} (per byte of payload {})",
        copies::label(audit)?,
        copies::places(audit)?
    );
    if let Some(against) = copies::contradiction(audit) {
        text += &format!("; the flag is wrong here: {against}");
    }
    Some(text)
}

/// What the flag alone says.
fn flagged(low: f64, high: f64) -> &'static str {
    if high == 0.0 {
        "no completion is flagged copied: the kernel reports that it sent the caller's pages"
    } else if low >= 0.999 {
        "zero-copy was asked for and the kernel copied"
    } else {
        "the kernel copied that share of the messages"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::Synthetic;

    #[test]
    fn zero_copy_is_told_from_completions_only() {
        let mut run = Synthetic::default().run();
        let told = |run: &Run| statements(run, &Cells::of(run));
        let with = |statements: &[Statement], start: &str| {
            statements.iter().find(|s| s.text.starts_with(start)).cloned().expect(start)
        };
        assert!(!told(&run).iter().any(|s| s.text.contains("copied")));
        let copied = |run: &mut Run, share: f64| {
            let of_send: Vec<usize> = run
                .record
                .plan
                .cases
                .iter()
                .filter(|c| c.point.text("mechanism") == Some("send"))
                .map(|c| c.index)
                .collect();
            for s in run.samples.iter_mut().filter(|s| of_send.contains(&s.case)) {
                s.quantities.insert("sender_completions".into(), Some(1000.0));
                s.quantities.insert("sender_completions_copied".into(), Some(1000.0 * share));
            }
        };
        copied(&mut run, 1.0);
        let told_all = with(&told(&run), "send over veth: 100 % of the completions");
        assert!(told_all.text.ends_with("zero-copy was asked for and the kernel copied."));
        assert_eq!(told_all.cells.len(), 10);
        copied(&mut run, 0.0);
        let mut lying = run.clone();
        for case in 0..lying.record.plan.cases.len() {
            let told = lying.record.settings.entry(case).or_default();
            told.insert("sender_scatter_gather".into(), "off".into());
        }
        assert!(with(&told(&lying), "send over veth: 0 %").text.contains("cannot gather"));
        assert!(!with(&told(&run), "send over veth: 0 %").text.contains("gather"));
        assert!(with(&told(&run), "send over veth: 0 %").text.contains("no completion is flagged copied"));
    }
}
