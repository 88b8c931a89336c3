//! The data connections of a transfer: set up with the case's options, and proven to be ours.
//!
//! Every connection opens with the round's token and its number; a stranger's connection is
//! closed and never counted.

use crate::probe::transfer::axes::{CONGESTION_CONTROL, NODELAY, SOCKET_BUFFER_BYTES};
use anyhow::{Context, Result, anyhow};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::mechanism::{all_connections, connections};
use crate::probe::{Channel, Task};
use crate::receiver::options as receiving;
use syscost_core::axis::Point;
use syscost_core::units::Unit;
use syscost_host::acceptor::{self, SET_UP_LIMIT};
use syscost_host::files::Root;
use syscost_host::remote::reach::{self, WELCOME};
use syscost_host::{Unavailable, scarce, settings};
use syscost_sys::optional;
use syscost_sys::socket::wait_connected;

/// Connections that may wait to be accepted: enough for ours to stand behind a crowd of strangers.
const BACKLOG: std::ops::RangeInclusive<usize> = 256..=4096;
/// How long a connection may take to be made: the third repetition of a lost SYN comes after seven
/// seconds. Shorter than the receiver waits, so that the side that knows why says so first.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The congestion control that every kernel has, and what stands for the one that the kernel chooses.
pub const ALWAYS: &str = "reno";
pub const KERNELS: &str = "kernel";
/// Connections that are begun together: fewer than wait to be accepted, and than a listener hears at a time.
const AT_ONCE: usize = 64;

fn options(socket: &Socket, point: &Point) -> Result<()> {
    if let Some(name) = point.text(CONGESTION_CONTROL) {
        use_congestion_control(socket, name)?;
    }
    // A new socket has it off, and one that is accepted has what its listener has.
    if point.on(NODELAY) {
        socket.set_tcp_nodelay(true).map_err(no_delay_refused)?;
    }
    let buffer = point.int(SOCKET_BUFFER_BYTES).unwrap_or(0) as usize;
    if buffer > 0 {
        socket.set_send_buffer_size(buffer).context("cannot set SO_SNDBUF")?;
        socket.set_recv_buffer_size(buffer).context("cannot set SO_RCVBUF")?;
    }
    granted(socket, point)
}

/// What the kernel made of it: it caps buffers in silence, and a route or a program of the administrator's may
/// set another congestion control. A figure under the name of what was asked would be a lie.
fn granted(socket: &Socket, point: &Point) -> Result<()> {
    let refused = |reason: String, remedy: String| Err(Unavailable { reason, remedy }.into());
    let buffer = point.int(SOCKET_BUFFER_BYTES).unwrap_or(0) as usize;
    if buffer > 0 {
        buffers_granted(socket, buffer)?;
    }
    if socket.tcp_nodelay().is_ok_and(|on| on != point.on(NODELAY)) {
        return refused(
            "the kernel does not keep TCP_NODELAY".into(),
            "measure outside of this sandbox".into(),
        );
    }
    match (point.text(CONGESTION_CONTROL), own_congestion_control(socket)) {
        (Some(asked), Some(used)) if asked != used && asked != KERNELS => refused(
            format!("congestion control {asked} was asked for, and the kernel uses {used}"),
            format!("--congestion {used}; or let no route (ip route, congctl) and no BPF program set it"),
        ),
        _ => Ok(()),
    }
}

fn buffers_granted(socket: &Socket, buffer: usize) -> Result<()> {
    let granted = [
        ("SO_SNDBUF", socket.send_buffer_size()?, "net.core.wmem_max"),
        ("SO_RCVBUF", socket.recv_buffer_size()?, "net.core.rmem_max"),
    ];
    // The kernel doubles what is asked, for its own part of it (socket(7)).
    let other: Vec<_> = granted.iter().filter(|(_, bytes, _)| *bytes != 2 * buffer).collect();
    if other.is_empty() {
        return Ok(());
    }
    let bytes = |bytes: usize| Unit::Bytes.format(bytes as f64);
    let told: Vec<_> = other.iter().map(|(option, got, _)| format!("{option} {}", bytes(got / 2))).collect();
    let sizes = other.iter().map(|(_, got, _)| got / 2);
    let capped = other.iter().all(|(_, got, _)| *got < 2 * buffer);
    let instead = if capped { sizes.min() } else { sizes.max() }.unwrap_or(buffer);
    let most: String = other.iter().map(|(.., most)| format!(" {most}={buffer}")).collect();
    let allow = if capped { format!("sudo sysctl{most}, or ") } else { String::new() };
    Err(Unavailable {
        reason: format!("of socket buffers of {} the kernel grants {}", bytes(buffer), told.join(", ")),
        remedy: format!("{allow}--socket-buffer {instead}"),
    }
    .into())
}

