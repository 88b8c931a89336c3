//! Sessions of a run after the first: when each began, by which build, and what of the machine was not as in the first.
//! What changed between two of them is a warning, with the cases that have rounds of before and after.

use super::{Run, Tool, Warning};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use syscost_host::{Fact, identity};

const CHANGED: &str = "resumed_after_a_change";
/// More than this is read in the record.
const MOST_NAMED: usize = 8;
/// More than any run has: the record may be a stranger's.
const MOST_SESSIONS: usize = 64;
const MOST_FACTS: usize = 1000;

/// A session that took the run up again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResumedSession {
    /// On the clock of `start_ns`: rows of samples and slices from then on are of this session, or of a later one.
    pub began_ns: u64,
    pub tool: Tool,
    /// Facts that were otherwise than in the record's `host`; the others were the same.
    pub host: Vec<Fact>,
}

impl ResumedSession {
    pub fn of(first: &[Fact], now: Vec<Fact>, began_ns: u64, tool: Tool) -> ResumedSession {
        let same = |fact: &Fact| first.iter().any(|then| then.id == fact.id && then.value == fact.value);
        ResumedSession { began_ns, tool, host: now.into_iter().filter(|fact| !same(fact)).collect() }
    }
}

impl Run {
    /// Says what changed between sessions; in place of what was said of it before.
    pub fn tell_sessions(&mut self) {
        self.record.warnings.retain(|warning| warning.id != CHANGED);
        let (mut tool, mut before) = (&self.record.tool, self.record.host.clone());
        before.truncate(MOST_FACTS);
        let mut told = Vec::new();
        for (number, session) in self.record.resumed.iter().enumerate().take(MOST_SESSIONS) {
            let own = |fact: &Fact| {
                session.host.iter().take(MOST_FACTS).find(|own| own.id == fact.id).unwrap_or(fact).clone()
            };
            let now: Vec<Fact> = self.record.host.iter().take(MOST_FACTS).map(own).collect();
            let mut changes = identity::changes(&before, &now);
            if *tool != session.tool {
                let shown = |t: &Tool| format!("{} ({})", t.version, t.binary_sha256.get(..12).unwrap_or(""));
                changes.insert(0, format!("syscost: {} -> {}", shown(tool), shown(&session.tool)));
            }
            if !changes.is_empty() {
                told.push(self.changed(number + 2, session.began_ns, &changes));
            }
            (tool, before) = (&session.tool, now);
        }
        // Before what it may be the cause of.
        self.record.warnings.splice(0..0, told);
    }

    fn changed(&self, number: usize, began_ns: u64, changes: &[String]) -> Warning {
        let mut named = changes.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join("; ");
        if changes.len() > MOST_NAMED {
            named += &format!("; and {} more (run.json, resumed)", changes.len() - MOST_NAMED);
        }
        let of_slices = |after: bool| {
            let rows = self.slices.iter().filter(move |row| (row.slice.start_ns >= began_ns) == after);
            rows.map(|row| row.case).collect::<BTreeSet<usize>>()
        };
        let cases = |after: bool| &self.samples.cases_of(began_ns, after) | &of_slices(after);
        let both: Vec<usize> = cases(false).intersection(&cases(true)).copied().collect();
        let has = match both.len() {
            0 => "rounds of before and after are compared".to_string(),
            n => format!("{n} of {} cases have rounds of before and after", self.record.plan.cases.len()),
        };
        Warning {
            id: CHANGED.into(),
            observed: format!("the machine was not the same in session {number}: {named}"),
            consequence: format!("{has}: they may differ for that alone"),
            remedy: "put it back as it was and measure again: syscost run --out NEW_DIR".into(),
            cases: both,
        }
    }
}
