//! Two sockets that know each other, and the line between their processes: a proven TCP connection beside each pair.
//!
//! The receiver confirms over the line what has come, and the sender never has more on its way than the receiver's socket
//! has room for: so nothing is lost, at any rate. Sources: udp(7), socket(7) (SO_RCVBUF, SO_RCVBUFFORCE).

use crate::mechanism::{SOCKET_BUFFER_BYTES, per_call};
use crate::probe::Task;
use crate::probe::streaming::{RECEIVER, sending};
use crate::probe::transfer::connection::ALWAYS;
use anyhow::{Context, Result};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;
use syscost_host::Unavailable;
use syscost_sys::optional::{CONGESTION, NODELAY};
use syscost_sys::{datagram, socket};

/// A side that waits for so long looks whether what it waits for can still come.
pub const LOOK: Duration = Duration::from_millis(100);
/// The same of a search, which asks after each step what is lost: queues of the kernel hold nothing that long.
const QUIET: Duration = Duration::from_millis(10);
/// How often a sender that may send nothing looks, until it gives up.
pub const PATIENCE: u32 = 50;
/// What a receiver asks for where nobody named a size.
const RECEIVE_BUFFER_BYTES: i32 = 4 << 20;
/// On their way at most: more than is confirmed at a time, and little enough to stay in a cache.
const MOST_OUTSTANDING: u64 = 512;

/// One end of a pair.
pub struct End {
    pub socket: UdpSocket,
    pub line: TcpStream,
    pub peer: SocketAddr,
    /// Datagrams that may be on their way.
    pub window: u64,
    /// Of the receiver, as granted.
    pub buffer_bytes: u64,
    /// A call that receives waits for so long.
    pub look: Duration,
}

/// Memory that the kernel charges a receive buffer for a datagram, generously: the data in a power of two with what the
/// kernel keeps behind it, and the structure that describes it.
fn charged(bytes: u64) -> u64 {
    (bytes + 512).next_power_of_two() + 768
}

impl End {
    /// Connected, an end hears of nobody but its peer.
    pub fn of(task: &Task, stream: &TcpStream, connected: bool) -> Result<End> {
        let mut line = stream.try_clone().context("cannot keep the line")?;
        // A confirmation that Nagle's algorithm or a pacer holds back would be waited for.
        NODELAY.tried(line.set_nodelay(true));
        nothing_paces(&line);
        let receives = task.role == RECEIVER;
        let socket = bound(line.local_addr()?, receives && task.point.on(super::REUSEPORT))?;
        if !task.point.on(super::FRAGMENTS) {
            datagram::refuse_fragments(socket.as_raw_fd(), line.local_addr()?.is_ipv6())
                .context("cannot set IP_MTU_DISCOVER")?;
        }
        let buffer_bytes = if receives { receive_buffer(&socket, task)? } else { 0 };
        // The kernel gives memory of datagrams that were read back to the buffer only a quarter of it at a time
        // (`udp_rmem_release`): so much may be charged for nothing.
        let fitting = buffer_bytes * 3 / 4 / charged(sending::message_bytes(task)?);
        let said = [u64::from(socket.local_addr()?.port()), fitting.min(MOST_OUTSTANDING)];
        let tell = |mut line: &TcpStream| {
            line.write_all(&said.map(u64::to_le_bytes).concat())
                .context("cannot tell the other side the port")
        };
        // A receiver tells its port when it is connected: at a port that threads share, another one might hear its sender.
        if !receives {
            tell(&line)?;
        }
        let mut heard = [0; 16];
        line.read_exact(&mut heard).context("the other side told no port")?;
        let word = |at: usize| u64::from_le_bytes(heard[8 * at..][..8].try_into().expect("eight bytes"));
        let mut peer = line.peer_addr()?;
        peer.set_port(word(0) as u16);
        if connected {
            socket.connect(peer).context("cannot connect a UDP socket")?;
        }
        if receives {
            tell(&line)?;
        }
        line.set_read_timeout(Some(LOOK)).context("cannot set SO_RCVTIMEO")?;
        let look = task.point.int(super::LOST_PER_MILLION).map_or(LOOK, |_| QUIET);
        socket.set_read_timeout(Some(look)).context("cannot set SO_RCVTIMEO")?;
        let window = if receives { said[1] } else { word(1) };
        let call = per_call(&task.point);
        if window < call && super::rate(&task.point).is_none() {
            return Err(Unavailable {
                reason: format!(
                    "the receive buffer has room for {window} datagrams, and a call sends {call}"
                ),
                remedy: "--socket-buffer for a larger one, or fewer datagrams a call (--batch, --segments)"
                    .into(),
            }
            .into());
        }
        Ok(End { socket, line, peer, window, buffer_bytes, look })
    }

    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// At a free port of the line's address, or at the port of the line itself, which all lines of a receiver have.
fn bound(line: SocketAddr, shares: bool) -> Result<UdpSocket> {
    let mut own = line;
    own.set_port(if shares { line.port() } else { 0 });
    let bind = || {
        let socket = Socket::new(Domain::for_address(own), Type::DGRAM, None)?;
        socket.set_reuse_port(shares)?;
        socket.bind(&own.into())?;
        Ok::<_, io::Error>(socket.into())
    };
    bind().with_context(|| format!("cannot bind a UDP socket to {own}"))
}

/// A congestion control that sends at once; an ordinary user may set what every kernel has.
pub fn nothing_paces(line: &TcpStream) {
    let tried = |name: &str| SockRef::from(line).set_tcp_congestion(name.as_bytes());
    CONGESTION.tried(tried("cubic").or_else(|_| tried(ALWAYS)));
}

/// As asked, or as much as there is; returns what the kernel granted.
fn receive_buffer(socket: &UdpSocket, task: &Task) -> Result<u64> {
    let asked = task.point.int(SOCKET_BUFFER_BYTES).unwrap_or(0);
    if asked > 0 {
        // What is not granted as asked has been told: the line has the same options.
        SockRef::from(socket).set_recv_buffer_size(asked as usize).context("cannot set SO_RCVBUF")?;
    } else if datagram::force_receive_buffer(socket.as_raw_fd(), RECEIVE_BUFFER_BYTES).is_err() {
        SockRef::from(socket)
            .set_recv_buffer_size(RECEIVE_BUFFER_BYTES as usize)
            .context("cannot set SO_RCVBUF")?;
    }
    Ok(SockRef::from(socket).recv_buffer_size().context("cannot read SO_RCVBUF")? as u64)
}

/// The sender's view of what is on its way.
pub struct Credit {
    pub sent: u64,
    confirmed: u64,
    window: u64,
    waits: u32,
    /// The head of a word of which the rest has not come.
    head: Vec<u8>,
    /// Calls that heard confirmations.
    pub calls: u64,
}

impl Credit {
    pub fn of(window: u64) -> Credit {
        Credit { sent: 0, confirmed: 0, window, waits: 0, head: Vec::new(), calls: 0 }
    }