/// One that the socket has already needs no right to set it.
fn use_congestion_control(socket: &Socket, name: &str) -> Result<(), Unavailable> {
    let Err(error) = set_congestion_control(socket, name) else { return Ok(()) };
    if own_congestion_control(socket).as_deref() == Some(name) {
        optional::CONGESTION.refused(&error);
        return Ok(());
    }
    let none_can = name != ALWAYS && set_congestion_control(socket, ALWAYS).is_err();
    if none_can || name == ALWAYS {
        let used = own_congestion_control(socket).unwrap_or_else(|| "nobody knows which".into());
        return Err(Unavailable {
            reason: format!(
                "setsockopt(TCP_CONGESTION) is refused ({error}): the kernel uses {used}, and {name} cannot be set"
            ),
            remedy: format!(
                "allow that call in the sandbox, or measure with what is used: --congestion {KERNELS}"
            ),
        });
    }
    Err(Unavailable {
        reason: format!("the kernel refuses congestion control {name} ({error})"),
        remedy: settings::congestion_control_remedy(&Root::here(), name, error.raw_os_error()),
    })
}

fn set_congestion_control(socket: &Socket, name: &str) -> std::io::Result<()> {
    if name == KERNELS { Ok(()) } else { socket.set_tcp_congestion(name.as_bytes()) }
}

fn own_congestion_control(socket: &Socket) -> Option<String> {
    let own = socket.tcp_congestion().ok();
    own.map(|name| String::from_utf8_lossy(&name).trim_end_matches('\0').to_string())
}

fn no_delay_refused(error: std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("setsockopt(TCP_NODELAY) is refused ({error})"),
        remedy: "allow that call in the sandbox, or measure without it: --nodelay off".into(),
    }
}

/// Sets the options of a case on a socket that is then thrown away; those of its receiver where that is here.
pub fn try_options(point: &Point, receives_here: bool) -> Result<(), Unavailable> {
    let made = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    // Whatever keeps a socket from being made is told by who needs it for its work.
    let Ok(socket) = made else { return Ok(()) };
    let tried = options(&socket, point).and_then(|()| match receives_here {
        true => receiving::apply(socket.as_raw_fd(), point),
        false => Ok(()),
    });
    tried.or_else(|error| error.downcast().map_or(Ok(()), Err))
}

/// A listener on this address alone; on a port of the kernel's choice, unless a range is given.
pub fn listen(address: IpAddr, ports: Option<(u16, u16)>, point: &Point, backlog: usize) -> Result<Socket> {
    let backlog = backlog.clamp(*BACKLOG.start(), *BACKLOG.end()) as i32;
    let prepare = |socket: &Socket| options(socket, point);
    reach::listener(address, ports, backlog, prepare).with_context(|| format!("cannot listen on {address}"))
}

/// The receiver's side of every connection of a case: offers where it listens, and accepts them.
pub fn accept_all(task: &Task, channel: &mut dyn Channel) -> Result<Vec<TcpStream>> {
    let count = all_connections(&task.point) as usize;
    room_for(count)?;
    let listener = offer_listener(task, channel, &task.point, count)?;
    accept(&listener, &task.token, &task.point, count)
}

/// A listener on this side of the path, offered to the other role.
pub fn offer_listener(
    task: &Task,
    channel: &mut dyn Channel,
    options: &Point,
    backlog: usize,
) -> Result<Socket> {
    let address = task.address.parse().with_context(|| format!("{} is no IP address", task.address))?;
    let listener = listen(address, task.ports, options, backlog)?;
    let bound = listener.local_addr()?.as_socket().context("the listener has no IP address")?;
    channel.offer(serde_json::json!({ "address": bound.to_string() }))?;
    Ok(listener)
}

