//! `datagram_transfer`: what it costs to move a datagram over UDP, by the way to send and to receive it, with nothing lost
//! unsaid.
//!
//! Processes, windows, blocks and clocks are those of a transfer over TCP. Beside each pair of sockets there is such a
//! connection: over it the receiver confirms what has come. Every datagram has a number: what is lost, doubled, late or cut
//! is counted, and what is lost is looked for in the kernel's counters.

pub mod elsewhere;
pub mod floor;
mod lent_ways;
mod loss;
pub mod pair;
mod places;
pub mod receiving;
mod ring_ways;
pub mod sending;
mod sequence;
pub mod tcp;
pub mod way;

use super::rights::{COUNT_IN_THE_KERNEL, NETWORK_SETTINGS, Rights};
use super::streaming::{self, RECEIVER as RECEIVES};
use super::transfer::block::{self, BlockCarrier};
use super::transfer::{Transfer, axes, far, held, metrics};
use super::{Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing, metrics, quantities};
use crate::mechanism::{MESSAGES_PER_CALL, SEGMENTS, per_call, segments};
use crate::message::FIELDS;
use crate::probe::transfer::axes::{
    ALIGNMENT, MESSAGE_BYTES, MTU, NODELAY, OFFLOADS, PATH, PLACEMENT, SOCKET_BUFFER_BYTES, THREADS,
};
use crate::receiver::options::BUSY_POLL;
use anyhow::Result;
pub use loss::Loss;
use loss::{
    CHECKSUM_DROPS, DEVICE_DROPS, DUPLICATED, LOST, QUEUE_DROPS, RECEIVE_BUFFER, REORDERED, SENT,
    SOCKET_DROPS, TRUNCATED, WINDOW,
};
use std::collections::BTreeMap;
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point, Value};
use syscost_core::sample::{Metric, Quantity, Sample};
use syscost_host::Unavailable;

pub struct DatagramTransfer;

/// The axes that name a transfer's mechanism and receiver: the ways of datagrams are their values here.
const MECHANISM: NameAxis = axes::MECHANISM;
const RECEIVER: NameAxis = axes::RECEIVER;
pub const RATE: IntAxis = IntAxis::new("datagram_rate");
/// Datagrams beyond the path's MTU.
const FRAGMENTS: NameAxis = NameAxis::new("fragments");
/// SO_REUSEPORT.
const REUSEPORT: NameAxis = NameAxis::new("reuseport");
/// Of a search: how many of a million may be lost.
pub const LOST_PER_MILLION: IntAxis = IntAxis::new("lost_per_million");

/// Headers before the payload: IPv4 and UDP.
const HEADERS: u64 = 28;
/// The largest payload that the length field of IPv4 leaves room for.
const LARGEST: u64 = 65535 - HEADERS;
/// Axes of a transfer over TCP that mean the same here.
const SHARED: &[&str] = &[
    FIELDS.id,
    MESSAGE_BYTES.id,
    THREADS.id,
    PATH.id,
    SOCKET_BUFFER_BYTES.id,
    ALIGNMENT.id,
    PLACEMENT.id,
    MTU.id,
    OFFLOADS.id,
];

/// Datagrams a second; `None`: as many as the receiver confirms.
fn rate(point: &Point) -> Option<u64> {
    point.int(RATE).filter(|rate| *rate > 0)
}

fn own_axes() -> [Axis; 10] {
    [
        MECHANISM
            .names(|| sending::WAYS.iter().map(|way| way.id).chain([tcp::ID]).collect())
            .help(
                "how datagrams are sent: send(2), sendto(2) unconnected, sendmsg(2) of the fields, send(2) of each field with \
                 MSG_MORE, sendmmsg(2), UDP_SEGMENT, sendmmsg(2) of segmented sends, MSG_ZEROCOPY of a datagram and of segments, \
                 linked requests of io_uring, copying and not; udp_stream_floor: what a stream over datagrams cannot do without \
                 (segments, AES-128-GCM, acknowledgements), which is no QUIC; tcp_send: the same message over TCP. The last two \
                 are held beside the others and never advised",
            )
            .default_on(Names(&["udp_send", "udp_sendmmsg", "udp_segment"])),
        RECEIVER
            .names(|| receiving::WAYS.iter().map(|way| way.id).collect())
            .help("how datagrams are received: recv(2), recvmmsg(2), recvmsg(2) with UDP_GRO, a multishot receive of io_uring")
            .default_on(Names(&["udp_recv", "udp_gro"])),
        MESSAGES_PER_CALL.default_on(Ints(&[16])),
        SEGMENTS,
        axes::find(NODELAY.id),
        floor::axis(),
        FRAGMENTS
            .switch()
            .help(
                "on: a datagram may be larger than the path's MTU, and the kernel cuts it into fragments; off: such a datagram \
                 is refused (IP_MTU_DISCOVER)",
            )
            .default_on(Names(&["off"])),
        REUSEPORT
            .switch()
            .help(
                "on: the receivers of all threads share one port (SO_REUSEPORT), each connected to its sender; off: each has a \
                 port of its own",
            )
            .default_on(Names(&["off"])),
        BUSY_POLL,
        RATE.count(0, 100_000_000)
            .flag("datagram-rate", "datagrams a second")
            .words(&[("confirmed", 0)])
            .help(
                "datagrams a second, all threads together, that nobody confirms, so that some may be lost; confirmed (or 0): \
                 as fast as the receiver confirms them, and none is lost",
            )
            .default_on(Ints(&[0])),
    ]
}

