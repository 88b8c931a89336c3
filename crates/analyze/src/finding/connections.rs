//! What does it cost when a thread serves more connections? The fewest and the most of the same case are
//! compared like mechanisms are. Asked only of runs that varied them.

use super::along::{Along, SPEED};
use super::pairs::refs;
use super::{Evidence, Finding, SentenceAnswer};
use crate::Statement;
use crate::compare::Comparisons;
use crate::compare::family::Family;
use crate::compare::groups::Groups;
use crate::words::{Words, and, capital, count};
use std::collections::BTreeSet;
use syscost_measure::mechanism::CONNECTIONS;

pub struct Connections;

const ALONG: Along = Along { axis: CONNECTIONS.id, plural: "connections" };
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
        Words::of(evidence.run).varies(CONNECTIONS.id)
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        let groups = Groups::of(evidence.run, CONNECTIONS.id);
        let lines = ALONG.lines(evidence, &groups);
        if lines.is_empty() {
            return SentenceAnswer::CannotBeAnswered {
                because: "nothing in it was measured with two numbers of connections".into(),
                command: "syscost run --connections 1,16,250".into(),
            };
        }
        let mut statements = vec![measured(evidence, &lines)];
        statements.extend(ALONG.changes(evidence, &groups, &METRICS, lines.iter().map(Vec::as_slice)));
        let mut caveats = vec![
            "a thread makes one call on each of its connections in turn, and waits where that one has no room: a \
             server that goes by who is ready first, or has idle connections, pays something else"
                .to_string(),
        ];
        let speed = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED);
        caveats.extend(speed.and_then(|all| ALONG.undecided(&all)));
        SentenceAnswer::Found { statements, caveats }
    }

    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        ALONG.compared(evidence, &METRICS)
    }
}

/// What was measured beside each other.
fn measured(evidence: &Evidence<'_>, lines: &[Vec<usize>]) -> Statement {
    let cases: Vec<usize> = lines.concat();
    let number = |case: &usize| evidence.run.case(*case)?.point.int_at(CONNECTIONS.id);
    let numbers: BTreeSet<u64> = cases.iter().filter_map(number).collect();
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let text = capital(&format!(
        "{} of mechanism, size and threads {} measured with {} connections a thread.",
        count(lines.len(), "combination"),
        if lines.len() == 1 { "was" } else { "were" },
        and(&numbers)
    ));
    Statement { text, cells: refs(SPEED, cases) }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn answer(run: &Run) -> Option<SentenceAnswer> {
        let analysis = Analysis::of(run);
        let evidence = analysis.evidence(run);
        Connections.asked(&evidence).then(|| Connections.answer(&evidence))
    }

    fn told(run: &Run) -> Vec<String> {
        match answer(run) {
            Some(SentenceAnswer::Found { statements, .. }) => {
                statements.into_iter().map(|s| s.text).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_more_connections_cost_is_told_and_nothing_where_they_cost_nothing() {
        let dear =
            told(&planted(|p| if p.text_at("mechanism") == Some("sendmsg") { 3000.0 } else { 1000.0 }));
        assert_eq!(
            dear[0],
            "4 combinations of mechanism, size and threads were measured with 1 and 8 connections a thread."
        );
        let cost = dear.iter().find(|text| text.contains("connections instead of the fewest"));
        let cost = cost.unwrap_or_else(|| panic!("{dear:?}"));
        assert!(cost.contains("CPU per byte: of 4 combinations, more at 4"), "{cost}");
        let free = told(&planted(|_| 1000.0));
        assert!(!free.iter().any(|text| text.contains("instead of the fewest")), "{free:?}");
    }

    #[test]
    fn it_is_not_asked_of_a_run_that_varied_something_else() {
        assert!(answer(&Synthetic::default().run()).is_none());
    }
}
