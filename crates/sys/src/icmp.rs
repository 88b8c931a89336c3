//! Sockets for ICMP echo: the unprivileged kind, and the raw one. Sources: icmp(7), raw(7).

use super::socket;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::time::Duration;

const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;
const HEADER_BYTES: usize = 8;
/// `ICMP_FILTER` of linux/icmp.h.
const ICMP_FILTER: libc::c_int = 1;

/// Sends echo requests to one host and takes its replies.
pub struct Echo {
    socket: Socket,
    raw: bool,
    identifier: u16,
    packet: Vec<u8>,
    received: Vec<u8>,
}

/// The sequence number of a packet, so that a late reply is not taken for this one's.
pub type Sequence = u16;

impl Echo {
    /// A socket for this host, with this payload in every request. The unprivileged kind first (it
    /// needs a group in net.ipv4.ping_group_range), then a raw one (which needs CAP_NET_RAW).
    pub fn open(host: Ipv4Addr, payload: &[u8], patience: Duration) -> io::Result<Echo> {
        let (socket, raw) = match Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4)) {
            Ok(socket) => (socket, false),
            Err(_) => (Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?, true),
        };
        if raw {
            only_replies(&socket)?;
        }
        socket.set_read_timeout(Some(patience))?;
        socket.connect(&SocketAddrV4::new(host, 0).into())?;
        let mut packet = vec![ECHO_REQUEST, 0, 0, 0, 0, 0, 0, 0];
        packet.extend_from_slice(payload);
        let received = vec![0; packet.len() + 64];
        Ok(Echo { socket, raw, identifier: std::process::id() as u16, packet, received })
    }

    /// Is it the kind that needs a capability?
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// Makes the next request: not part of a round trip's time.
    pub fn prepare(&mut self, sequence: Sequence) {
        self.packet[2..4].fill(0);
        self.packet[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        self.packet[6..8].copy_from_slice(&sequence.to_be_bytes());
        let sum = checksum(&self.packet);
        self.packet[2..4].copy_from_slice(&sum.to_be_bytes());
    }

    /// Sends the request that was prepared and blocks until a packet is there; its length.
    #[inline]
    pub fn round_trip(&mut self) -> io::Result<usize> {
        socket::send_all(self.socket.as_raw_fd(), &self.packet, 0)?;
        self.take()
    }

    /// Takes the next packet.
    pub fn take(&mut self) -> io::Result<usize> {
        socket::receive(self.socket.as_raw_fd(), &mut self.received, 0)
    }

    /// Is the packet of this length the reply to this request, with every byte of its payload?
    pub fn is_reply(&self, length: usize, sequence: Sequence) -> bool {
        let Some(packet) = self.received.get(..length) else { return false };
        // A raw socket shows the IP header, whose length is in 32-bit words.
        let header =
            if self.raw { packet.first().map_or(0, |first| usize::from(first & 0xf) * 4) } else { 0 };
        let Some(packet) = packet.get(header..).filter(|packet| packet.len() >= HEADER_BYTES) else {
            return false;
        };
        // The kernel gives an unprivileged socket an identifier of its own.
        let ours = !self.raw || packet[4..6] == self.identifier.to_be_bytes();
        packet[0] == ECHO_REPLY
            && ours
            && packet[6..8] == sequence.to_be_bytes()
            && packet[HEADER_BYTES..] == self.packet[HEADER_BYTES..]
    }
}

/// A raw socket sees every ICMP packet of the host, its own requests on loopback too: the kernel
/// shall hand over replies only.
fn only_replies(socket: &Socket) -> io::Result<()> {
    // A set bit blocks that type.
    let blocked: u32 = !(1u32 << ECHO_REPLY);
    socket::set_option_of(socket.as_raw_fd(), libc::SOL_RAW, ICMP_FILTER, &blocked.to_ne_bytes())
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The example of RFC 1071, section 3.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), !0xff00);
    }

    #[test]
    fn loopback_answers_and_a_wrong_reply_is_noticed() {
        let patience = Duration::from_secs(2);
        let mut echo = match Echo::open(Ipv4Addr::LOCALHOST, b"fifty-six", patience) {
            Ok(echo) => echo,
            Err(error) => return eprintln!("skipped: ICMP echo: {error}"),
        };
        echo.prepare(7);
        let length = match echo.round_trip() {
            Ok(length) => length,
            Err(error) => return eprintln!("skipped: ICMP echo: no answer: {error}"),
        };
        assert!(echo.is_reply(length, 7));
        assert!(!echo.is_reply(length, 8) && !echo.is_reply(length - 1, 7) && !echo.is_reply(0, 7));
    }
}
