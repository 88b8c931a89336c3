//! What does it cost when a thread serves more connections? The fewest and the most of the same case are
//! compared like mechanisms are. Asked only of runs that varied them.

use super::along::{Along, SPEED};
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, Lack};
use crate::compare::Comparisons;
use crate::compare::groups::Groups;
use crate::finding::{Answer, Says, Shown};
use crate::varied;
use syscost_measure::mechanism::CONNECTIONS;

pub struct Connections;

const ALONG: Along = Along(CONNECTIONS.id);
/// What may change with them: what is paid, and what it is paid for.
const METRICS: [&str; 7] = [
    "total_cpu_ns_per_byte",
    SPEED,
    "sender_cpu_ns_per_message",
    "receiver_cpu_ns_per_message",
    "receiver_system_calls_per_message",
    "data_segments_per_message",
    "llc_misses_per_message",
];

impl Finding for Connections {
    fn id(&self) -> &'static str {
        "connections"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        varied::axes(evidence.run).contains(CONNECTIONS.id)
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let groups = Groups::of(evidence.run, CONNECTIONS.id);
        let lines = ALONG.lines(evidence, &groups);
        let (changes, rows, cells, compared) = ALONG.changes(evidence, &groups, &METRICS, &lines);
        let Some(cost) = changes.changes.first() else {
            let command = "syscost run --connections 1,16,250";
            let lacks = Lack::SeveralConnectionCounts;
            return Answer::not_measured(self.id(), lacks, command).comparing(compared);
        };
        let speed = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED);
        let open = speed.and_then(|all| Along::open(&all));
        let dearer = cost.more.as_ref().map_or(0, |more| more.places);
        let verdict = AnswerVerdict::at(dearer, cost.places).or_open(open.is_some());
        let caveats = std::iter::once(Caveat::ConnectionsInTurn).chain(open).collect();
        let shown = vec![Shown::comparing(Says::Along(changes), rows, cells)];
        Answer::found(self.id(), verdict, shown, caveats).comparing(compared)
    }
}
