//! What limits cases, in words.

use crate::Statement;
use crate::text::words::{and, count, percent};
use syscost_analyze::limits::limiter::{Limit, Limiter, SATURATED};

const LIMITS: [(Limit, &str); 6] = [
    (Limit::SenderCpu, "the sender's CPU"),
    (Limit::ReceiverCpu, "the receiver's CPU"),
    (Limit::BothCpus, "the CPU of both sides"),
    (Limit::Link, "the link"),
    // Asleep, or others had the CPU.
    (Limit::NoSide, "no side's CPU"),
    (Limit::Undecided, "undecided"),
];

/// `The limit is the sender's CPU in 12 of 30 cases, and no side's CPU in 18. ..`
pub fn statement(limiters: &[Limiter]) -> Option<Statement> {
    let of = |limit: Limit| limiters.iter().filter(|limiter| limiter.limit == limit).count();
    let found: Vec<String> = LIMITS
        .iter()
        .filter(|(limit, _)| of(*limit) > 0)
        .map(|(limit, what)| format!("{what} in {}", of(*limit)))
        .collect();
    let text = format!(
        "Of {}, the limit is {}. A side's CPU is the limit where its threads fill at least {} of the CPUs they run on.",
        count(limiters.len(), "case"),
        and(&found),
        percent(SATURATED)
    );
    let cells = limiters.iter().flat_map(|limiter| limiter.cells.clone()).collect();
    (!found.is_empty()).then_some(Statement { text, cells })
}
