//! Where do the copies happen, and are there only two? What the audits of the run counted on each
//! step of the way, and how often every byte was copied in all.
//!
//! Only counts that add up are told; see [`syscost_experiment::run::audit`] for what they are.

use super::{About, Answer, Evidence, Finding};
use crate::copies::data_path::{self, DataPath};
use crate::copies::{contradiction, disturbed, dropped, imbalance};
use crate::words::{and, count, percent};
use crate::{CellRef, Statement};
use syscost_core::units::significant;
use syscost_experiment::run::Audit;

pub struct Copies;

/// Said once of all audits.
const SHARED: &[&str] = &["message_bytes", "threads"];
/// What moved less of the payload is not worth a sentence: retransmissions and the like.
const SHOWN: f64 = 0.005;

impl Finding for Copies {
    fn about(&self) -> About {
        About { id: "copies", question: "Where do the copies happen, and are there only two?" }
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        let ways = data_path::data_paths(evidence.run);
        let told: Vec<Told> = ways.iter().filter_map(Told::of).collect();
        if told.is_empty() {
            return uncounted(evidence.run.record.audits.first());
        }
        let mut statements = vec![lead(evidence, &told)];
        let mut groups: Vec<Vec<&Told>> = Vec::new();
        for one in &told {
            match groups.iter_mut().find(|group| group[0].steps() == one.steps()) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
        groups.sort_by(|a, b| b[0].total.total_cmp(&a[0].total));
        statements.extend(groups.iter().map(|group| of_group(evidence, group)));
        Answer::Found { statements, caveats: caveats(evidence, &ways) }
    }
}

fn uncounted(audit: Option<&Audit>) -> Answer {
    let command = "syscost audit".to_string();
    let (because, command) = match audit {
        None => ("nobody counted copies in it".into(), command),
        Some(audit) => match (&audit.uncounted, imbalance(audit)) {
            (Some(why), _) => (
                format!("the kernel's copies were not counted: {}", why.reason),
                format!("{command}; first: {}", why.remedy),
            ),
            (None, Some(what)) => (format!("the counts do not add up: {what}"), command),
            (None, None) => ("nobody counted copies in it".into(), command),
        },
    };
    Answer::CannotBeAnswered { because, command }
}

/// A way of moving data whose copies were counted and add up.
struct Told<'a> {
    path: &'a DataPath<'a>,
    /// Copies by a CPU, on each step that has any.
    parts: Vec<(f64, &'static str)>,
    total: f64,
}

impl<'a> Told<'a> {
    fn of(path: &'a DataPath<'a>) -> Option<Told<'a>> {
        let audit = path.audit;
        let counts = audit.counts.filter(|_| audit.balanced() == Some(true))?;
        let (into, out) = if path.encrypted {
            ("encrypted into the kernel", "decrypted to the receiver")
        } else {
            ("into the kernel", "")
        };
        let all = [
            (audit.user_copied, "in user space"),
            (counts.copied_in, into),
            (counts.orphan_copied, "inside the kernel on arrival (the orphan copy)"),
            (audit.decrypted_inside(), "decrypted inside the kernel"),
            (audit.decrypted_out(), out),
            (counts.copied_out, "out to the receiver"),
        ];
        let parts = all.map(|(bytes, place)| (audit.per_byte(bytes), place));
        let parts: Vec<_> = parts.into_iter().filter(|(copies, _)| *copies > SHOWN).collect();
        let total = parts.iter().map(|(copies, _)| copies).sum();
        Some(Told { path, parts, total })
    }

    /// `once in user space, once into the kernel and once out to the receiver`
    fn steps(&self) -> String {
        let told: Vec<String> =
            self.parts.iter().map(|(n, place)| format!("{} {place}", times(*n))).collect();
        if told.is_empty() { "nowhere".into() } else { and(&told) }
    }
}

