//! What does it cost when a thread serves more connections? The fewest and the most of the same case are
//! compared like mechanisms are. Asked only of runs that varied them.

use super::along::{Along, SPEED};
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, Lack};
use crate::compare::Comparisons;
use crate::compare::family::Family;
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
        let (changes, rows, cells) =
            ALONG.changes(evidence, &groups, &METRICS, lines.iter().map(Vec::as_slice));
        let Some(cost) = changes.changes.first() else {
            let command = "syscost run --connections 1,16,250";
            return Answer::not_measured(self.id(), Lack::SeveralConnectionCounts, command);
        };
        let speed = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED);
        let open = speed.and_then(|all| Along::open(&all));
        let dearer = cost.more.as_ref().map_or(0, |more| more.places);
        let verdict = match AnswerVerdict::at(dearer, cost.places) {
            AnswerVerdict::No if open.is_some() => AnswerVerdict::Undecided,
            verdict => verdict,
        };
        let caveats = std::iter::once(Caveat::ConnectionsInTurn).chain(open).collect();
        Answer::found(self.id(), verdict, vec![Shown::comparing(Says::Along(changes), rows, cells)], caveats)
    }

    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        ALONG.compared(evidence, &METRICS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::along::AlongChanges;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_core::axis::{Point, Value};
    use syscost_experiment::run::Run;

    /// A run of one mechanism with one connection and with eight: what was made as a second mechanism.
    fn planted(cost_ns: fn(&Point) -> f64) -> Run {
        let mut run = Synthetic {
            mechanisms: vec!["send", "sendmsg"],
            sizes: vec![1024, 65536],
            threads: vec![1, 2],
            cost_ns,
            rounds: 12,
            noise: 0.01,
            twin_every: 3,
            ..Default::default()
        }
        .run();
        for case in &mut run.record.plan.cases {
            let count = if case.point.text_at("mechanism") == Some("send") { 1 } else { 8 };
            case.point.set(CONNECTIONS.id, Value::Int(count));
            case.point.set("mechanism", Value::text("send"));
        }
        run
    }

    fn answer(run: &Run) -> Option<Answer> {
        let analysis = Analysis::of(run);
        let evidence = analysis.evidence(run);
        Connections.asked(&evidence).then(|| Connections.answered(&evidence))
    }

    fn changes(answer: &Answer) -> &AlongChanges {
        let Says::Along(changes) = &answer.shown[0].says else { panic!("{answer:?}") };
        changes
    }

    #[test]
    fn what_more_connections_cost_is_told_and_nothing_where_they_cost_nothing() {
        let dear = planted(|p| if p.text_at("mechanism") == Some("sendmsg") { 3000.0 } else { 1000.0 });
        let dear = answer(&dear).unwrap();
        let found = changes(&dear);
        assert_eq!((dear.verdict, &found.values[..]), (AnswerVerdict::Yes, &[1, 8][..]));
        let cost = &found.changes[0];
        assert_eq!((cost.metric, cost.places, &cost.less), ("total_cpu_ns_per_byte", 4, &None));
        let more = cost.more.as_ref().unwrap();
        assert_eq!((more.places, more.largest.from, more.largest.to), (4, 1, 8));
        assert!((2.8..3.2).contains(&more.largest.ratio.value), "{more:?}");
        let free = answer(&planted(|_| 1000.0)).unwrap();
        assert!(changes(&free).changes.iter().all(|c| c.more.is_none() && c.less.is_none()), "{free:?}");
        assert_ne!(free.verdict, AnswerVerdict::Yes);
    }

    #[test]
    fn it_is_not_asked_of_a_run_that_varied_something_else() {
        assert!(answer(&Synthetic::default().run()).is_none());
    }
}
