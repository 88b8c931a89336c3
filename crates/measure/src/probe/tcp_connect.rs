//! `tcp_connect`: setting a TCP connection up and closing it, as the client sees it.
//!
//! Set-up is connect(2) returning; close is close(2) returning, which does not wait for the other
//! side, and beside it how long the other side's end of stream takes to come back. Either holds the wake-up of a
//! server that sleeps, as it does behind every request: 20 and 13 us over loopback. Of a server that is
//! still awake, because connections follow each other at once, an independent program has 13 and 4 us. Ports are not
//! used up: a connection of the set-up case is ended by a reset (SO_LINGER 0), which leaves no
//! TIME_WAIT, and a window makes a bounded number of the others.

use super::batch::BatchRecorder;
use super::network;
use super::operation::{NetworkSides, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::rights::{NETWORK_SETTINGS, Rights};
use super::row::Row;
use super::transfer::connection;
use super::{Channel, Figures, RoleReport, Task, Timing, Window, batch, icmp_round_trip, primitive};
use crate::probe::transfer::axes::{PATH, PLACEMENT};
use crate::probe::{metrics, quantities};
use anyhow::{Context, Result, ensure};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_host::acceptor::{Acceptor, SET_UP_LIMIT};
use syscost_host::clock::monotonic_ns;
use syscost_host::remote::reach::WELCOME;
use syscost_sys::optional::{NODELAY, RECEIVE_TIMEOUT};

const PHASE: NameAxis = NameAxis::new("phase");

const ID: &str = "tcp_connect";
const SETUP: &str = "setup";
const CLOSE: &str = "close";
const WHOLE: &str = "whole";
const WINDOW_NS: u64 = 4_000_000;
/// Closed connections keep their port for a minute (TIME_WAIT): twenty rounds of three such windows
/// take an eighth of the ports that there are.
const MOST_A_WINDOW: usize = 60;
/// In the warm-up.
const WARM_CONNECTIONS: usize = 5;
/// What the client says on the last connection of a round.
const LAST: u8 = b'.';
const PATIENCE: Duration = Duration::from_secs(5);

pub static TCP_CONNECT: SystemOperation = SystemOperation {
    id: ID,
    title: "TCP connection",
    method: "A client connects to a server process that accepts one connection at a time and proves each with the \
             round's token; connect, or close, is timed for itself, and wakes the server, which sleeps. Connections are bounded in number (60 a window) \
             so that TIME_WAIT uses up no ports; those of the set-up case are ended by a reset after the timing.",
    source: "connect(2), close(2), socket(7) on SO_LINGER; CSE 221 system measurement project; lmbench lat_connect",
    roles: network::ROLES,
    axes,
    available: network::allowed,
    figures,
    rights: |_| Rights(vec![NETWORK_SETTINGS]),
    timing: Some(|_, base| Timing { window_ns: WINDOW_NS, ..base }),
    sides: Some(NetworkSides { serve, ask: connect, counted: Some("connections") }),
    row: Some(row),
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        network::path_axis(),
        network::placement_axis(),
        PHASE
            .names(|| vec![SETUP, CLOSE, WHOLE])
            .flag("phase", "phase of a connection")
            .help("setup: connect until it returns; close: close until it returns; either wakes a server that sleeps; whole: \
                   socket, bind, connect, and close when the other side has closed")
            .default_on(Names(&[SETUP, CLOSE])),
    ]
}

fn figures() -> Figures {
    Figures::of_single_operations().with(
        quantities! {
            "peer_closed_ns", Nanoseconds,
                "median time from shutdown to the other side's end of stream, over every second connection";
        },
        metrics! {
            "peer_closed", Nanoseconds, Lower, "until the other side has closed",
                "median time from shutdown to the other side's end of stream, less the clock's overhead",
                |s, _| Some(s.get("peer_closed_ns")? - s.get("overhead_ns")?);
        },
    )
}

