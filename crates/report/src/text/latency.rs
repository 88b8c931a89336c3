//! Rates that were not reached, senders that were late and rounds that stalled, in words.

use crate::text::words::{Words, count, percent};
use crate::{CellRef, Statement};
use syscost_analyze::latency::{ACHIEVED, LateSender, Latency, RANKED, RateKept, RateLimit, StalledCase};
use syscost_core::units::Unit;
use syscost_measure::probe::tcp_latency::axes::LOOP;
use syscost_measure::probe::transfer::axes::MECHANISM;

pub fn statements(latency: &Latency, words: &Words) -> Vec<Statement> {
    let limits = latency.limits.iter().map(|limit| limited(limit, words));
    limits.chain(latency.late.as_ref().map(late)).collect()
}

/// `1 of 11 rounds stalled for 49 ms`, of the longest; `None`: no round made a tail alone.
pub fn longest(stalls: &[StalledCase]) -> Option<String> {
    let StalledCase { stall, .. } = stalls.iter().max_by_key(|one| one.stall.longest_ns)?;
    let longest = Unit::Nanoseconds.format(stall.longest_ns as f64);
    Some(format!("{} of {} rounds stalled for {longest}", stall.rounds, stall.of))
}

/// `In 12 of 36 cases few rounds make the p99 of all times together: 1 of 11 rounds stalled for 49 ms at worst.`
pub fn stalled(latency: &Latency) -> Option<Statement> {
    let stalls = &latency.stalls;
    let (worst, cases) = (longest(stalls)?, latency.cases.len());
    let text = format!(
        "In {} of {} few rounds make the p99 of all times together. At worst {worst}. The p99 shown is the median of rounds.",
        stalls.len(),
        count(cases, "case")
    );
    let cells = stalls.iter().map(|one| CellRef { case: one.case, metric: one.metric }).collect();
    Some(Statement { text, cells })
}

/// `sendmsg keeps up with 20 k/s, and reaches 30 k/s of 40 k/s at 1 KiB and 1 thread over veth.`
fn limited(limit: &RateLimit, words: &Words) -> Statement {
    let name = words.name(&limit.point, MECHANISM.id, &limit.point.without(MECHANISM.id));
    let rate = |value: f64| Unit::PerSecond.format(value);
    let kept = limit.kept.map_or("no rate tested".into(), |kept| rate(kept as f64));
    let (asked, achieved) = (rate(limit.reached.asked.value), rate(limit.reached.achieved.value));
    let place = words.place(&limit.point, &[MECHANISM.id, LOOP.id]);
    let text = match limit.reached.kept {
        RateKept::Undecided => {
            format!("{name} keeps up with {kept} at {place}. Of {asked} it reaches {achieved}: undecided.")
        }
        _ => format!("{name} keeps up with {kept}, and reaches {achieved} of {asked} at {place}."),
    };
    Statement { text, cells: vec![CellRef { case: limit.case, metric: ACHIEVED }] }
}

fn late(late: &LateSender) -> Statement {
    let text = format!(
        "At {} of {} of the open loop whose sender was timed, p99 is mostly the sender's own delay (up to {}). There it \
         measures the machine.",
        late.cases.len(),
        count(late.of, "point"),
        percent(late.worst),
    );
    Statement {
        text,
        cells: late.cases.iter().map(|case| CellRef { case: *case, metric: RANKED[0] }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::times::Stall;

    #[test]
    fn the_rounds_that_make_a_pooled_tail_are_told_with_the_worst() {
        let stalled_for = |case, longest_ns| StalledCase {
            case,
            metric: RANKED[0],
            value_ns: 60_000.0,
            pooled_ns: 2e6,
            stall: Stall { rounds: 1, of: 11, longest_ns },
        };
        let mut latency = Latency::default();
        assert_eq!(stalled(&latency), None);
        latency.stalls = vec![stalled_for(3, 49_000_000), stalled_for(5, 2_000_000)];
        let told = stalled(&latency).unwrap();
        assert!(told.text.contains("At worst 1 of 11 rounds stalled for 49 ms."), "{}", told.text);
        assert_eq!(told.cells.len(), 2);
    }
}