/// How often every byte is copied, over all ways.
fn lead(evidence: &Evidence<'_>, told: &[Told]) -> Statement {
    let shared = data_path::shared(evidence.run, SHARED);
    let at = if shared.is_empty() { String::new() } else { format!(" at {shared}") };
    let is =
        |wanted: fn(f64) -> bool| told.iter().filter(|t| wanted(t.total)).map(|t| t.path).collect::<Vec<_>>();
    let (fewer, two, more) = (is(|n| n < 1.98), is(|n| (1.98..=2.02).contains(&n)), is(|n| n > 2.02));
    let verdict = if fewer.is_empty() && more.is_empty() { "Yes" } else { "No" };
    let mut parts = Vec::new();
    for (paths, says) in [(more, "more than twice"), (two, "twice"), (fewer, "fewer than two times")] {
        if !paths.is_empty() {
            parts.push(format!("{says} by {}", names(&paths)));
        }
    }
    let text = format!(
        "{verdict}: of {} whose copies were counted{at}, every byte is copied {}.",
        count(told.len(), "way"),
        parts.join("; ")
    );
    Statement { text, cells: refs(evidence, told.iter().map(|t| t.path)) }
}

fn of_group(evidence: &Evidence<'_>, group: &[&Told]) -> Statement {
    let paths: Vec<&DataPath> = group.iter().map(|told| told.path).collect();
    let exact = group.iter().all(|told| told.path.audit.unexplained() == Some(0.0));
    let sure = if exact { "to the byte" } else { "within a thousandth" };
    let device = group.iter().map(|t| t.path.audit.counts.map_or(0, |c| c.device_fetched)).max().unwrap_or(0);
    let device = if device > 0 {
        " A network device fetched them from memory besides, which takes no CPU time."
    } else {
        ""
    };
    let total = group[0].total;
    let text = format!(
        "{}: {} in all, {}; the counts add up {sure}.{device}",
        names(&paths),
        if total <= SHOWN { "no copy".into() } else { format!("{} of every byte", copies(total)) },
        group[0].steps(),
    );
    Statement { text, cells: refs(evidence, group.iter().map(|t| t.path)) }
}

/// `send and sendmsg over veth`: a path that all share is said once.
fn names(paths: &[&DataPath]) -> String {
    let shared = paths.iter().all(|p| p.path == paths[0].path && !p.path.is_empty());
    let name = |p: &&DataPath| if shared { p.way.clone() } else { p.name() };
    let told = and(&paths.iter().map(name).collect::<Vec<_>>());
    if shared { format!("{told} over {}", paths[0].path) } else { told }
}

fn refs<'a>(evidence: &Evidence<'_>, paths: impl Iterator<Item = &'a DataPath<'a>>) -> Vec<CellRef> {
    paths.filter_map(|path| CellRef::audit(evidence.run, path.audit)).collect()
}

fn caveats(evidence: &Evidence<'_>, ways: &[DataPath]) -> Vec<String> {
    let mut caveats = vec![
        "copies were counted in untimed rounds of one size of each way; a copy in user space is the \
                            mechanism's own count"
            .to_string(),
    ];
    let blind: Vec<String> = ways.iter().filter(|w| w.audit.counts.is_none()).map(DataPath::name).collect();
    if !blind.is_empty() {
        caveats.push(format!("of {} the kernel's copies were not counted", and(&blind)));
    }
    let holes = ways.iter().filter_map(|w| Some(format!("{}: {}", w.name(), imbalance(w.audit)?)));
    caveats.extend(holes.map(|hole| format!("nothing is said of what does not add up ({hole})")));
    let told = ways.iter().flat_map(|w| {
        let minded = [dropped(w.audit), disturbed(w.audit)];
        minded.into_iter().flatten().map(|what| format!("{}: {what}", w.name()))
    });
    caveats.extend(told);
    let lies = ways.iter().filter_map(|w| Some(format!("{}: {}", w.name(), contradiction(w.audit)?)));
    caveats.extend(lies.map(|lie| format!("the flag of completions is not a count ({lie})")));
    let again = ways.iter().filter_map(|w| w.audit.counts.map(|c| w.audit.per_byte(c.retransmitted)));
    let again = again.fold(0.0, f64::max);
    if again > SHOWN {
        caveats.push(format!(
            "up to {} of the bytes were sent again, and copied again where a step is after that",
            percent(again)
        ));
    }
    if evidence.run.record.emulator().is_some() {
        caveats.push("the machine is emulated, which does not change what its kernel copies".into());
    }
    caveats
}

