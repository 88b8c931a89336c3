//! `transfer`: what it costs to move a message over TCP, by mechanism, receiver, size and threads.

mod audit;
pub mod block;
pub mod available;
pub mod axes;
pub mod connection;
pub mod far;
pub mod forecast;
pub mod held;
pub mod metrics;
pub mod planted;
mod queues;
pub mod receiver;
pub mod sender;

use super::rights::{COUNT_IN_THE_KERNEL, LARGE_PIPES, LOCK_PAGES, NETWORK_SETTINGS, RINGS, Rights};
use super::row::Drawing;
use super::streaming;
use super::{Channel, Copies, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing};
use crate::mechanism;
use crate::mechanism::{CONNECTIONS, Handover, Packing, Sending, all_connections, connections};
use crate::message::{self, Alignment, FIELDS, MessageShape};
use crate::probe::transfer::axes::{
    CONGESTION_CONTROL, MECHANISM, MESSAGE_BYTES, MTU, NODELAY, OFFLOADS, PATH, PLACEMENT, RECEIVER,
};
use crate::receiver::options::LOW_WATER;
use crate::receiver::{self as receivers, Delivery};
use std::time::Duration;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::sample::Sample;
use syscost_host::namespaces::layer;
use syscost_host::{Unavailable, uring};

pub struct Transfer;

impl Probe for Transfer {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "transfer",
            title: "moving a message over TCP",
            method: "Each round starts a fresh sender and receiver process; after a warm-up, every thread streams \
                     messages for a fixed time and stamps its own window, completions included. Throughput is what \
                     the receiver got; CPU time is read from each data thread's own clock.",
            source: "tcp(7), send(2), Documentation/networking/msg_zerocopy.rst",
            roles: streaming::ROLES,
            far_role: Some(streaming::RECEIVER),
            compared: true,
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = axes::COMMON.to_vec();
        let own = mechanism::known()
            .flat_map(|m| m.about().axes)
            .chain(receivers::known().flat_map(|r| r.about().axes));
        for axis in own {
            if !axes.iter().any(|a| a.id == axis.id) {
                axes.push(*axis);
            }
        }
        axes
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        let mechanism = point.text(MECHANISM).and_then(mechanism::find);
        let receiver = point.text(RECEIVER).and_then(receivers::find);
        if let Some(m) = mechanism {
            // Where a side is elsewhere, that place says.
            if !far::both(point) {
                m.available()?;
            } else if m.about().facts == Sending::UNSEEN {
                return Err(own_is_here(
                    "both ends of this path are",
                    "a path whose sender is here, such as ssh://HOST",
                ));
            }
            m.fits(point)?;
        }
        message::fits(point)?;
        if let Some(r) = receiver {
            if far::host(point).is_none() {
                r.available()?;
            } else if r.about().facts == Delivery::Unseen {
                return Err(own_is_here(
                    "the receiver of this path is",
                    "a path whose ends are here, such as veth",
                ));
            }
            r.fits(point)?;
            if connections(point) > 1 {
                r.one_of_many(point)?;
            }
        }
        if let (Some(m), Some(r)) = (mechanism, receiver) {
            available::together(m, r)?;
        }
        let here = MACHINE_DECIDES.iter().filter(|(axis, _)| axis.id == PATH.id || !far::both(point));
        for (axis, check) in here {
            point.text(*axis).map_or(Ok(()), check)?;
        }
        if !far::both(point) {
            available::options(point, far::host(point).is_none())?;
        }
        far::asked(point)
    }

    fn needs(&self, point: &Point) -> Needs {
        let (of_messages, all) = (messages_bytes(point), all_connections(point));
        if connections(point) == 1 {
            return Needs { memory_bytes: of_messages, ..Needs::default() };
        }
        let set_up_ns = all.saturating_mul(CONNECTING_NS).saturating_add(of_messages / FILLING_BYTES_PER_NS);
        Needs {
            memory_bytes: of_messages.saturating_add(queues::bytes(point, all)),
            set_up: Duration::from_nanos(set_up_ns),
            ..Needs::default()
        }
    }

    fn figures(&self) -> Figures {
        Figures {
            quantities: metrics::QUANTITIES.to_vec(),
            metrics: [metrics::METRICS, metrics::PARTS].concat(),
            decisive: &["throughput", "total_cpu_ns_per_byte"],
        }
    }

    fn rights(&self, _: &str) -> Rights {
        let always = [COUNT_IN_THE_KERNEL, LARGE_PIPES, LOCK_PAGES, NETWORK_SETTINGS];
        Rights(always.into_iter().chain(uring::needs_right().then_some(RINGS)).collect())
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        if block::is_needed(task) {
            return block::play_alone(task, |task| self.play(task, channel));
        }
        block::play(task, channel, block::TCP)
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let mut samples = streaming::merge(reports)?;
        if far::host(point).is_some() {
            held::held(point, reports, &mut samples)?;
        }
        Ok(samples)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        streaming::timing(point, base)
    }

    fn drawings(&self) -> &'static [Drawing] {
        metrics::DRAWINGS
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        if [MTU.id, OFFLOADS.id].contains(&axis) {
            return point.text(PATH).is_some_and(|path| layer::find(path).is_some());
        }
        if axes::COMMON.iter().any(|a| a.id == axis) {
            return true;
        }
        let has = |axes: &[Axis]| axes.iter().any(|a| a.id == axis);
        point.text(MECHANISM).and_then(mechanism::find).is_some_and(|m| has(m.about().axes))
            || point.text(RECEIVER).and_then(receivers::find).is_some_and(|r| has(r.about().axes))
    }

    /// Several connections cannot be waited for in every way, and the pieces of a message need room in it and in a call.
    fn decides(&self, axis: &str, point: &Point) -> bool {
        let of_pieces = point.get(FIELDS.id).is_some();
        of_pieces || axis == CONNECTIONS.id || axis == receivers::options::BUSY_POLL.id
    }

    fn settled(&self, axis: &str, point: &Point) -> Option<(Value, &'static str)> {
        let bytes = MessageShape::of(point).whole_bytes().filter(|_| axis == MESSAGE_BYTES.id)?;
        Some((Value::Int(bytes), axes::SIZE_IS_SAID))
    }

    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        let (_, check) = MACHINE_DECIDES.iter().find(|(key, _)| key.id == axis)?;
        let why = check(value.as_text()?).err()?;
        let instead = available::instead_of(axis).map(Value::text).filter(|instead| instead != value)?;
        Some((instead, why))
    }

    fn wants(&self, axis: &str, point: &Point) -> Option<Value> {
        // An ordinary login may use its kernel's default and this one.
        const INSTEAD: [(NameAxis, &[&str]); 2] =
            [(CONGESTION_CONTROL, &[connection::ALWAYS, connection::KERNELS]), (PLACEMENT, &["none"])];
        if let Some((_, instead)) = INSTEAD.iter().find(|(own, _)| own.id == axis) {
            self.refusal(axis, point)?;
            let mut instead = instead.iter().filter(|value| far::refusal(point, axis, value).is_none());
            return instead.next().map(|value| Value::text(*value));
        }
        point.text(RECEIVER).and_then(receivers::find)?.wants(axis, point)
    }

    fn refusal(&self, axis: &str, point: &Point) -> Option<Unavailable> {
        if ![CONGESTION_CONTROL.id, PLACEMENT.id].contains(&axis) {
            return None;
        }
        far::refusal(point, axis, axes::find(axis).default().pop()?.as_text()?)
    }

    /// A mechanism, a receiver, and the axes that they bring along.
    fn chosen(&self, axis: &str) -> bool {
        [MECHANISM.id, RECEIVER.id].contains(&axis) || !axes::COMMON.iter().any(|a| a.id == axis)
    }

    fn whole(&self, point: &Point) -> bool {
        point.text(RECEIVER).and_then(receivers::find).is_none_or(|receiver| receiver.delivers())
    }

    /// Every rival keeps its connections open beside those of the others.
    fn takes_turns(&self, point: &Point) -> bool {
        // A receiver sleeps while less than its low-water mark has arrived: it would never receive the end of a turn.
        let sleeps_on = point.int_at(LOW_WATER.id).is_some_and(|bytes| bytes > 1);
        !sleeps_on && all_connections(point) <= MOST_CONNECTIONS_OF_A_RIVAL
    }

    /// A message that lies in one piece, copied by the kernel.
    fn is_control(&self, point: &Point) -> bool {
        let facts = point.text(MECHANISM).and_then(mechanism::find).map(|m| m.about().facts);
        facts.is_some_and(|f| (f.packing, f.handover) == (Packing::Beforehand, Handover::Copied))
    }

    fn copies(&self) -> Option<&'static dyn Copies> {
        Some(&audit::TransferCopies)
    }
}