    /// Waits until so many more may be on their way.
    #[inline]
    pub fn room(&mut self, end: &End, datagrams: u64) -> io::Result<()> {
        while self.sent + datagrams - self.confirmed > self.window {
            self.hear(end)?;
        }
        Ok(())
    }

    fn hear(&mut self, end: &End) -> io::Result<()> {
        let mut words = [0; 512];
        self.calls += 1;
        match socket::receive(end.line.as_raw_fd(), &mut words, 0) {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the receiver has gone")),
            Ok(bytes) => {
                self.waits = 0;
                self.head.extend_from_slice(&words[..bytes]);
                let whole = self.head.len() / 8 * 8;
                if let Some(last) = self.head[..whole].last_chunk() {
                    self.confirmed = u64::from_le_bytes(*last);
                }
                self.head.drain(..whole);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && self.waits < PATIENCE => {
                self.waits += 1;
                // What was sent last may be lost: nothing that comes later tells the receiver.
                Note { sent: self.sent, ..Note::default() }.tell(&end.line)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(io::Error::new(
                ErrorKind::TimedOut,
                format!(
                    "the receiver has confirmed nothing for {} s: it stopped",
                    (LOOK * PATIENCE).as_secs()
                ),
            )),
            Err(error) => Err(error),
        }
    }
}

/// What a sender says of itself where the receiver may wait in vain, and at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    pub sent: u64,
    /// Dropped on its side, in its namespace.
    pub queue: u64,
    pub device: u64,
    pub last: bool,
}

impl Note {
    pub const BYTES: usize = 32;

    pub fn tell(&self, mut line: &TcpStream) -> io::Result<()> {
        let words = [self.sent, self.queue, self.device, u64::from(self.last)];
        line.write_all(&words.map(u64::to_le_bytes).concat())
    }

    pub fn of(bytes: &[u8; Note::BYTES]) -> Note {
        let word = |at: usize| u64::from_le_bytes(bytes[8 * at..][..8].try_into().expect("eight bytes"));
        Note { sent: word(0), queue: word(1), device: word(2), last: word(3) != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_heard_as_it_was_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let note = Note { sent: 1 << 40, queue: 3, device: 4, last: true };
        note.tell(&near).unwrap();
        let mut bytes = [0; Note::BYTES];
        far.read_exact(&mut bytes).unwrap();
        assert_eq!(Note::of(&bytes), note);
    }

    #[test]
    fn a_datagram_is_charged_more_than_it_holds() {
        assert!(charged(64) >= 768 && charged(1472) >= 2304 && charged(65507) >= 65507 + 2304);
    }
}