/// Where the other role listens, as it offered it.
pub fn offered_address(task: &Task) -> Result<SocketAddr> {
    let offered = task.peer.as_ref().and_then(|offer| offer["address"].as_str());
    offered.and_then(|text| text.parse().ok()).context("the other side offered no address")
}

/// The sender's side of every connection of a case, in the order of their numbers.
pub fn connect_all(task: &Task) -> Result<Vec<TcpStream>> {
    connect_numbers(task, 0..all_connections(&task.point) as u32)
}

/// The sender's side of connections of these numbers.
pub fn connect_numbers(task: &Task, numbers: std::ops::Range<u32>) -> Result<Vec<TcpStream>> {
    let address = offered_address(task)?;
    let numbers: Vec<u32> = numbers.collect();
    room_for(numbers.len())?;
    let mut streams = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks(AT_ONCE) {
        streams.extend(connect_some(address, &task.token, &task.point, numbers)?);
    }
    Ok(streams)
}

/// A few are within every limit that lets a process start at all: what they meet says which it was.
fn room_for(connections: usize) -> Result<()> {
    if connections > 1 { scarce::room_for_sockets(connections as u64) } else { Ok(()) }
}

/// The connections of each thread, in its order.
pub fn by_thread(task: &Task, streams: Vec<TcpStream>) -> Vec<Vec<TcpStream>> {
    let each = connections(&task.point).max(1) as usize;
    let mut streams = streams.into_iter().peekable();
    let mut threads = Vec::new();
    while streams.peek().is_some() {
        threads.push(streams.by_ref().take(each).collect());
    }
    threads
}

/// Accepts `count` connections that present the token, in the order of their numbers.
pub fn accept(listener: &Socket, token: &str, point: &Point, count: usize) -> Result<Vec<TcpStream>> {
    acceptor::accept_all(listener, token, count, |stream: &mut TcpStream| {
        options(&socket2::SockRef::from(&*stream), point)?;
        stream.write_all(&[WELCOME]).context("cannot welcome a connection")?;
        leave_interactive_mode(stream);
        Ok(())
    })
}

/// A side that answered once is "interactive" for the kernel, which then delays its ACKs by up to
/// 40 ms: zero-copy completions and window updates would wait for them. TCP_QUICKACK ends that
/// mode, so that the stream is acknowledged like any one-way stream.
fn leave_interactive_mode(stream: &TcpStream) {
    optional::QUICKACK.tried(socket2::SockRef::from(stream).set_tcp_quickack(true));
}

/// Connects number `number` and presents the token.
pub fn connect(address: SocketAddr, token: &str, point: &Point, number: u32) -> Result<TcpStream> {
    let mut one = connect_some(address, token, point, &[number])?;
    one.pop().context("one connection was asked for")
}

/// Connects these numbers at the same time: the trips over a long path are waited for together.
fn connect_some(address: SocketAddr, token: &str, point: &Point, numbers: &[u32]) -> Result<Vec<TcpStream>> {
    let begun = numbers.iter().map(|_| begin(address, point)).collect::<Result<Vec<Socket>>>()?;
    let until = Instant::now() + CONNECT_LIMIT;
    let mut streams = Vec::with_capacity(begun.len());
    for (socket, number) in begun.into_iter().zip(numbers) {
        let mut stream = made(socket, until).map_err(|error| cannot_connect(address, error))?;
        optional::RECEIVE_TIMEOUT.tried(stream.set_read_timeout(Some(SET_UP_LIMIT)));
        say(&mut stream, token, *number).map_err(|error| not_welcomed(address, error))?;
        streams.push(stream);
    }
    for stream in &mut streams {
        hear_welcome(stream).map_err(|error| not_welcomed(address, error))?;
        granted(&socket2::SockRef::from(&*stream), point)?;
        optional::RECEIVE_TIMEOUT.tried(stream.set_read_timeout(None));
        leave_interactive_mode(stream);
    }
    Ok(streams)
}

/// A socket with the case's options, on its way to the address.
fn begin(address: SocketAddr, point: &Point) -> Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
        .context("cannot make a TCP socket")?;
    options(&socket, point)?;
    socket.set_nonblocking(true).context("cannot set a socket not to wait")?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(cannot_connect(address, error)),
        _ => Ok(socket),
    }
}