/// The whole point of the plainest transfer: by the control, with the values that are said, and of every other axis what is
/// usual here.
pub(super) fn plainest(said: impl Fn(&str) -> Option<Value>) -> Point {
    let mut whole = Point::default();
    for axis in &Transfer.axes() {
        if !Transfer.applies(axis.id, &whole) {
            continue;
        }
        let control = || (axis.id == MECHANISM.id).then(|| Value::text(mechanism::control().about().id));
        let usual = || {
            let value = Transfer.wants(axis.id, &whole).or_else(|| axis.default().into_iter().next())?;
            Some(Transfer.substitute(axis.id, &value).map_or(value, |(instead, _)| instead))
        };
        if let Some(value) = said(axis.id).or_else(control).or_else(usual) {
            whole.set(axis.id, value);
        }
    }
    whole
}

pub(super) fn own_is_here(who: &str, instead: &str) -> Unavailable {
    Unavailable {
        reason: format!("code of your own is opened on this host, and {who} elsewhere"),
        remedy: format!("name {instead}"),
    }
}

/// Above, rivals are measured one after the other: each thread of each has a socket, a thread and its buffers.
const MOST_CONNECTIONS_OF_A_RIVAL: u64 = 64;

/// What each of many connections takes until it is made, welcomed, and gone again: 0.2 ms of CPU time here.
const CONNECTING_NS: u64 = 200_000;
/// How fast the memory of its messages is filled.
const FILLING_BYTES_PER_NS: u64 = 1;

/// The messages that both sides of all connections keep in memory.
fn messages_bytes(point: &Point) -> u64 {
    let sent = point.text(MECHANISM).and_then(mechanism::find).map_or(1, |m| m.messages_held(point));
    let received = point.text(RECEIVER).and_then(receivers::find).map_or(0, |r| r.messages_held(point));
    let bytes = MessageShape::of(point).room(point.int(MESSAGE_BYTES).unwrap_or(0), Alignment::of(point));
    all_connections(point).saturating_mul(bytes.saturating_mul(sent + received))
}

/// The axes whose values the machine may not allow, and how to find out.
type MachineCheck = fn(&str) -> Result<(), Unavailable>;
const MACHINE_DECIDES: [(NameAxis, MachineCheck); 4] = [
    (PATH, available::path),
    (PLACEMENT, available::placement),
    (CONGESTION_CONTROL, available::congestion_control),
    (NODELAY, available::nodelay),
];
