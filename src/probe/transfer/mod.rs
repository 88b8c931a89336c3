//! `transfer`: what it costs to move a message over TCP, by mechanism, receiver, size and threads.

pub mod axes;
pub mod metrics;

use super::{About, Probe, RoleReport, Stage, Task};
use crate::axis::{Axis, Point};
use crate::host::Unavailable;
use crate::sample::{Metric, Quantity, Sample};
use crate::{mechanism, receiver};

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
            mechanism::ALL.iter().flat_map(|m| m.axes()).chain(receiver::ALL.iter().flat_map(|r| r.axes()));
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
            || point.text("receiver").and_then(receiver::find).is_some_and(|r| has(r.axes()))
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        if let Some(m) = point.text("mechanism").and_then(mechanism::find) {
            m.available()?;
        }
        if let Some(r) = point.text("receiver").and_then(receiver::find) {
            r.available()?;
        }
        Ok(())
    }

    fn memory_bytes(&self, point: &Point) -> u64 {
        let held = point.text("mechanism").and_then(mechanism::find).map_or(1, |m| m.messages_held(point));
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
        &["receiver", "sender"]
    }

    fn play(&self, _task: &Task, _stage: &mut dyn Stage) -> anyhow::Result<RoleReport> {
        anyhow::bail!("not built yet")
    }

    fn merge(&self, _point: &Point, _reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        Err("not built yet".into())
    }
}
