//! `peak_bandwidth`: the most that one TCP stream carries, as a row among the operations.
//!
//! It is the study of [`transfer`](super::transfer) at one point, not a second way of moving bytes:
//! a plain send(2) of large messages on one connection. It chooses nothing after seeing figures.

use super::network::{self, LOOPBACK};
use super::operation::OS_SUITE;
use super::prediction::{Inputs, PredictedCost};
use super::rights::Rights;
use super::row::Row;
use super::transfer::{Transfer, plainest};
use super::{
    Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing, icmp_round_trip, memory_bandwidth,
};
use crate::probe::metrics;
use crate::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, PLACEMENT};
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::sample::{Metric, Sample};
use syscost_core::units::Unit;
use syscost_host::Unavailable;

pub struct PeakBandwidth;

const ID: &str = "peak_bandwidth";
/// Large enough that the system call is a small part, small enough for the caches.
const SENT_BYTES: u64 = 256 << 10;
/// A working set whose rate is that of the cache that cores share.
const SHARED_CACHE_BYTES: u64 = 4 << 20;
/// The largest segment that goes through the stack at once.
const SEGMENT_BYTES: u64 = 64 << 10;
/// As the study: a fresh connection needs this long to reach its rate.
const WARMUP_NS: u64 = 60_000_000;
const WINDOW_NS: u64 = 12_000_000;

/// The whole point of the transfer that is meant.
fn as_transfer(point: &Point) -> Point {
    plainest(|axis| match axis {
        _ if axis == PATH.id => point.get(axis).cloned(),
        _ => (axis == MESSAGE_BYTES.id).then_some(Value::Int(SENT_BYTES)),
    })
}

impl Probe for PeakBandwidth {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: ID,
            title: "peak TCP bandwidth",
            method: "One stream of 256 KiB messages between two processes, by the transfer study's \
                     control, a plain send(2), and its other defaults. The bandwidth is what the receiver got in its window.",
            source: "tcp(7); CSE 221 system measurement project; the transfer study",
            roles: super::streaming::ROLES,
            far_role: Some(super::streaming::RECEIVER),
            suite: Some(OS_SUITE),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![network::path_axis()]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        Transfer.available(&as_transfer(point))
    }

    fn needs(&self, point: &Point) -> Needs {
        Needs::memory(Transfer.needs(&as_transfer(point)).memory_bytes)
    }

    fn figures(&self) -> Figures {
        let metrics: &[Metric] = metrics! {
            "bandwidth", BitsPerSecond, Higher, "bandwidth",
                "payload bits received per second",
                |s, _| (s.elapsed_ns > 0.0 && s.bytes > 0.0).then(|| s.bytes * 8e9 / s.elapsed_ns);
            "cpu_ns_per_byte", NanosecondsPerByte, Lower, "CPU per byte",
                "CPU time of both sides per payload byte received",
                |s, _| {
                    let cpu = s.get("sender_cpu_ns")? + s.get("receiver_cpu_ns")?;
                    (s.bytes > 0.0).then(|| cpu / s.bytes)
                };
        };
        Figures { metrics: metrics.to_vec(), decisive: &["bandwidth"], ..Transfer.figures() }
    }

    fn rights(&self, role: &str) -> Rights {
        Transfer.rights(role)
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        let point = as_transfer(&task.point);
        let mut facts = std::collections::BTreeMap::new();
        for axis in [MECHANISM.id, MESSAGE_BYTES.id] {
            facts.extend(point.get(axis).map(|value| (axis.to_string(), value.to_string())));
        }
        let mut report = Transfer.play(&Task { point, ..task.clone() }, channel)?;
        report.facts.extend(facts);
        Ok(report)
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        Transfer.merge(&as_transfer(point), reports)
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        Timing { warmup_ns: WARMUP_NS, window_ns: WINDOW_NS, ..base }
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let path = point.text(PATH)?;
        let row = Row::listed(format!("one stream, {path}"));
        Some(if path == LOOPBACK {
            row.as_published(ID, path).told_as("one TCP stream over loopback")
        } else {
            row
        })
    }

    /// The sender copies every byte into the kernel and the receiver out of it; what one core wrote
    /// the other finds in the shared cache. Every segment goes through the stack once, as each of an
    /// echo's two packets does, in the sender's context. On two cores the copies overlap; on one they
    /// take turns.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
        let shared = as_transfer(point).text(PLACEMENT) == Some("same");
        let rate = inputs.row("copy_rate", memory_bandwidth::rate("copy", SHARED_CACHE_BYTES, 1));
        let echo = inputs.row("icmp_echo", icmp_round_trip::echo(point.text(PATH)?));
        let turns = if shared { 2.0 } else { 1.0 };
        let copies = inputs.constant("copies_on_a_core", turns, Unit::Count, "where the two sides run");
        let gso = "the most that a segment holds before it is cut: Documentation/networking/segmentation-offloads.rst";
        let segment = inputs.constant("segment", SEGMENT_BYTES as f64, Unit::Bytes, gso);
        let bits_per_second = |ns: f64| segment * 8e9 / ns;
        let copying = rate.map(|rate| copies * segment * 1e9 / rate);
        let predicted = copying.zip(echo).map(|(copying, echo)| bits_per_second(copying + echo / 2.0));
        let formula = "8 * segment / (copies_on_a_core * segment / copy_rate + icmp_echo / 2)";
        Some(inputs.predicted(formula, copying.map(bits_per_second), None, predicted))
    }
}
