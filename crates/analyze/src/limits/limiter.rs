//! What keeps a case from being faster: the side whose threads have no time left, or the link.
//!
//! A side's busy share is its CPU time per message times the messages per second, over its threads.
//! At 95 % or more it is the limit. With neither side busy the case waits (wake-ups, a window, a CPU
//! that several threads share): that is said as it is, not guessed further. Both figures are cells.

use crate::CellRef;
use crate::cells::Cells;
use serde::Serialize;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::THREADS;

/// Payload bits received per second.
const THROUGHPUT: &str = "throughput";
/// Busy share from which a side's CPU is called the limit.
pub const SATURATED: f64 = 0.95;
/// Share of a link's rate from which payload has filled it.
pub const LINK_FULL: f64 = 0.90;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    SenderCpu,
    ReceiverCpu,
    BothCpus,
    /// The slower of the two devices carries no more.
    Link,
    /// Neither side's threads run all the time.
    Waiting,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limiter {
    pub case: usize,
    pub limit: Limit,
    /// Share of its window in which a thread of each side ran.
    pub sender_busy: f64,
    pub receiver_busy: f64,
    /// Payload on the link, where the rate of its devices is known.
    pub link: Option<LinkUse>,
    pub cells: Vec<CellRef>,
}

/// How full the link was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkUse {
    /// Payload per second over the link's rate.
    pub share: f64,
    pub bits_per_second: f64,
}

/// The limiters of all cases whose CPU time and rate are known; twins left out.
pub fn limiters(run: &Run, cells: &Cells) -> Vec<Limiter> {
    let cases = run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
    let found = cases.filter_map(|c| {
        let rate = link_rate(run, c.index);
        limiter(cells, c.index, c.point.int(THREADS).unwrap_or(1), rate)
    });
    found.collect()
}

/// The rate of the slower end, as the two devices were brought up; none where either does not say.
fn link_rate(run: &Run, case: usize) -> Option<f64> {
    let settings = run.record.settings.get(&case)?;
    let rate = |end: &str| settings.get(&format!("{end}_bits_per_second"))?.parse::<f64>().ok();
    Some(rate("sender")?.min(rate("receiver")?)).filter(|rate| *rate > 0.0)
}

fn limiter(cells: &Cells, case: usize, threads: u64, link_rate: Option<f64>) -> Option<Limiter> {
    let names = ["messages_per_second", "sender_cpu_ns_per_message", "receiver_cpu_ns_per_message"];
    let figure = |metric: &str| cells.cell(case, metric).map(|c| c.estimate.value);
    let rate = figure(names[0])?;
    let busy = |metric: &str| Some(figure(metric)? * rate / 1e9 / threads as f64);
    let (sender_busy, receiver_busy) = (busy(names[1])?, busy(names[2])?);
    let link =
        link_rate.and_then(|rate| Some(LinkUse { share: figure(THROUGHPUT)? / rate, bits_per_second: rate }));
    let full = link.is_some_and(|link| link.share >= LINK_FULL);
    let limit = match (sender_busy >= SATURATED, receiver_busy >= SATURATED) {
        _ if full => Limit::Link,
        (true, true) => Limit::BothCpus,
        (true, false) => Limit::SenderCpu,
        (false, true) => Limit::ReceiverCpu,
        (false, false) => Limit::Waiting,
    };
    let names = names.into_iter().chain(link.map(|_| THROUGHPUT));
    let cells = names.map(|metric| CellRef { case, metric }).collect();
    Some(Limiter { case, limit, sender_busy, receiver_busy, link, cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn the_busy_side_is_the_limit() {
        let mut run = Synthetic { twin_every: 0, ..Default::default() }.run();
        // Case 0: the sender's clock shows that it never slept; case 1: the receiver's.
        for sample in &mut run.samples {
            let threads = run.record.plan.cases[sample.case].point.int_at("threads").unwrap() as f64;
            for (case, side) in [(0, "sender_cpu_ns"), (1, "receiver_cpu_ns")] {
                if sample.case == case {
                    sample.quantities.insert(side.into(), Some(0.98 * threads * 1e8));
                }
            }
        }
        let found = limiters(&run, &Cells::of(&run));
        assert_eq!(found.len(), 30);
        assert_eq!(found[0].limit, Limit::SenderCpu);
        assert!((found[0].sender_busy - 0.98).abs() < 0.02);
        assert_eq!(found[1].limit, Limit::ReceiverCpu);
        assert!(found[2..].iter().all(|l| l.limit == Limit::Waiting && (l.sender_busy - 0.75).abs() < 0.03));
    }

    #[test]
    fn a_link_whose_rate_is_known_is_the_limit_when_it_is_full() {
        let mut run = Synthetic { twin_every: 0, ..Default::default() }.run();
        let cells = Cells::of(&run);
        let payload = |case: usize| cells.cell(case, THROUGHPUT).expect("a cell").estimate.value;
        let mut told = |case: usize, sender: f64, receiver: &str| {
            let settings = run.record.settings.entry(case).or_default();
            settings.set("sender_bits_per_second", sender.to_string().into());
            settings.set("receiver_bits_per_second", receiver.into());
        };
        told(0, payload(0) / 0.93, "400000000000");
        told(1, payload(1) / 0.5, "400000000000");
        told(2, payload(2) / 0.93, "unknown");
        let found = limiters(&run, &cells);
        let link = found[0].link.expect("both ends say their rate");
        assert!((link.share - 0.93).abs() < 1e-9 && found[0].limit == Limit::Link, "{:?}", found[0]);
        assert_eq!((found[1].limit, found[2].limit), (Limit::Waiting, Limit::Waiting));
        assert_eq!(found[2].link, None, "one end is not enough");
    }
}