fn row(point: &Point) -> Option<Row> {
    let (path, phase) = (point.text(PATH)?, point.text(PHASE)?);
    let row = Row::listed(format!("{phase}, {path}"));
    if path != network::LOOPBACK {
        return Some(row);
    }
    Some(match phase {
        SETUP => row.as_published("connection_setup", path),
        CLOSE => row.as_published("connection_close", path),
        _ => row,
    })
}

/// The kernels answer each other as they answer an echo of two packets: the handshake is three segments, a close one and
/// its acknowledgement. Either wakes the other side, which sleeps.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    if point.text(PHASE)? == WHOLE {
        return None;
    }
    inputs.row("icmp_echo", icmp_round_trip::echo(point.text(PATH)?));
    let shared = point.text(PLACEMENT) == Some("same");
    inputs.row("wake", primitive::cost_of(if shared { "wake_up" } else { "wake_sender" }));
    // On one CPU the sleeper that was woken goes first: it answers, and sleeps again, before the call returns.
    if shared {
        inputs.row("process_switch", primitive::cost_of("process_switch"));
    }
    Some(inputs.software(match (point.text(PHASE)? == SETUP, shared) {
        (true, false) => "3/2 * icmp_echo + wake",
        (true, true) => "3/2 * icmp_echo + wake + 2 * process_switch",
        (false, false) => "icmp_echo + wake",
        // The other side's own close is as much again.
        (false, true) => "2 * icmp_echo + wake + 2 * process_switch",
    }))
}

/// Accepts one connection of ours after the other, and closes when the client does. A stranger's is neither
/// counted nor answered.
fn serve(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let listener = connection::offer_listener(task, channel, &network::tcp_options(), 1)?;
    let mut report = RoleReport { facts: network::settle(task, true)?, ..RoleReport::default() };
    let mut acceptor = Acceptor::new(&listener, &task.token)?;
    channel.ready()?;
    let mut connections = 0;
    loop {
        let next = acceptor.next(Instant::now() + SET_UP_LIMIT)?;
        let mut stream = TcpStream::from(next.context("the client stopped connecting")?.1);
        let welcomed = stream.write_all(&[WELCOME]);
        let mut byte = [0];
        // A reset ends a connection too: the client's way to leave no TIME_WAIT.
        match stream.read(&mut byte) {
            Ok(1) if byte[0] == LAST => break,
            _ => welcomed.context("cannot greet a connection")?,
        }
        connections += 1;
    }
    report.totals.insert("connections".into(), f64::from(connections));
    Ok(report)
}

struct Client<'a> {
    address: SocketAddr,
    token: &'a str,
    connections: u64,
}

