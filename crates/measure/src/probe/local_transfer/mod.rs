//! `local_transfer`: what it costs to move a message between two processes without TCP: the rulers beside
//! which a transfer over TCP is held.
//!
//! The same message, threads, windows and metrics as a transfer over TCP; only what carries the bytes differs.
//! One file per way, one visible list in `way.rs`.

mod channel;
mod copy;
mod files;
mod pipe;
mod ring;
mod shared_ring;
mod sides;
mod unix_stream;
mod way;

use super::rights::{COUNT_IN_THE_KERNEL, LARGE_PIPES, Rights};
use super::streaming::{self, RECEIVER};
use super::transfer::{Transfer, available, axes, metrics};
use super::{AxisRules, Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Ruler, Task, Timing};
use crate::mechanism::MESSAGES_PER_CALL;
use crate::probe::transfer::axes::{ALIGNMENT, MESSAGE_BYTES, PLACEMENT, THREADS};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::sample::Sample;
use syscost_host::Unavailable;
use way::Carrier;

pub struct LocalTransfer;

/// Every way, from the longest to the shortest.
// One a line, whatever fits: two changes that add one each then meet without a conflict.
#[rustfmt::skip]
static ALL: &[&dyn Carrier] = &[
    &unix_stream::UnixStreamSocket,
    &pipe::PipeCarrier,
    &shared_ring::SharedRing,
    &copy::Copy,
];

fn find(id: &str) -> Option<&'static dyn Carrier> {
    ALL.iter().copied().find(|way| way.about().id == id)
}

/// A transfer that moves every byte once and does nothing else: no other can cost less.
fn bound() -> &'static dyn Carrier {
    &copy::Copy
}

const WAY: Axis = NameAxis::new("way")
    .names(|| ALL.iter().map(|way| way.about().id).collect())
    .help("what carries the bytes from process to process where TCP does not");

/// The axes of a transfer over TCP that mean something here.
const SHARED: &[&str] = &[MESSAGE_BYTES.id, THREADS.id, ALIGNMENT.id, PLACEMENT.id];
/// Figures that only TCP or zero-copy has.
const NOT_HERE: &[&str] = &[
    "retransmits",
    "data_segments_per_message",
    "acknowledgements_per_message",
    "completions_per_message",
    "copied_fraction",
    "queue_entries_per_message",
    "enobufs_per_message",
];

/// An axis of a transfer over TCP, with fewer default values where they would multiply the cases.
fn shared(id: &str) -> Axis {
    let axis = axes::find(id);
    match id {
        // Few: a ruler needs no more points than it takes to be read.
        _ if id == MESSAGE_BYTES.id => {
            axis.default_on(Ints(&[64, 4096, 65536, 1 << 20])).quick_on(Ints(&[64, 65536]))
        }
        _ if id == THREADS.id => axis.default_on(Ints(&[1])),
        _ => axis,
    }
}

fn found(point: &Point) -> Option<&'static dyn Carrier> {
    find(point.text_at(WAY.id)?)
}

impl Probe for LocalTransfer {
    fn about(&self) -> ProbeAbout {
        let title = |id: &str| find(id).map(|way| way.about().title);
        ProbeAbout {
            id: "local_transfer",
            title: "moving a message between two processes without TCP",
            method: "Each round starts a fresh sender and receiver process, as for a transfer over TCP, with the same \
                     message, windows and clocks. The ends of a ring in shared memory look again and again for about \
                     5 us before they sleep: what they spend waiting is CPU time like any other.",
            source: "unix(7), pipe(7), memfd_create(2), futex(2)",
            roles: streaming::ROLES,
            axis_rules: Some(&LocalTransfer),
            ruler: Some(Ruler { of: &Transfer, axis: WAY.id, bound: bound().about().id, title }),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let shared = SHARED.iter().map(|id| shared(id));
        std::iter::once(WAY).chain(shared).chain([MESSAGES_PER_CALL]).collect()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        found(point).map_or(Ok(()), |way| way.available())?;
        point.text(PLACEMENT).map_or(Ok(()), available::placement)
    }

    fn needs(&self, point: &Point) -> Needs {
        let (bytes, threads) = (point.int(MESSAGE_BYTES).unwrap_or(0), point.int(THREADS).unwrap_or(1));
        let shared = found(point).map_or(0, |way| way.memory_bytes(bytes));
        Needs::memory(bytes.saturating_mul(2).saturating_add(shared).saturating_mul(threads))
    }

    fn figures(&self) -> Figures {
        Figures {
            quantities: metrics::QUANTITIES.to_vec(),
            metrics: metrics::METRICS
                .iter()
                .filter(|metric| !NOT_HERE.contains(&metric.id))
                .copied()
                .collect(),
            decisive: Transfer.figures().decisive,
        }
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![COUNT_IN_THE_KERNEL, LARGE_PIPES])
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        if task.role == RECEIVER { sides::receive(task, channel) } else { sides::send(task, channel) }
    }

    fn merge(&self, _: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        streaming::merge(reports)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        streaming::timing(point, base)
    }
}

impl AxisRules for LocalTransfer {
    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        Transfer.substitute(axis, value)
    }
}
