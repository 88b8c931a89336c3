//! `tcp_round_trip`: a request and its answer over one TCP connection, each exchange timed.
//!
//! The published method sends 56 bytes and gets 64 back, as ping does; `echo` sweeps sizes. Blocking
//! writes and reads, TCP_NODELAY, nothing in flight beside the exchange.

use super::network;
use super::operation::{NetworkSides, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::rights::{NETWORK_SETTINGS, Rights};
use super::row::{Drawing, Row, Shape};
use super::{Channel, Needs, RoleReport, Task, Timing, batch};
use super::{context_switch, icmp_round_trip, memory_bandwidth, system_call};
use crate::probe::transfer::axes::{PATH, PLACEMENT};
use anyhow::{Context, Result, ensure};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::clock::monotonic_ns;

const REQUEST_BYTES: IntAxis = IntAxis::new("request_bytes");
const RESPONSE_BYTES: IntAxis = IntAxis::new("response_bytes");
const EXCHANGE: NameAxis = NameAxis::new("exchange");

const ID: &str = "tcp_round_trip";
const PING: &str = "ping";
const ECHO: &str = "echo";
const PAIR: &str = "pair";
/// ping's 56 bytes of payload, and the 64 that come back.
const PING_REQUEST_BYTES: u64 = 56;
const PING_RESPONSE_BYTES: u64 = 64;
const WINDOW_NS: u64 = 5_000_000;
/// The memory whose copying is a message's: it stays in the caches.
const COPIED_BYTES: u64 = 256 << 10;
/// The server checks every so many requests; the client checks every answer.
const CHECK_EVERY: u64 = 16;

/// The row of an exchange as ping makes it, as an input of other rows' predictions.
pub fn exchange(path: &str) -> RowRef {
    RowRef::cost(ID, [(EXCHANGE.id, Value::text(PING)), ("path", Value::text(path))])
}

fn bytes_axis(id: &'static str, flag: &'static str, title: &'static str, help: &'static str) -> Axis {
    IntAxis::new(id)
        .bytes(1, 1 << 24)
        .flag(flag, title)
        .help(help)
        .default_on(Ints(&[1, 64, 1 << 10, 16 << 10, 64 << 10]))
        .quick_on(Ints(&[1, 1 << 10, 64 << 10]))
}

/// Bytes of the request and of its answer.
fn sizes(point: &Point) -> Option<(u64, u64)> {
    match point.text(EXCHANGE)? {
        PING => Some((PING_REQUEST_BYTES, PING_RESPONSE_BYTES)),
        ECHO => Some((point.int(REQUEST_BYTES)?, point.int(REQUEST_BYTES)?)),
        _ => Some((point.int(REQUEST_BYTES)?, point.int(RESPONSE_BYTES)?)),
    }
}

pub static TCP_ROUND_TRIP: SystemOperation = SystemOperation {
    id: ID,
    title: "TCP round trip",
    method: "A client writes a request and blocks until the whole answer is there; the server, a process of its \
             own, blocks in read and answers. Each exchange is timed for itself and its bytes are checked.",
    source: "tcp(7); CSE 221 system measurement project; lmbench lat_tcp",
    roles: network::ROLES,
    applies: |axis, point| match axis {
        "request_bytes" => point.text(EXCHANGE) != Some(PING),
        "response_bytes" => point.text(EXCHANGE) == Some(PAIR),
        _ => true,
    },
    axes,
    available: network::allowed,
    needs: |point| Needs::memory(sizes(point).map_or(0, |(request, response)| 2 * (request + response))),
    rights: |_| Rights(vec![NETWORK_SETTINGS]),
    timing: Some(|_, base| Timing { window_ns: WINDOW_NS.max(base.window_ns), ..base }),
    sides: Some(NetworkSides { serve, ask, counted: Some("exchanges") }),
    row: Some(row),
    predict: Some(predict),
    drawings: &[Drawing {
        title: "TCP round trip by size, both ways",
        metric: "cost",
        shape: Shape { along: "request_bytes", log_y: true, levels: false },
        includes: |point| point.text(EXCHANGE) == Some(ECHO),
        holder: None,
    }],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        network::path_axis(),
        network::placement_axis(),
        EXCHANGE
            .names(|| vec![PING, ECHO, PAIR])
            .help("ping: 56 bytes out and 64 back; echo: the same number both ways; pair: two sizes")
            .default_on(Names(&[PING, ECHO])),
        bytes_axis("request_bytes", "request", "request", "bytes of the request (echo, pair)"),
        bytes_axis("response_bytes", "response", "response", "bytes of the answer (pair)"),
    ]
}

