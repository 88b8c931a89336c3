//! What keeps a case from being faster: the side whose threads have no time left.
//!
//! A side's busy share is its CPU time per message times the messages per second, over its threads.
//! At 95 % or more it is the limit. With neither side busy the case waits (wake-ups, a window, a CPU
//! that several threads share): that is said as it is, not guessed further. Both figures are cells.

use super::cells::Cells;
use super::words::{self, and, count};
use super::{CellRef, Statement};
use crate::run::Run;

/// Busy share from which a side's CPU is called the limit.
pub const SATURATED: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    SenderCpu,
    ReceiverCpu,
    BothCpus,
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
    pub cells: Vec<CellRef>,
}

/// The limiters of all cases whose CPU time and rate are known; twins left out.
pub fn limiters(run: &Run, cells: &Cells) -> Vec<Limiter> {
    let cases = run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
    cases.filter_map(|c| limiter(cells, c.index, c.point.int("threads").unwrap_or(1))).collect()
}

fn limiter(cells: &Cells, case: usize, threads: u64) -> Option<Limiter> {
    let names = ["messages_per_second", "sender_cpu_ns_per_message", "receiver_cpu_ns_per_message"];
    let figure = |metric: &str| cells.cell(case, metric).map(|c| c.estimate.value);
    let rate = figure(names[0])?;
    let busy = |metric: &str| Some(figure(metric)? * rate / 1e9 / threads as f64);
    let (sender_busy, receiver_busy) = (busy(names[1])?, busy(names[2])?);
    let limit = match (sender_busy >= SATURATED, receiver_busy >= SATURATED) {
        (true, true) => Limit::BothCpus,
        (true, false) => Limit::SenderCpu,
        (false, true) => Limit::ReceiverCpu,
        (false, false) => Limit::Waiting,
    };
    let cells = names.into_iter().map(|metric| CellRef { case, metric }).collect();
    Some(Limiter { case, limit, sender_busy, receiver_busy, cells })
}

/// The cases counted by what limits them.
pub fn statement(limiters: &[Limiter]) -> Option<Statement> {
    if limiters.is_empty() {
        return None;
    }
    let says = [
        (Limit::SenderCpu, "limited by the sender's CPU"),
        (Limit::ReceiverCpu, "limited by the receiver's CPU"),
        (Limit::BothCpus, "limited by the CPU of both sides"),
        (
            Limit::Waiting,
            "waiting part of the time on both sides (wake-ups, a window, or threads that share a CPU)",
        ),
    ];
    let parts: Vec<String> = says
        .iter()
        .map(|(limit, says)| (limiters.iter().filter(|l| l.limit == *limit).count(), says))
        .filter(|(n, _)| *n > 0)
        .map(|(n, says)| format!("{n} {} {says}", if n == 1 { "is" } else { "are" }))
        .collect();
    let text = format!(
        "Of {}, {}; a side's CPU is called the limit when its threads run at least {} of the time.",
        count(limiters.len(), "case"),
        and(&parts),
        words::percent(SATURATED)
    );
    Some(Statement { text, cells: limiters.iter().flat_map(|l| l.cells.clone()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::Synthetic;

    #[test]
    fn the_busy_side_is_the_limit() {
        let mut run = Synthetic { twin_every: 0, ..Default::default() }.run();
        // Case 0: the sender's clock shows that it never slept; case 1: the receiver's.
        for sample in &mut run.samples {
            let threads = run.record.plan.cases[sample.case].point.int("threads").unwrap() as f64;
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
}