/// `once`, `0.4 times`
fn times(copies: f64) -> String {
    match copies {
        n if (n - 1.0).abs() <= 0.02 => "once".into(),
        n if (n - 2.0).abs() <= 0.02 => "twice".into(),
        n => format!("{} times", significant((n * 100.0).round() / 100.0)),
    }
}

/// `2 copies`
fn copies(total: f64) -> String {
    let whole = total.round();
    match (total - whole).abs() <= 0.02 {
        true if whole == 1.0 => "one copy".into(),
        true => format!("{whole} copies"),
        false => format!("{} copies", significant((total * 100.0).round() / 100.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, audit};
    use crate::whole::Analysis;
    use syscost_experiment::run::Run;
    use syscost_host::Unavailable;
    use syscost_measure::ledger::Counts;

    fn answer(audits: Vec<Audit>) -> Answer {
        let mechanisms = vec!["pack_send", "send", "sendmsg", "msg_zerocopy"];
        let mut run: Run = Synthetic { mechanisms, rounds: 2, ..Default::default() }.run();
        run.record.audits = audits;
        let analysis = Analysis::of(&run);
        analysis.answers.iter().find(|a| a.about == Copies.about()).expect("asked").answer.clone()
    }

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

    #[test]
    fn copies_are_counted_per_byte_and_ways_that_copy_alike_are_told_together() {
        let lent = Counts { copied_in: 0, uncopied_in: 1000, orphan_copied: 1000, ..PLAIN };
        let packed = Audit { user_copied: 1000, ..audit("pack_send", Some(PLAIN), (0, 0)) };
        let audits = vec![
            packed,
            audit("send", Some(PLAIN), (0, 0)),
            audit("sendmsg", Some(PLAIN), (0, 0)),
            audit("msg_zerocopy", Some(lent), (4, 4)),
        ];
        let Answer::Found { statements, caveats } = answer(audits.clone()) else { panic!("counted") };
        let text: Vec<&str> = statements.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(
            text[0],
            "No: of 4 ways whose copies were counted at 64 KiB and 1 thread, every byte is copied more than \
             twice by pack_send over veth; twice by send, sendmsg and msg_zerocopy over veth."
        );
        assert_eq!(
            text[1],
            "pack_send over veth: 3 copies of every byte in all, once in user space, once into the kernel and once \
             out to the receiver; the counts add up to the byte."
        );
        assert!(text[2].starts_with("send and sendmsg over veth: 2 copies of every byte in all, once into"));
        assert!(
            text[3].contains("once inside the kernel on arrival (the orphan copy) and once out"),
            "{}",
            text[3]
        );
        assert_eq!(statements[0].cells.len(), 4);
        assert_eq!(caveats.len(), 1, "{caveats:?}");
        let Answer::Found { statements, .. } = answer(audits[1..3].to_vec()) else { panic!("counted") };
        assert!(statements[0].text.starts_with("Yes: of 2 ways"), "{}", statements[0].text);
    }

    #[test]
    fn what_nobody_counted_or_does_not_add_up_is_not_answered() {
        let Answer::CannotBeAnswered { because, command } = answer(Vec::new()) else { panic!("no audit") };
        assert_eq!((because.as_str(), command.as_str()), ("nobody counted copies in it", "syscost audit"));
        let why = Unavailable { reason: "no rights".into(), remedy: "be root".into() };
        let blind = Audit { uncounted: Some(why), ..audit("send", None, (0, 0)) };
        let Answer::CannotBeAnswered { because, command } = answer(vec![blind]) else { panic!("blind") };
        assert!(because.ends_with("no rights") && command.ends_with("be root"));
        let hole = audit("send", Some(Counts { copied_out: 900, ..PLAIN }), (0, 0));
        let Answer::CannotBeAnswered { because, .. } = answer(vec![hole.clone()]) else { panic!("a hole") };
        assert!(because.contains("do not add up"), "{because}");
        let Answer::Found { caveats, .. } = answer(vec![hole, audit("sendmsg", Some(PLAIN), (0, 0))]) else {
            panic!("one")
        };
        assert!(caveats.iter().any(|c| c.contains("does not add up")), "{caveats:?}");
    }
}