fn row(point: &Point) -> Option<Row> {
    let path = point.text(PATH)?;
    if point.text(EXCHANGE) != Some(PING) {
        let (request, response) = sizes(point)?;
        let size = |bytes: u64| Unit::Bytes.format(bytes as f64);
        return Some(Row::drawn(format!("{} out, {} back, {path}", size(request), size(response))));
    }
    let row = Row::listed(format!("56 B out, 64 B back, {path}"));
    let published = path == network::LOOPBACK;
    Some(if published {
        row.as_published("round_trip", path).told_as("a TCP round trip over loopback")
    } else {
        row
    })
}

/// The way through both kernels is an echo's; beyond it a process wakes on each side, and the
/// server makes two calls. Every byte is copied in and out, both ways.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let (path, (request, response)) = (point.text(PATH)?, sizes(point)?);
    let place = if point.text(PLACEMENT) == Some("same") { "same" } else { "different" };
    inputs.row("icmp_echo", icmp_round_trip::echo(path));
    inputs.row("switch", context_switch::switch("process", place, "pipe"));
    inputs.row("read_call", system_call::cost_of("read"));
    inputs.row("write_call", system_call::cost_of("write"));
    inputs.row("copy_rate", memory_bandwidth::rate("copy", COPIED_BYTES, 1));
    inputs.constant("bytes", (request + response) as f64, Unit::Bytes, "the case");
    let software = "icmp_echo + 2 * switch + read_call + write_call";
    Some(inputs.hardware_and_software("2 * bytes / copy_rate", software))
}

/// What a message holds: its number at the head, as far as it fits, then bytes that only its length
/// and direction decide.
struct NumberedMessage {
    bytes: Vec<u8>,
    /// The part after the number, as it has to be.
    rest: Vec<u8>,
}

impl NumberedMessage {
    fn new(length: u64, salt: u8) -> NumberedMessage {
        let pattern = |i: u64| (i.wrapping_mul(31) >> 3) as u8 ^ i as u8 ^ salt;
        let bytes: Vec<u8> = (0..length).map(pattern).collect();
        let rest = bytes[bytes.len().min(8)..].to_vec();
        NumberedMessage { bytes, rest }
    }

    fn head(&self) -> usize {
        self.bytes.len().min(8)
    }

    fn number(&mut self, number: u64) {
        let head = self.head();
        self.bytes[..head].copy_from_slice(&number.to_le_bytes()[..head]);
    }

    /// Does it hold this number, of which the shorter of the two messages shows a part?
    fn is(&self, number: u64, shown: usize) -> bool {
        let shown = shown.min(self.head());
        self.bytes[..shown] == number.to_le_bytes()[..shown] && self.bytes[self.head()..] == self.rest[..]
    }
}

const REQUEST_SALT: u8 = 0x5a;
const RESPONSE_SALT: u8 = 0xa5;

fn messages(task: &Task) -> Result<(NumberedMessage, NumberedMessage)> {
    let (request, response) = sizes(&task.point).context("the point has no sizes")?;
    Ok((NumberedMessage::new(request, REQUEST_SALT), NumberedMessage::new(response, RESPONSE_SALT)))
}

