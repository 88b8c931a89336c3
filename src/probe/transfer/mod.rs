//! `transfer`: what it costs to move a message over TCP, by mechanism, receiver, size and threads.

mod audit;
pub mod available;
pub mod axes;
pub mod connection;
pub mod metrics;
mod receiver;
mod sender;
mod threads;

use super::{About, Copies, Probe, RoleReport, Stage, Task, Timing, Window};
use crate::axis::{Axis, Point, Value};
use crate::host::Unavailable;
use crate::sample::{Metric, Quantity, Sample};
use crate::{mechanism, receiver as receivers};
use std::collections::BTreeMap;

pub struct Transfer;

impl Probe for Transfer {
    fn about(&self) -> About {
        About {
            id: "transfer",
            title: "moving a message over TCP",
            method: "Each round starts a fresh sender and receiver process; after a warm-up, every thread streams \
                     messages for a fixed time and stamps its own window, completions included. Throughput is what \
                     the receiver got; CPU time is read from each data thread's own clock.",
            source: "tcp(7), send(2), Documentation/networking/msg_zerocopy.rst",
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = axes::COMMON.to_vec();
        let own =
            mechanism::ALL.iter().flat_map(|m| m.axes()).chain(receivers::ALL.iter().flat_map(|r| r.axes()));
        for axis in own {
            if !axes.iter().any(|a| a.id == axis.id) {
                axes.push(*axis);
            }
        }
        axes
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        if matches!(axis, "mtu" | "offloads") {
            return point.text("path") == Some("veth");
        }
        if axes::COMMON.iter().any(|a| a.id == axis) {
            return true;
        }
        let has = |axes: &[Axis]| axes.iter().any(|a| a.id == axis);
        point.text("mechanism").and_then(mechanism::find).is_some_and(|m| has(m.axes()))
            || point.text("receiver").and_then(receivers::find).is_some_and(|r| has(r.axes()))
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        let mechanism = point.text("mechanism").and_then(mechanism::find);
        let receiver = point.text("receiver").and_then(receivers::find);
        if let Some(m) = mechanism {
            m.available()?;
            m.fits(point)?;
        }
        if let Some(r) = receiver {
            r.available()?;
        }
        if let (Some(m), Some(r)) = (mechanism, receiver) {
            available::together(m, r)?;
        }
        for (axis, check) in MACHINE_DECIDES {
            point.text(axis).map_or(Ok(()), check)?;
        }
        Ok(())
    }

    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        let (_, check) = MACHINE_DECIDES.iter().find(|(id, _)| *id == axis)?;
        let why = check(value.as_text()?).err()?;
        let instead = available::instead_of(axis)?;
        Some((Value::text(instead), why))
    }

    fn wants(&self, axis: &str, point: &Point) -> Option<Value> {
        point.text("receiver").and_then(receivers::find)?.wants(axis, point)
    }

    fn memory_bytes(&self, point: &Point) -> u64 {
        let sent = point.text("mechanism").and_then(mechanism::find).map_or(1, |m| m.messages_held(point));
        let received = point.text("receiver").and_then(receivers::find).map_or(0, |r| r.messages_held(point));
        let held = sent + received;
        let (bytes, threads) = (point.int("message_bytes").unwrap_or(0), point.int("threads").unwrap_or(1));
        bytes.saturating_mul(threads).saturating_mul(held)
    }

    fn quantities(&self) -> Vec<Quantity> {
        metrics::QUANTITIES.to_vec()
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::METRICS.to_vec()
    }

    fn roles(&self) -> &'static [&'static str] {
        &[RECEIVER, SENDER]
    }

    fn far(&self, role: &str) -> bool {
        role == RECEIVER
    }

    fn compared(&self) -> bool {
        true
    }

    fn copies(&self) -> Option<&'static dyn Copies> {
        Some(&audit::TransferCopies)
    }

    fn play(&self, task: &Task, stage: &mut dyn Stage) -> anyhow::Result<RoleReport> {
        match task.role.as_str() {
            RECEIVER => receiver::play(task, stage),
            SENDER => sender::play(task, stage),
            other => anyhow::bail!("a transfer has no role {other}"),
        }
    }

    fn merge(&self, _point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let [received, sent] = reports else {
            return Err(format!("a transfer has two sides, not {}", reports.len()));
        };
        let (got, gave) = (received.totals.get("bytes"), sent.totals.get("bytes"));
        if got != gave || got.is_none() {
            return Err(format!("the sender sent {gave:?} bytes and the receiver got {got:?}"));
        }
        Ok(received.windows.iter().zip(&sent.windows).enumerate().map(sample).collect())
    }

    fn decisive(&self) -> &'static [&'static str] {
        &["throughput", "total_cpu_ns_per_byte"]
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get()) as f64;
        let threads = 2.0 * point.int("threads").unwrap_or(1) as f64;
        // Threads that share a CPU take turns of milliseconds: a window must hold several turns.
        let stretch = (threads / cpus).max(1.0).sqrt();
        Timing { window_ns: (base.window_ns as f64 * stretch) as u64, ..base }
    }
}

/// The axes whose values the machine may not allow, and how to find out.
type Check = fn(&str) -> Result<(), Unavailable>;
const MACHINE_DECIDES: [(&str, Check); 3] = [
    ("path", available::path),
    ("placement", available::placement),
    ("congestion_control", available::congestion_control),
];

const RECEIVER: &str = "receiver";
const SENDER: &str = "sender";

/// Goodput is what the receiver got in its window; each side's quantities keep its own window.
fn sample((index, (received, sent)): (usize, (&Window, &Window))) -> Sample {
    let mut quantities = BTreeMap::new();
    for (role, window) in [(RECEIVER, received), (SENDER, sent)] {
        for (id, value) in &window.quantities {
            let id = if id == "retransmits" { id.clone() } else { format!("{role}_{id}") };
            quantities.insert(id, *value);
        }
    }
    let mut marks: Vec<String> = received.marks.iter().chain(&sent.marks).cloned().collect();
    marks.dedup();
    Sample {
        index: index as u32,
        elapsed_ns: received.elapsed_ns,
        ops: received.ops,
        bytes: received.bytes,
        verified: true,
        marks,
        quantities,
        ..Sample::default()
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
        let merge = |received, sent| Transfer.merge(&Point::default(), &[received, sent]);
        assert_eq!(merge(report(8.0, 2), report(8.0, 3)).map(|samples| samples.len()), Ok(2));
        assert_eq!(merge(report(8.0, 0), report(8.0, 3)).map(|samples| samples.len()), Ok(0));
        assert!(merge(report(8.0, 2), report(16.0, 2)).unwrap_err().contains("16"));
    }
}
