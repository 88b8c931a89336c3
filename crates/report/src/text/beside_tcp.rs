//! Words of what a datagram costs beside a TCP message.

use super::BESIDE_TCP;
use super::figures::{interval, times_within};
use super::placement::{change, size, told};
use crate::Statement;
use crate::material::Material;
use crate::text::words::grouped;
use syscost_analyze::finding::beside_tcp::DatagramCost;
use syscost_analyze::finding::placement::COST;
use syscost_analyze::finding::{Answer, Says, Shown};
use syscost_core::decide::Verdict;

/// What a run says of each way; nothing where it measured no TCP message beside datagrams.
pub fn statements(m: &Material) -> Vec<Statement> {
    let answer = m.analysis.answers.iter().find(|answer| answer.question == BESIDE_TCP);
    let shown = answer.iter().flat_map(|answer| &answer.shown);
    let ways = grouped(shown.filter_map(|shown| Some((cost(shown)?.way.as_str(), shown))));
    let statement = |(_, own): (&str, Vec<&Shown>)| {
        let costs: Vec<&DatagramCost> = own.iter().filter_map(|shown| cost(shown)).collect();
        Statement { text: of_way(&costs), cells: own.iter().flat_map(|shown| shown.cells.clone()).collect() }
    };
    ways.into_iter().map(statement).collect()
}

fn cost(shown: &Shown) -> Option<&DatagramCost> {
    match &shown.says {
        Says::BesideTcp(cost) => Some(cost),
        _ => None,
    }
}

/// Of the way that is told first.
pub fn headline(answer: &Answer) -> String {
    let known: Vec<&DatagramCost> = answer.shown.iter().filter_map(cost).collect();
    let first = known.first().map(|cost| &cost.way);
    of_way(&known.iter().copied().filter(|cost| Some(&cost.way) == first).collect::<Vec<_>>())
}

/// `A datagram by udp_send beside a TCP message with TCP_NODELAY: CPU 1.4x less at 64 B and 1472 B. Throughput 1.3x more.`
fn of_way(known: &[&DatagramCost]) -> String {
    let part = |merges: bool| {
        let own = || known.iter().filter(move |cost| cost.merges == merges);
        let way = &own().next()?.way;
        let lead = match merges {
            false => format!("A datagram by {way} beside a TCP message with TCP_NODELAY"),
            true => "Beside one without TCP_NODELAY".into(),
        };
        Some(told(&lead, own().map(|cost| (cost.metric, cost.verdict, &cost.ratio, &cost.place))))
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