fn serve(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let mut stream = network::accept_one(task, channel)?;
    let (mut request, mut response) = messages(task)?;
    let mut report = RoleReport { facts: network::settle(task, true)?, ..RoleReport::default() };
    report.facts.extend(super::transfer::connection::facts(&stream));
    channel.ready()?;
    let mut exchanges = 0;
    while read_whole(&mut stream, &mut request.bytes)? {
        let head = request.head().min(response.head());
        response.bytes[..head].copy_from_slice(&request.bytes[..head]);
        stream.write_all(&response.bytes).context("cannot answer")?;
        if task.verify_all || exchanges % CHECK_EVERY == 0 {
            ensure!(request.is(exchanges, 8), "request {exchanges} holds other bytes than were sent");
        }
        exchanges += 1;
    }
    report.totals.insert("exchanges".into(), exchanges as f64);
    Ok(report)
}

/// Fills the buffer; false when the stream ended before its first byte.
fn read_whole(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<bool> {
    let mut got = 0;
    while got < buffer.len() {
        match stream.read(&mut buffer[got..]) {
            Ok(0) => {
                ensure!(got == 0, "the stream ended inside a message");
                return Ok(false);
            }
            Ok(n) => got += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("cannot read"),
        }
    }
    Ok(true)
}

fn ask(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let mut stream = network::connect_one(task)?;
    let (mut request, mut response) = messages(task)?;
    let shown = request.head();
    let mut report = RoleReport { facts: network::settle(task, false)?, ..RoleReport::default() };
    report.facts.extend(super::transfer::connection::facts(&stream));
    let overhead_ns = batch::clock_overhead_ns();
    channel.ready()?;
    let mut exchanges = 0;
    report.windows = batch::operations(task, overhead_ns, || {
        request.number(exchanges);
        let start = monotonic_ns();
        stream.write_all(&request.bytes).context("cannot write")?;
        let whole = read_whole(&mut stream, &mut response.bytes)?;
        let end = monotonic_ns();
        ensure!(whole, "the server closed the connection");
        ensure!(response.is(exchanges, shown), "answer {exchanges} holds other bytes than expected");
        exchanges += 1;
        Ok(end - start)
    })?;
    let moved = (request.bytes.len() + response.bytes.len()) as f64;
    report.windows.iter_mut().for_each(|window| window.bytes = window.ops * moved);
    report.totals.insert("exchanges".into(), exchanges as f64);
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Probe;

    #[test]
    fn a_message_is_known_by_its_number_and_its_bytes() {
        for length in [1, 7, 8, 56, 64] {
            let mut message = NumberedMessage::new(length, REQUEST_SALT);
            message.number(200);
            assert!(message.is(200, 8), "{length}");
            assert!(!message.is(201, 8), "{length}: another number");
            let last = message.bytes.len() - 1;
            message.bytes[last] ^= 1;
            assert!(!message.is(200, 8), "{length}: another byte");
        }
        let mut answer = NumberedMessage::new(64, RESPONSE_SALT);
        answer.number(5);
        assert!(answer.is(5, 1) && !NumberedMessage::new(64, REQUEST_SALT).is(5, 1));
    }

    #[test]
    fn two_sizes_exist_for_a_pair_only() {
        let (probe, mut point): (&dyn Probe, Point) = (&TCP_ROUND_TRIP, Point::default());
        point.set("exchange", Value::text(PING));
        assert_eq!(sizes(&point), Some((56, 64)));
        assert!(!probe.applies("request_bytes", &point));
        point.set("exchange", Value::text(PAIR));
        point.set("request_bytes", Value::Int(10));
        assert!(probe.applies("response_bytes", &point));
        point.set("response_bytes", Value::Int(20));
        assert_eq!(sizes(&point), Some((10, 20)));
        assert!(exchange("veth").coordinates.contains(&("exchange", Value::text(PING))));
    }
}