/// An axis of a transfer over TCP, with the sizes of datagrams.
fn shared(id: &str) -> Axis {
    let axis = axes::find(id);
    match id {
        _ if id == MESSAGE_BYTES.id => axis.default_on(Ints(&[64, 256, 1472])).quick_on(Ints(&[64, 1472])),
        _ if id == THREADS.id => axis.default_on(Ints(&[1])),
        _ => axis,
    }
}

const CARRIER: BlockCarrier = BlockCarrier {
    start: |task, line| {
        if tcp::is(&task.point) { tcp::start(task, line) } else { sending::start(task, line) }
    },
    source: |task, lines| match lines {
        [line] if tcp::is(&task.point) => tcp::source(task, line),
        [line] => Ok(Box::new(receiving::start(task, line)?)),
        _ => anyhow::bail!("a thread has one pair of sockets"),
    },
    segments: |_| Ok(None),
    facts: |_, _| BTreeMap::new(),
};

impl Probe for DatagramTransfer {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "datagram_transfer",
            title: "moving a datagram over UDP",
            method: "As for a transfer over TCP, between two UDP sockets. The receiver confirms over a TCP connection beside \
                     them, once in a quarter of what may be on its way, so that nothing is lost; what that costs is part of \
                     both sides' CPU time. Every datagram has a number that the receiver checks.",
            source: "udp(7), sendmmsg(2), recvmmsg(2)",
            roles: streaming::ROLES,
            far_role: Some(RECEIVES),
            compared: true,
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let [mechanism, receiver, rest @ ..] = own_axes();
        [mechanism, receiver].into_iter().chain(SHARED.iter().map(|id| shared(id))).chain(rest).collect()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        if tcp::is(point) {
            tcp::fits(point)?;
        } else if floor::is(point) {
            floor::fits(point)?;
        }
        fits_the_path(point)?;
        elsewhere::asked(point)
    }

    fn needs(&self, point: &Point) -> Needs {
        let bytes = point.int(MESSAGE_BYTES).unwrap_or(0).saturating_mul(per_call(point) + 64);
        Needs::memory(bytes.saturating_add(8 << 20).saturating_mul(point.int(THREADS).unwrap_or(1)))
    }

    fn figures(&self) -> Figures {
        // Every way to receive copies.
        let not_here = |id: &str| metrics::OF_TCP.contains(&id) || id == "uncopied_fraction";
        let own = metrics::METRICS.iter().filter(|metric| !not_here(metric.id)).copied();
        Figures {
            quantities: [metrics::QUANTITIES, QUANTITIES].concat(),
            metrics: own.chain(METRICS.iter().copied()).collect(),
            decisive: Transfer.figures().decisive,
        }
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![COUNT_IN_THE_KERNEL, NETWORK_SETTINGS])
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        block::play(task, channel, CARRIER)
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let [received, sent] = reports else {
            return Err(format!("a transfer has two sides, not {}", reports.len()));
        };
        if tcp::is(point) {
            return Transfer.merge(point, reports);
        }
        let loss = Loss::of(point, received, sent)?;
        if rate(point).is_none() {
            loss.none()?;
        }
        streaming::within_totals(reports)?;
        let pairs = received.windows.iter().zip(&sent.windows).enumerate();
        let sample = |pair| {
            let mut sample = streaming::sample(pair);
            sample.quantities.extend(loss.quantities());
            sample
        };
        let mut samples: Vec<Sample> = pairs.map(sample).collect();
        if far::host(point).is_some() {
            held::held(point, reports, &mut samples)?;
        }
        Ok(samples)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        streaming::timing(point, base)
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        match axis {
            _ if axis == MESSAGES_PER_CALL.id => way_of(point).is_some_and(way::SendWay::several),
            _ if axis == SEGMENTS.id => way_of(point).is_some_and(way::SendWay::segments),
            _ if axis == RECEIVER.id => !tcp::is(point) && !floor::is(point),
            _ if axis == floor::ACKNOWLEDGE_EVERY.id => floor::is(point),
            _ if axis == NODELAY.id => tcp::is(point),
            _ if axis == FRAGMENTS.id => {
                way_of(point).is_some_and(|way| !way.segments()) && !floor::is(point)
            }
            _ if axis == REUSEPORT.id => !tcp::is(point),
            _ if axis == BUSY_POLL.id => !tcp::is(point) && !floor::is(point),
            _ if [MTU.id, OFFLOADS.id].contains(&axis) => Transfer.applies(axis, point),
            _ => true,
        }
    }

    fn decides(&self, axis: &str, point: &Point) -> bool {
        [MESSAGE_BYTES.id, MTU.id, SEGMENTS.id, RATE.id, FRAGMENTS.id].contains(&axis)
            || Transfer.decides(axis, point)
    }

    fn settled(&self, axis: &str, point: &Point) -> Option<(Value, &'static str)> {
        Transfer.settled(axis, point)
    }

    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        Transfer.substitute(axis, value)
    }

    fn chosen(&self, axis: &str) -> bool {
        let names = [MECHANISM, RECEIVER, NODELAY, FRAGMENTS, REUSEPORT];
        names.iter().any(|own| own.id == axis)
            || [MESSAGES_PER_CALL.id, SEGMENTS.id, floor::ACKNOWLEDGE_EVERY.id, BUSY_POLL.id].contains(&axis)
    }

    /// At a rate of its own each may lose what it likes.
    fn whole(&self, point: &Point) -> bool {
        rate(point).is_none()
    }

    fn advised(&self, point: &Point) -> bool {
        !tcp::is(point) && !floor::is(point)
    }

    fn takes_turns(&self, point: &Point) -> bool {
        rate(point).is_none()
    }

    fn is_control(&self, point: &Point) -> bool {
        let first = (sending::WAYS[0].id, receiving::WAYS[0].id);
        point.text(MECHANISM).zip(point.text(RECEIVER)) == Some(first)
    }
}