/// The connection, once it is there.
fn made(socket: Socket, until: Instant) -> std::io::Result<TcpStream> {
    wait_connected(socket.as_raw_fd(), until.saturating_duration_since(Instant::now()))?;
    // Where the error cannot be asked for, whether there is a peer can.
    match socket.take_error().or_else(|_| socket.peer_addr().map(|_| None))? {
        Some(error) => Err(error),
        None => {
            socket.set_nonblocking(false)?;
            Ok(TcpStream::from(socket))
        }
    }
}

/// Ends what is sent on a connection. Whether the other side, which may have gone by then, has all of it the totals say.
pub fn end(stream: &TcpStream) -> Result<()> {
    match stream.shutdown(Shutdown::Write) {
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
        ended => ended.context("cannot close the stream"),
    }
}

/// Says the token and the number on a new connection, and waits for the welcome.
pub fn introduce(stream: &mut TcpStream, address: SocketAddr, token: &str, number: u32) -> Result<()> {
    say(stream, token, number)
        .and_then(|()| hear_welcome(stream))
        .map_err(|error| not_welcomed(address, error))
}

fn say(stream: &mut TcpStream, token: &str, number: u32) -> std::io::Result<()> {
    stream.write_all(&acceptor::hello(token, number))
}

fn hear_welcome(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    match answer[0] {
        WELCOME => Ok(()),
        _ => Err(std::io::Error::new(ErrorKind::InvalidData, "it does not answer as syscost does")),
    }
}

/// Why there is no connection, and what would help.
pub fn cannot_connect(address: SocketAddr, error: std::io::Error) -> anyhow::Error {
    let meaning = match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => {
            ": no local port is left for it (each closed connection keeps its port for a minute, TIME_WAIT): wait a \
             minute (ss -tan state time-wait | wc -l), or widen sysctl net.ipv4.ip_local_port_range"
        }
        Some(libc::ECONNREFUSED) => ": nothing listens there, or a firewall rejects it (nft list ruleset)",
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => ": there is no way to it (ip route get ADDRESS)",
        _ if error.kind() == ErrorKind::TimedOut => {
            ": nobody answers; is the link up (ip -s link), and does a firewall drop it (nft list ruleset)?"
        }
        _ => "",
    };
    anyhow!(error).context(format!("cannot connect to the receiver at {address}{meaning}"))
}

fn not_welcomed(address: SocketAddr, error: std::io::Error) -> anyhow::Error {
    let meaning = match error.kind() {
        ErrorKind::WouldBlock => format!("{address} took the connection and did not answer in time"),
        ErrorKind::InvalidData => format!("something other than syscost answers at {address}"),
        _ => format!("the receiver at {address} closed the connection instead of welcoming it"),
    };
    anyhow!(error).context(meaning)
}

/// The options as the kernel reports them back.
pub fn facts(stream: &TcpStream) -> BTreeMap<String, String> {
    let socket = socket2::SockRef::from(stream);
    let mut facts = BTreeMap::new();
    let mut put = |id: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(id.to_string(), value);
        }
    };
    put("send_buffer_bytes", socket.send_buffer_size().ok().map(|n| n.to_string()));
    put("receive_buffer_bytes", socket.recv_buffer_size().ok().map(|n| n.to_string()));
    put("nodelay", socket.tcp_nodelay().ok().map(|on| if on { "on" } else { "off" }.into()));
    put("mss_bytes", socket.tcp_mss().ok().map(|n| n.to_string()));
    put("congestion_control", own_congestion_control(&socket));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_not_counted() {
        let listener = listen("127.0.0.1".parse().unwrap(), None, &Point::default(), 4).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let client = std::thread::spawn(move || {
            let mut stranger = TcpStream::connect(address).unwrap();
            stranger.write_all(b"wrong-token-0000").unwrap();
            let silent = TcpStream::connect(address).unwrap();
            let second = connect(address, "right-token", &Point::default(), 1).unwrap();
            let first = connect(address, "right-token", &Point::default(), 0).unwrap();
            (stranger, silent, first.local_addr().unwrap(), second.local_addr().unwrap())
        });
        let streams = accept(&listener, "right-token", &Point::default(), 2).unwrap();
        let (_stranger, _silent, first, second) = client.join().unwrap();
        let peers: Vec<SocketAddr> = streams.iter().map(|s| s.peer_addr().unwrap()).collect();
        assert_eq!(peers, [first, second]);
    }
}