impl Client<'_> {
    fn open(&self) -> Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        NODELAY.tried(socket.set_tcp_nodelay(true));
        RECEIVE_TIMEOUT.tried(socket.set_read_timeout(Some(PATIENCE)));
        Ok(socket)
    }

    /// A connection and how long connect took. It is proven before it is counted.
    fn connect(&mut self) -> Result<(TcpStream, u64)> {
        let socket = self.open()?;
        let start = monotonic_ns();
        let connected = socket.connect(&self.address.into());
        let end = monotonic_ns();
        connected.map_err(|error| connection::cannot_connect(self.address, error))?;
        let mut stream = TcpStream::from(socket);
        connection::introduce(&mut stream, self.address, self.token, 0)?;
        self.connections += 1;
        Ok((stream, end - start))
    }

    /// Sets one up; the reset that ends it is not timed.
    fn set_up(&mut self) -> Result<u64> {
        let (stream, ns) = self.connect()?;
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        Ok(ns)
    }

    fn close(&mut self) -> Result<u64> {
        let (stream, _) = self.connect()?;
        let start = monotonic_ns();
        drop(stream);
        Ok(monotonic_ns() - start)
    }

    /// From socket(2) until a connection that the server ends at once is closed: everything that a short-lived one costs
    /// beside its requests.
    fn whole(&mut self) -> Result<u64> {
        let start = monotonic_ns();
        let socket = self.open()?;
        socket.bind(&SocketAddr::from(([0, 0, 0, 0], 0)).into()).context("cannot bind")?;
        socket
            .connect(&self.address.into())
            .map_err(|error| connection::cannot_connect(self.address, error))?;
        let mut stream = TcpStream::from(socket);
        let connected = monotonic_ns();
        connection::introduce(&mut stream, self.address, self.token, 0)?;
        let proven = monotonic_ns();
        stream.shutdown(Shutdown::Write).context("cannot shut down")?;
        let got = stream.read(&mut [0]).context("the server does not close")?;
        drop(stream);
        let end = monotonic_ns();
        ensure!(got == 0, "the server says more than its greeting");
        self.connections += 1;
        Ok(end - start - (proven - connected))
    }

    /// From shutdown to the other side's end of stream.
    fn close_both_ways(&mut self) -> Result<u64> {
        let (mut stream, _) = self.connect()?;
        let start = monotonic_ns();
        stream.shutdown(Shutdown::Write).context("cannot shut down")?;
        let mut byte = [0];
        let got = stream.read(&mut byte).context("the server does not close")?;
        let end = monotonic_ns();
        ensure!(got == 0, "the server says more than its greeting");
        Ok(end - start)
    }

    fn end(&mut self) -> Result<()> {
        let (mut stream, _) = self.connect()?;
        self.connections -= 1;
        stream.write_all(&[LAST]).context("cannot say that this was the last connection")
    }
}

fn connect(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let address = connection::offered_address(task)?;
    let mut client = Client { address, token: &task.token, connections: 0 };
    let phase = task.point.text(PHASE).context("no phase")?;
    let mut report = RoleReport { facts: network::settle(task, false)?, ..RoleReport::default() };
    let overhead_ns = batch::clock_overhead_ns();
    channel.ready()?;
    for _ in 0..WARM_CONNECTIONS {
        client.set_up()?;
    }
    for _ in 0..task.timing.windows {
        report.windows.push(window(task, &mut client, phase, overhead_ns)?);
    }
    client.end()?;
    report.totals.insert("connections".into(), client.connections as f64);
    Ok(report)
}

fn window(task: &Task, client: &mut Client<'_>, phase: &str, overhead_ns: f64) -> Result<Window> {
    let mut recorder = BatchRecorder::start();
    let mut peer_closed = Vec::new();
    for _ in 0..MOST_A_WINDOW / if phase == CLOSE { 2 } else { 1 } {
        match phase {
            CLOSE => {
                recorder.record(client.close()? as f64, 1);
                peer_closed.push(client.close_both_ways()? as f64);
            }
            WHOLE => recorder.record(client.whole()? as f64, 1),
            _ => recorder.record(client.set_up()? as f64, 1),
        }
        if recorder.elapsed_ns() >= task.timing.window_ns {
            break;
        }
    }
    let mut window = recorder.window(task, 1.0, Some(overhead_ns));
    window.quantities.insert("peer_closed_ns".into(), syscost_core::stats::median(&peer_closed));
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use syscost_core::sample::Sample;

    #[test]
    fn the_peer_s_end_is_known_only_where_it_was_awaited() {
        let metric = figures().metrics.into_iter().find(|m| m.id == "peer_closed").unwrap();
        let sample = |peer: Option<f64>| Sample {
            quantities: BTreeMap::from([
                ("peer_closed_ns".to_string(), peer),
                ("overhead_ns".to_string(), Some(40.0)),
            ])
            .into(),
            ..Sample::default()
        };
        assert_eq!((metric.of)(&sample(Some(1040.0)), &Point::default()), Some(1000.0));
        assert_eq!((metric.of)(&sample(None), &Point::default()), None);
    }
}
