//! Whether zero-copy was zero-copy: what the bytes show where an audit counted them, and what the
//! completions say, beside each other.
//!
//! The share of completions that the kernel flagged as copied (SO_EE_CODE_ZEROCOPY_COPIED) is a cell
//! of every case that has completions. The flag is the kernel's word, not a count of copies; where both
//! are known and differ, the sentence says so.
//! Source: Documentation/networking/msg_zerocopy.rst, "Notification".

use crate::cells::Cells;
use crate::copies::data_path;
use crate::words::{self, Words, count};
use crate::{CellRef, Statement};
use std::collections::BTreeMap;
use syscost_core::axis::Value;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::{MECHANISM, PATH};

const METRIC: &str = "copied_fraction";

/// A mechanism and a path: empty where the probe has none.
type MechanismPath = (String, String);
/// Shares of completions flagged as copied, with their cases.
type Flagged = Vec<(usize, f64)>;

/// For each mechanism and path that was asked for zero-copy: one statement per audit, or one from the
/// completions alone where nothing was audited.
pub fn statements(run: &Run, cells: &Cells) -> Vec<Statement> {
    let words = Words::of(run);
    let mut flagged = completions(run, cells);
    // Ways that come to the same are told in one sentence: a study of every pair has dozens.
    let mut alike: Vec<(Gist, Vec<ToldWay>)> = Vec::new();
    for way in data_path::data_paths(run) {
        let Some(together) = way.told() else { continue };
        let mechanism = way.audit.point.text(MECHANISM).unwrap_or_default().to_string();
        let timed = flagged.get(&(mechanism.clone(), way.path.clone())).cloned().unwrap_or_default();
        let audit = CellRef::audit(run, way.audit);
        let told = ToldWay { mechanism, way: way.way, audit, timed };
        let key = (way.path, together, range(&told.timed));
        match alike.iter_mut().find(|(known, _)| *known == key) {
            Some((_, ways)) => ways.push(told),
            None => alike.push((key, vec![told])),
        }
    }
    for ((path, ..), ways) in &alike {
        ways.iter().for_each(|w| drop(flagged.remove(&(w.mechanism.clone(), path.clone()))));
    }
    let mut statements: Vec<Statement> =
        alike.iter().map(|((path, together, _), ways)| audited(run, path, together, ways)).collect();
    let alone = |(place, found): (MechanismPath, Flagged)| from_completions(run, &words, place, found);
    statements.extend(flagged.into_iter().filter_map(alone));
    statements
}

/// What several ways may share: the path, what is told, and the share flagged in timed rounds.
type Gist = (String, String, Option<String>);

/// One audited way, and the completions of its mechanism's timed rounds.
struct ToldWay {
    mechanism: String,
    way: String,
    /// Where the audit is shown.
    audit: Option<CellRef>,
    timed: Flagged,
}

/// Names in one sentence before the rest is counted.
const NAMES: usize = 4;

/// Ways of which their audits say the same.
fn audited(run: &Run, path: &str, together: &str, ways: &[ToldWay]) -> Statement {
    let mut names: Vec<String> = ways.iter().take(NAMES).map(|told| told.way.clone()).collect();
    if ways.len() > NAMES {
        names.push(format!("{} more", ways.len() - NAMES));
    }
    let over = if path.is_empty() { String::new() } else { format!(" over {path}") };
    let text = format!("{}{over}: {together}", words::and(&names));
    let mut timed: Flagged = ways.iter().flat_map(|told| told.timed.iter().copied()).collect();
    timed.sort_by_key(|(case, _)| *case);
    timed.dedup_by_key(|(case, _)| *case);
    let more = range(&timed).map_or(String::new(), |share| {
        format!(", and in timed rounds {share} at {}", count(timed.len(), "point"))
    });
    let cells = ways.iter().filter_map(|told| told.audit.clone()).chain(refs(&timed)).collect();
    Statement { text: format!("{text}{more}.{}", cannot_gather(run, &timed)), cells }
}

