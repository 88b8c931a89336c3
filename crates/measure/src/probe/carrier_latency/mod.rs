//! `carrier_latency`: how long a message or an exchange takes by what carries it: UDP, TCP, a Unix socket or a pipe.
//!
//! Loops, schedules, clocks and figures are those of latency over TCP ([`tcp_latency`](super::tcp_latency)); only what carries the
//! bytes differs. A carrier is a row: it makes both ends beside a connection, or over it.

mod local;
mod udp;

use super::datagram_transfer::{self, tcp};
use super::rights::Rights;
use super::streaming::{self, RECEIVER};
use super::tcp_latency::carrier::{LatencyCarrier, OVER_TCP};
use super::tcp_latency::{self, TcpLatency, axes};
use super::transfer::{Transfer, far};
use super::{Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing};
use crate::message::FIELDS;
use crate::probe::transfer::axes::{
    ALIGNMENT, LOOPBACK, MECHANISM, MESSAGE_BYTES, MTU, OFFLOADS, PATH, PLACEMENT, SOCKET_BUFFER_BYTES,
    THREADS,
};
use anyhow::Context;
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::sample::Sample;
use syscost_host::Unavailable;

pub struct CarrierLatency;

struct CarrierRow {
    id: &'static str,
    carrier: LatencyCarrier,
    /// Its processes find each other by a name of their network namespace.
    within_a_namespace: bool,
    fits: fn(&Point) -> Result<(), Unavailable>,
}

/// With TCP_NODELAY.
const TCP: LatencyCarrier = LatencyCarrier {
    ends: |task, line, wanted| (OVER_TCP.ends)(&tcp::as_transfer(task, line, true)?, line, wanted),
    ..OVER_TCP
};

static CARRIERS: &[CarrierRow] = &[
    CarrierRow {
        id: "udp_send",
        carrier: udp::CARRIER,
        within_a_namespace: false,
        fits: datagram_transfer::fits_the_path,
    },
    CarrierRow { id: tcp::ID, carrier: TCP, within_a_namespace: false, fits: |_| Ok(()) },
    CarrierRow { id: "unix_stream", carrier: local::UNIX_STREAM, within_a_namespace: true, fits: |_| Ok(()) },
    CarrierRow { id: "pipe", carrier: local::PIPE, within_a_namespace: true, fits: |_| Ok(()) },
];

fn carrier(point: &Point) -> Option<&'static CarrierRow> {
    CARRIERS.iter().find(|row| point.text(MECHANISM) == Some(row.id))
}

const SHARED: &[&str] = &[
    axes::LOOP.id,
    FIELDS.id,
    MESSAGE_BYTES.id,
    THREADS.id,
    axes::RATE.id,
    PATH.id,
    SOCKET_BUFFER_BYTES.id,
    ALIGNMENT.id,
    PLACEMENT.id,
    MTU.id,
    OFFLOADS.id,
];

fn shared(axis: Axis) -> Axis {
    match axis.id {
        id if id == MESSAGE_BYTES.id => axis.default_on(Ints(&[64, 1024])).quick_on(Ints(&[64])),
        id if id == axes::RATE.id => {
            axis.default_on(Ints(&[2_000, 10_000, 20_000])).quick_on(Ints(&[10_000]))
        }
        id if id == PATH.id => axis.default_on(Names(&[LOOPBACK])),
        _ => axis,
    }
}

impl Probe for CarrierLatency {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "carrier_latency",
            title: "latency by what carries the message",
            method: "As latency over TCP: closed and open loops, each time kept. What carries the bytes differs: one datagram a \
                     message over UDP, TCP with TCP_NODELAY, a Unix stream socket, two pipes. Each datagram has a number: one that \
                     is lost ends the round.",
            source: "udp(7), tcp(7), unix(7), pipe(7)",
            roles: streaming::ROLES,
            far_role: Some(RECEIVER),
            here_only: true,
            adjacent: Some(MECHANISM.id),
            compared: true,
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let carriers = MECHANISM
            .names(|| CARRIERS.iter().map(|row| row.id).collect())
            .help("what carries the message: UDP, TCP, a Unix stream socket, two pipes");
        let all = axes::all().into_iter().filter(|axis| SHARED.contains(&axis.id)).map(shared);
        std::iter::once(carriers).chain(all).collect()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        far::on_one_host(point, "latency by carrier is")?;
        let Some(row) = carrier(point) else { return Ok(()) };
        if row.within_a_namespace && point.text(PATH).is_some_and(|path| path != LOOPBACK) {
            return Err(Unavailable {
                reason: format!("{} joins processes of one network namespace", row.id),
                remedy: format!("--path {LOOPBACK}"),
            });
        }
        (row.fits)(point)
    }

    fn needs(&self, point: &Point) -> Needs {
        TcpLatency.needs(point)
    }

    fn figures(&self) -> Figures {
        TcpLatency.figures()
    }

    fn rights(&self, role: &str) -> Rights {
        TcpLatency.rights(role)
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        let row = carrier(&task.point).context("the point names no carrier")?;
        tcp_latency::play(task, channel, row.carrier)
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        TcpLatency.merge(point, reports)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        TcpLatency.timing(point, base)
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        axis == MECHANISM.id || axes::applies(axis, point)
    }

    fn decides(&self, axis: &str, point: &Point) -> bool {
        [MESSAGE_BYTES.id, MTU.id].contains(&axis) || Transfer.decides(axis, point)
    }

    fn settled(&self, axis: &str, point: &Point) -> Option<(Value, &'static str)> {
        Transfer.settled(axis, point)
    }

    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        Transfer.substitute(axis, value)
    }
}