fn way_of(point: &Point) -> Option<&'static way::SendWay> {
    point.text(MECHANISM).and_then(sending::find)
}

/// Does a datagram fit the path in one piece, and the pieces of a send one packet?
pub fn fits_the_path(point: &Point) -> Result<(), Unavailable> {
    let Some(bytes) = point.int(MESSAGE_BYTES) else { return Ok(()) };
    // Where nobody sets up the path, the kernel says it.
    let most = point.int(MTU).filter(|_| !point.on(FRAGMENTS)).map_or(LARGEST, |mtu| mtu - HEADERS);
    if bytes > most {
        let (room, remedy) = match most {
            LARGEST => ("a datagram holds", format!("--size {most}")),
            _ => ("the path's MTU leaves", format!("--size {most}, a larger --mtu, or --fragments on")),
        };
        return Err(Unavailable {
            reason: format!("a datagram of {bytes} bytes is larger than the {most} that {room}"),
            remedy,
        });
    }
    let together = bytes.saturating_mul(segments(point));
    if together > LARGEST {
        return Err(Unavailable {
            reason: format!("segments of one send take {LARGEST} bytes at most, and these are {together}"),
            remedy: format!("--segments {}", (LARGEST / bytes).max(1)),
        });
    }
    Ok(())
}

pub const QUANTITIES: &[Quantity] = quantities! {
    "round_sent", Count, "datagrams sent in the whole round";
    "round_lost", Count, "of those, datagrams that did not come";
    "round_duplicated", Count, "datagrams that came again";
    "round_reordered", Count, "datagrams that came after one that was sent later";
    "round_truncated", Count, "datagrams that came with another length";
    "round_dropped_full", Count, "dropped at the receiver's socket, whose buffer was full (SO_MEMINFO)";
    "round_dropped_checksum", Count, "dropped at the receiver's socket by a wrong checksum (/proc/net/snmp)";
    "round_dropped_queue", Count, "dropped by queue disciplines of the sender's namespace";
    "round_dropped_device", Count, "dropped by links of both namespaces (/proc/net/dev)";
    "round_in_no_counter", Count, "lost, and in none of these counters";
    "window_datagrams", Count, "datagrams that may be on their way";
    "receive_buffer_bytes", Bytes, "SO_RCVBUF as the kernel granted it";
};

fn of_sent(sample: &Sample, lost: &str) -> Option<f64> {
    let sent = sample.get("round_sent").filter(|sent| *sent > 0.0)?;
    Some(sample.get(lost)? / sent)
}

pub const METRICS: &[Metric] = metrics! {
    "lost_fraction", Ratio, Lower, "lost",
        "part of a round's datagrams that did not come",
        |s, _| of_sent(s, "round_lost");
    "dropped_full_fraction", Ratio, Lower, "dropped by a full receive buffer",
        "of the datagrams that were sent",
        |s, _| of_sent(s, "round_dropped_full");
    "dropped_queue_fraction", Ratio, Lower, "dropped by queue disciplines",
        "of the datagrams that were sent",
        |s, _| of_sent(s, "round_dropped_queue");
    "in_no_counter_fraction", Ratio, Lower, "lost in no counter",
        "of the datagrams that were sent",
        |s, _| of_sent(s, "round_in_no_counter");
    "reordered_fraction", Ratio, Lower, "reordered",
        "part of a round's datagrams that came after one that was sent later",
        |s, _| of_sent(s, "round_reordered");
};

#[cfg(test)]
mod tests;
