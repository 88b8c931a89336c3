//! Can the near host reach the far one for data? One real connection says so before anything is planned.
//!
//! The far side listens on one address for a moment, to whoever presents the token; strangers are
//! closed. Source: tcp(7), ip(7) on IP_MTU.

use super::target::Ports;
use crate::acceptor::{self, Acceptor};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use syscost_sys::optional::{RECEIVE_TIMEOUT, REUSE_ADDRESS};
use syscost_sys::socket::path_mtu;

/// How long the far side waits for the connection.
const OPEN: Duration = Duration::from_secs(10);
/// How long the near side tries: a lost SYN is sent again after one second and after three.
const PATIENCE: Duration = Duration::from_secs(5);
/// The answer to a right token, of every listener. The exchange also takes a connection past SYN_RECV.
pub const WELCOME: u8 = b'+';
const BACKLOG: i32 = 16;

/// A listener on this address alone: on a port of the kernel's choice, or the first free one of a range.
/// It is prepared before it is bound, so that the window scale fits its buffers.
pub fn listener<E: From<io::Error>>(
    address: IpAddr,
    ports: Option<Ports>,
    backlog: i32,
    prepare: impl Fn(&Socket) -> Result<(), E>,
) -> Result<Socket, E> {
    let (from, to) = ports.unwrap_or((0, 0));
    let mut last = None;
    for port in from..=to {
        let address = SocketAddr::new(address, port);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A port of a fixed range may still remember its last connection; one that is in use stays refused.
        if port != 0 {
            REUSE_ADDRESS.tried(socket.set_reuse_address(true));
        }
        prepare(&socket)?;
        match socket.bind(&address.into()).and_then(|()| socket.listen(backlog)) {
            Ok(()) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()).into())
}

/// What kept a connection from being made: each has another remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoConnection {
    NoAnswer,
    Refused,
    Unreachable,
    Other,
}

impl NoConnection {
    pub fn of(error: &io::Error) -> NoConnection {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => NoConnection::NoAnswer,
            io::ErrorKind::ConnectionRefused => NoConnection::Refused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => NoConnection::Unreachable,
            _ => NoConnection::Other,
        }
    }
}

/// Listens on a thread of its own until the connection was there; the port.
pub fn listen(address: IpAddr, ports: Option<Ports>, token: String) -> io::Result<u16> {
    let listener = listener(address, ports, BACKLOG, |_| Ok::<(), io::Error>(()))?;
    let port = listener.local_addr()?.as_socket().map_or(0, |bound| bound.port());
    let end = Instant::now() + OPEN;
    std::thread::Builder::new().spawn(move || welcome_one(&listener, &token, end))?;
    Ok(port)
}

/// The first who has the token; strangers hold up nobody.
fn welcome_one(listener: &Socket, token: &str, end: Instant) -> Option<()> {
    let (_, mut stream) = Acceptor::new(listener, token).ok()?.next(end).ok()??;
    stream.write_all(&[WELCOME]).ok()
}

/// Connects as a case's data connections will; the path's MTU as the kernel knows it.
pub fn connect(from: IpAddr, to: SocketAddr, token: &str) -> io::Result<Option<u32>> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    socket.connect_timeout(&to.into(), PATIENCE)?;
    let mut stream = TcpStream::from(socket);
    RECEIVE_TIMEOUT.tried(stream.set_read_timeout(Some(PATIENCE)));
    stream.write_all(&acceptor::hello(token, 0))?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    if answer[0] != WELCOME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "something other than syscost answers"));
    }
    Ok(path_mtu(stream.as_raw_fd(), to.is_ipv6()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_welcome_and_the_port_closes_behind_it() {
        let address: IpAddr = "127.0.0.1".parse().unwrap();
        let port = listen(address, None, "right".into()).unwrap();
        let to = SocketAddr::new(address, port);
        assert!(connect(address, to, "wrong").is_err());
        let mtu = connect(address, to, "right").unwrap();
        assert!(mtu.unwrap() >= 1280, "{mtu:?}");
        let closed = (0..50).any(|_| {
            syscost_sys::sleep::sleep(Duration::from_millis(20));
            TcpStream::connect(to).is_err()
        });
        assert!(closed, "the listener outlives its one connection");
    }

    #[test]
    fn strangers_who_say_nothing_hold_up_nobody() {
        let address: IpAddr = "127.0.0.1".parse().unwrap();
        let to = SocketAddr::new(address, listen(address, None, "right".into()).unwrap());
        let strangers: Vec<TcpStream> = (0..BACKLOG).filter_map(|_| TcpStream::connect(to).ok()).collect();
        assert!(strangers.len() > 8, "they came first");
        connect(address, to, "right").expect("ours is heard beside them");
    }

    #[test]
    fn a_range_of_ports_is_kept_and_used_up() {
        let address: IpAddr = "127.0.0.1".parse().unwrap();
        let bind = |ports| listener(address, ports, BACKLOG, |_| Ok::<(), io::Error>(()));
        let first = bind(None).unwrap();
        let port = first.local_addr().unwrap().as_socket().unwrap().port();
        let full = bind(Some((port, port))).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        let again = bind(Some((port, port))).unwrap();
        assert_eq!(again.local_addr().unwrap().as_socket().unwrap().port(), port);
    }
}
