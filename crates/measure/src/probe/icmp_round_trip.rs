//! `icmp_round_trip`: an ICMP echo that the other side's kernel answers: no process wakes there.
//!
//! The way down and up the network stack that every other round trip has too. Nothing listens: the
//! server's role only says its address.

use super::network::{self, CLIENT};
use super::operation::{NetworkSides, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::rights::{RAW_ICMP, Rights};
use super::row::Row;
use super::{Channel, RoleReport, Task, Timing, batch, system_call};
use crate::probe::transfer::axes::PATH;
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use syscost_core::axis::{Point, Value};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::icmp::Echo;

const ID: &str = "icmp_round_trip";
/// ping's payload.
const PAYLOAD_BYTES: usize = 56;
const WINDOW_NS: u64 = 4_000_000;
const PATIENCE: Duration = Duration::from_secs(2);
/// Packets of others that may come before the reply.
const STRANGERS: usize = 16;

/// The row of an echo on this path, as an input of other rows' predictions.
pub fn echo(path: &str) -> RowRef {
    RowRef::cost(ID, [("path", Value::text(path))])
}

pub static ICMP_ROUND_TRIP: SystemOperation = SystemOperation {
    id: ID,
    title: "ICMP round trip",
    method: "A socket sends an ICMP echo request with 56 bytes, as ping does, and blocks until the reply is there; \
             each echo is timed for itself and its payload is checked. The other side's kernel answers.",
    source: "icmp(7), RFC 792, ping(8)",
    roles: network::ROLES,
    axes: || vec![network::path_axis()],
    available,
    rights: |role| if role == CLIENT { Rights(vec![RAW_ICMP]) } else { Rights::none() },
    timing: Some(|_, base| Timing { window_ns: WINDOW_NS.max(base.window_ns), ..base }),
    sides: Some(NetworkSides { serve, ask, counted: None }),
    row: Some(|point| Some(Row::listed(format!("56 B echoed by the kernel, {}", point.text(PATH)?)))),
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn available(point: &Point) -> Result<(), Unavailable> {
    network::allowed(point)?;
    // Inside a namespace of ours the worker is its root; here it is who started it.
    if point.text(PATH) == Some(network::LOOPBACK) { open(Ipv4Addr::LOCALHOST).map(|_| ()) } else { Ok(()) }
}

/// Two system calls, and the way of two packets through the stack, which no fact of a machine
/// tells: until one does the prediction is unknown.
fn predict(_: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    inputs.row("read_call", system_call::cost_of("read"));
    inputs.row("write_call", system_call::cost_of("write"));
    inputs.fact("packet_through_stack", "network_stack_ns", Unit::Nanoseconds);
    Some(inputs.software("read_call + write_call + 2 * packet_through_stack"))
}

fn serve(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    channel.offer(serde_json::json!({ "host": task.address }))?;
    channel.ready()?;
    Ok(RoleReport::default())
}

fn open(host: Ipv4Addr) -> Result<Echo, Unavailable> {
    let payload: [u8; PAYLOAD_BYTES] = std::array::from_fn(|i| i as u8 + 0x10);
    Echo::open(host, &payload, PATIENCE).map_err(|error| Unavailable {
        reason: format!("no socket for ICMP echo may be made here ({error})"),
        remedy: "sysctl net.ipv4.ping_group_range=\"0 2147483647\" lets every user send echoes".into(),
    })
}

fn only_ipv4() -> Unavailable {
    Unavailable {
        reason: "echoes are timed over IPv4, and the other side of this path has an IPv6 address".into(),
        remedy: "name an IPv4 address of it for the data: ?data=ADDRESS".into(),
    }
}

fn ask(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let host = task.peer.as_ref().and_then(|offer| offer["host"].as_str());
    let host: IpAddr = host.and_then(|text| text.parse().ok()).context("the other side has no address")?;
    let IpAddr::V4(host) = host else { return Err(only_ipv4().into()) };
    let mut echo = open(host)?;
    let mut facts = batch::settle_on_one_cpu();
    facts.insert("icmp_socket".into(), if echo.is_raw() { "raw" } else { "unprivileged" }.into());
    let overhead_ns = batch::clock_overhead_ns();
    channel.ready()?;
    let mut sequence = 0u16;
    let mut windows = batch::operations(task, overhead_ns, || {
        sequence = sequence.wrapping_add(1);
        echo_once(&mut echo, sequence)
    })?;
    windows.iter_mut().for_each(|window| window.bytes = window.ops * 2.0 * PAYLOAD_BYTES as f64);
    Ok(RoleReport { windows, facts, ..RoleReport::default() })
}

/// One echo. Where another's packet came first the time is that packet's: ours is then waited for,
/// and the echo is made again.
fn echo_once(echo: &mut Echo, sequence: u16) -> Result<u64> {
    echo.prepare(sequence);
    for _ in 0..STRANGERS {
        let start = monotonic_ns();
        let length = echo.round_trip().map_err(refused)?;
        let end = monotonic_ns();
        if echo.is_reply(length, sequence) {
            return Ok(end - start);
        }
        for _ in 0..STRANGERS {
            let length = echo.take().map_err(refused)?;
            if echo.is_reply(length, sequence) {
                break;
            }
        }
    }
    anyhow::bail!("{STRANGERS} times in a row another packet came before the reply to echo {sequence}")
}

fn refused(error: std::io::Error) -> anyhow::Error {
    if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
        return anyhow::Error::new(error).context("cannot send or receive an echo");
    }
    let why = Unavailable {
        reason: format!("no reply to an ICMP echo came within {} s", PATIENCE.as_secs()),
        remedy: "sysctl net.ipv4.icmp_echo_ignore_all=0, and let ICMP through the packet filter".into(),
    };
    why.into()
}