/// The completions of the timed rounds.
fn completions(run: &Run, cells: &Cells) -> BTreeMap<MechanismPath, Flagged> {
    let mut groups: BTreeMap<MechanismPath, Flagged> = BTreeMap::new();
    for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        let Some(cell) = cells.cell(case.index, METRIC) else { continue };
        let text = |axis| case.point.text(axis).unwrap_or("").to_string();
        groups.entry((text(MECHANISM), text(PATH))).or_default().push((case.index, cell.estimate.value));
    }
    groups
}

fn refs(found: &[(usize, f64)]) -> Vec<CellRef> {
    found.iter().map(|(case, _)| CellRef { case: *case, metric: METRIC }).collect()
}

fn ends(found: &[(usize, f64)]) -> (f64, f64) {
    let shares = found.iter().map(|(_, share)| *share);
    (shares.clone().fold(f64::INFINITY, f64::min), shares.fold(f64::NEG_INFINITY, f64::max))
}

/// `100 %`, `29 % to 76 %`
fn range(found: &[(usize, f64)]) -> Option<String> {
    let (low, high) = ends(found);
    let several = || format!("{} to {}", words::percent(low), words::percent(high));
    (!found.is_empty()).then(|| if low == high { words::percent(low) } else { several() })
}

/// Why every byte is copied on some devices, where the run recorded such a one.
fn cannot_gather(run: &Run, found: &[(usize, f64)]) -> &'static str {
    let off = |case: &usize| {
        let settings = run.record.settings.get(case);
        settings.and_then(|told| told.get("sender_scatter_gather")).is_some_and(|told| told == "off")
    };
    if found.iter().any(|(case, _)| off(case)) {
        " The sending device cannot gather scattered memory (scatter-gather is off): the kernel copies every packet \
         together for it, whatever is flagged."
    } else {
        ""
    }
}

fn from_completions(
    run: &Run,
    words: &Words,
    (mechanism, path): MechanismPath,
    found: Flagged,
) -> Option<Statement> {
    let how = range(&found)?;
    let (low, high) = ends(&found);
    let what = if high == 0.0 {
        "no completion is flagged copied: the kernel reports that it sent the caller's pages"
    } else if low >= 0.999 {
        "zero-copy was asked for and the kernel copied"
    } else {
        "the kernel copied that share of the messages"
    };
    let over = if path.is_empty() {
        String::new()
    } else {
        format!(" over {}", words.value("path", &Value::text(path)))
    };
    let text = format!(
        "{mechanism}{over}: {how} of the completions are flagged as copied at {} with completions; {what}.{}",
        count(found.len(), "point"),
        cannot_gather(run, &found)
    );
    Some(Statement { text, cells: refs(&found) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, audit};
    use syscost_measure::ledger::Counts;

    #[test]
    fn zero_copy_is_told_from_bytes_and_completions() {
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
                .filter(|c| c.point.text_at("mechanism") == Some("send"))
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
        assert!(with(&told(&run), "send over veth: 0 %").text.contains("no completion is flagged copied"));
        let mut lying = run.clone();
        for case in 0..lying.record.plan.cases.len() {
            lying.record.settings.entry(case).or_default().set("sender_scatter_gather", "off".into());
        }
        assert!(with(&told(&lying), "send over veth: 0 %").text.contains("cannot gather"));
        assert!(!with(&told(&run), "send over veth: 0 %").text.contains("gather"));
        // With an audit of the same way the bytes come first, and the flags beside them.
        let counts = Counts { uncopied_in: 1000, orphan_copied: 1000, copied_out: 1000, ..Counts::default() };
        run.record.audits = vec![audit("send", Some(counts), (40, 0))];
        let both = with(&told(&run), "send over veth: zero-copy asked, copied once by the orphan copy");
        assert!(
            both.text.contains("; 0 % of the completions are flagged as copied, but 100 % of the bytes were")
        );
        assert!(both.text.ends_with("disagree, and in timed rounds 0 % at 10 points."), "{}", both.text);
        assert_eq!(both.cells.len(), 11);
        assert_eq!(told(&run).len(), 1, "said once");
    }
}
