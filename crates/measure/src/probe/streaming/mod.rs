//! A stream of messages from a sender's process to a receiver's, measured: what every probe of such a
//! stream shares, whatever carries it.
//!
//! The data threads ([`threads`]), the two sides' windows ([`sending`], [`receiving`]) and how they are
//! joined into samples are here, and how one thread serves several connections ([`many`]); how bytes get from
//! one process to the other is the probe's own.

pub mod bursts;
pub mod many;
pub mod null;
pub mod receiving;
pub mod sending;
pub mod threads;

use super::{RoleReport, Timing, Window};
use crate::mechanism::{all_connections, connections, per_call};
use crate::probe::transfer::axes::{MESSAGE_BYTES, THREADS};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_host::allowance;

pub const RECEIVER: &str = "receiver";
pub const SENDER: &str = "sender";
/// The receiver starts first: it offers what the sender connects to.
pub const ROLES: &[&str] = &[RECEIVER, SENDER];

/// A total of both sides: what their data threads copied within user space.
pub const USER_COPIED: &str = "user_copied_bytes";
/// Totals of the sender.
pub const FRAMING: &str = "framing_bytes";
pub const COMPLETIONS: &str = "completions";
pub const COMPLETIONS_COPIED: &str = "completions_copied";
/// A total of both sides: CPU time of their data threads, by the threads' own clocks.
pub const CPU: &str = "cpu_ns";
/// A total of the receiver.
pub const UNCOPIED: &str = "uncopied_bytes";

/// The windows of both sides, receiver first, once they agree on what was moved.
pub fn agreed(reports: &[RoleReport]) -> Result<(&[Window], &[Window]), String> {
    let [received, sent] = reports else {
        return Err(format!("a transfer has two sides, not {}", reports.len()));
    };
    let (got, gave) = (received.totals.get("bytes"), sent.totals.get("bytes"));
    if got != gave || got.is_none() {
        return Err(format!("the sender sent {gave:?} bytes and the receiver got {got:?}"));
    }
    Ok((&received.windows, &sent.windows))
}

/// Windows hold a part of what the whole round moved.
pub fn within_totals(reports: &[RoleReport]) -> Result<(), String> {
    for (role, report) in ROLES.iter().zip(reports) {
        let windows: f64 = report.windows.iter().map(|window| window.bytes).sum();
        let whole = report.totals.get("bytes").copied().unwrap_or(0.0);
        if windows > whole {
            return Err(format!("the {role}'s windows hold {windows} bytes, its whole round {whole}"));
        }
    }
    Ok(())
}

/// Joins both sides' windows.
pub fn merge(reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
    let (received, sent) = agreed(reports)?;
    within_totals(reports)?;
    Ok(received.iter().zip(sent).enumerate().map(sample).collect())
}

/// Goodput is what the receiver got in its window; each side's quantities keep its own window.
pub fn sample((index, (received, sent)): (usize, (&Window, &Window))) -> Sample {
    let mut quantities = BTreeMap::new();
    for (role, window) in [(RECEIVER, received), (SENDER, sent)] {
        for (id, value) in &window.quantities {
            let id = if id == "retransmits" { id.clone() } else { format!("{role}_{id}") };
            quantities.insert(id, *value);
        }
    }
    let mut marks: Vec<String> = received.marks.iter().chain(&sent.marks).cloned().collect();
    marks.dedup();
    // A far receiver's clock is not this machine's.
    let start_ns = received.start_ns.or(sent.start_ns);
    Sample { start_ns, marks, quantities: quantities.into(), histogram: None, ..received.sample(index) }
}

/// What the first turn of a connection takes, about: a call, and bytes that no cache holds.
const FIRST_CALL_NS: u64 = 5_000;
const FIRST_BYTES_PER_NS: u64 = 2;

/// Threads that share a CPU take turns of milliseconds: a window must hold several turns. Many connections
/// take a while until each has had its first.
pub fn timing(point: &Point, base: Timing) -> Timing {
    let cpus = allowance::cpus() as f64;
    let threads = 2.0 * point.int(THREADS).unwrap_or(1) as f64;
    let stretch = (threads / cpus).max(1.0).sqrt();
    let first_ns = match connections(point) {
        1 => 0,
        _ => {
            let bytes = point.int(MESSAGE_BYTES).unwrap_or(0) * per_call(point);
            all_connections(point).saturating_mul(FIRST_CALL_NS + bytes / FIRST_BYTES_PER_NS)
        }
    };
    Timing {
        warmup_ns: base.warmup_ns.saturating_add(first_ns),
        window_ns: (base.window_ns as f64 * stretch) as u64,
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(bytes: f64, windows: usize) -> RoleReport {
        let totals = BTreeMap::from([("bytes".to_string(), bytes)]);
        RoleReport { windows: vec![Window::default(); windows], totals, ..RoleReport::default() }
    }

    #[test]
    fn windows_pair_up_and_lost_bytes_are_no_measurement() {
        let merge = |received, sent| merge(&[received, sent]);
        assert_eq!(merge(report(8.0, 2), report(8.0, 3)).map(|samples| samples.len()), Ok(2));
        assert_eq!(merge(report(8.0, 0), report(8.0, 3)).map(|samples| samples.len()), Ok(0));
        assert!(merge(report(8.0, 2), report(16.0, 2)).unwrap_err().contains("16"));
    }

    #[test]
    fn windows_that_hold_more_than_the_round_moved_are_no_measurement() {
        let windows = |bytes: f64| {
            let mut report = report(1000.0, 2);
            report.windows.iter_mut().for_each(|window| window.bytes = bytes);
            report
        };
        assert_eq!(merge(&[windows(500.0), windows(400.0)]).map(|samples| samples.len()), Ok(2));
        assert!(merge(&[windows(501.0), windows(400.0)]).unwrap_err().contains("receiver"));
        assert!(merge(&[windows(400.0), windows(1e9)]).unwrap_err().contains("sender"));
    }
}
