//! Words of what a datagram costs beside a TCP message.

use super::BESIDE_TCP;
use super::figures::{interval, times_within};
use super::placement::{change, changes, size};
use crate::Statement;
use crate::material::Material;
use syscost_analyze::finding::beside_tcp::DatagramCost;
use syscost_analyze::finding::placement::{COST, SPEED};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::decide::Verdict;

/// What a run says of it first; `None`: it measured no TCP message beside datagrams.
pub fn statement(m: &Material) -> Option<Statement> {
    let answer = m.analysis.answers.iter().find(|answer| answer.question == BESIDE_TCP)?;
    let cells = answer.shown.iter().flat_map(|shown| shown.cells.clone()).collect();
    Some(Statement { text: headline(answer), cells })
}

/// `A datagram by udp_send beside a TCP message of its size: CPU 1.4x less at 64 B and 1472 B; throughput 1.3x more.`
pub fn headline(answer: &Answer) -> String {
    let known = answer.shown.iter().filter_map(|shown| match &shown.says {
        Says::BesideTcp(cost) => Some(cost),
        _ => None,
    });
    let known: Vec<&DatagramCost> = known.collect();
    let part = |merges: bool| {
        let own = || known.iter().filter(move |cost| cost.merges == merges);
        let first = own().next()?;
        let lead = match merges {
            false => format!("A datagram by {} beside a TCP message with TCP_NODELAY", first.way),
            true => "Beside one without TCP_NODELAY".into(),
        };
        if own().all(|cost| cost.verdict == Verdict::Undecided) {
            return Some(format!("{lead}: undecided."));
        }
        let of = |metric: &str| {
            let of_metric = own().filter(|cost| cost.metric == metric);
            changes(of_metric.map(|cost| (change(cost.verdict, &cost.ratio), size(&cost.place))), metric)
        };
        let told: Vec<String> = [of(COST), of(SPEED)].into_iter().flatten().collect();
        Some(format!("{lead}: {}.", told.join("; ")))
    };
    [false, true].into_iter().filter_map(part).collect::<Vec<_>>().join(" ")
}

/// `CPU of a datagram by udp_send beside a TCP message with TCP_NODELAY at 64 B: 1.4x less (95 % CI 1.3 to 1.5).`
pub fn sentence(cost: &DatagramCost) -> String {
    let what = if cost.metric == COST { "CPU" } else { "Throughput" };
    let nodelay = if cost.merges { "without" } else { "with" };
    format!(
        "{what} of a datagram by {} beside a TCP message {nodelay} TCP_NODELAY at {}: {}{} ({}).",
        cost.way,
        size(&cost.place),
        change(cost.verdict, &cost.ratio),
        match cost.verdict {
            Verdict::Same | Verdict::Undecided => format!(", {}", times_within(&cost.ratio)),
            Verdict::Less | Verdict::More => String::new(),
        },
        interval(&cost.ratio)
    )
}
