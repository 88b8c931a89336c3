//! Rates that were not reached and senders that were late, in words.

use crate::text::words::{Words, count, percent};
use crate::{CellRef, Statement};
use syscost_analyze::latency::{ACHIEVED, LateSender, Latency, RANKED, RateKept, RateLimit};
use syscost_core::units::Unit;
use syscost_measure::probe::tcp_latency::axes::LOOP;
use syscost_measure::probe::transfer::axes::MECHANISM;

pub fn statements(latency: &Latency, words: &Words) -> Vec<Statement> {
    latency.limits.iter().map(|limit| limited(limit, words)).chain(latency.late.as_ref().map(late)).collect()
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
