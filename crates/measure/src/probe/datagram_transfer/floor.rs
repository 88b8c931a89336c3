//! `udp_stream_floor`: what a stream over datagrams cannot do without: segmented sends, AES-128-GCM for each packet, and one
//! acknowledgement in so many packets. It is a floor, and no QUIC: no loss is repaired, no window moves, nothing is parsed.
//!
//! A packet is its number, the sealed bytes and the tag. Acknowledgements are sealed packets too, and leave in one segmented send
//! for what a receive call took. Sources: RFC 9001 (5.3), RFC 9000 (13.2.2), udp(7).

use super::way::{self, HandsOver, NUMBER_BYTES, ReceiveWay, SendCall, SendWay, TakeDatagrams, number};
use crate::mechanism::{contiguous, per_call};
use crate::message::{self, MESSAGE_BYTES, Message, PAGE};
use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes128Gcm, Key, KeyInit, Nonce, Tag};
use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point};
use syscost_host::Unavailable;
use syscost_sys::buffer::Buffer;
use syscost_sys::{datagram, socket};

const TAG_BYTES: usize = 16;
/// Beside the payload of a packet.
const SEALING_BYTES: usize = NUMBER_BYTES + TAG_BYTES;
/// Number, the number that it acknowledges, tag.
const ACKNOWLEDGEMENT_BYTES: usize = NUMBER_BYTES + 8 + TAG_BYTES;
/// What a kernel cuts of one send at most (UDP_MAX_SEGMENTS, before Linux 6.9).
const MOST_SEGMENTS: usize = 64;
const COALESCED_BYTES: usize = 64 << 10;
/// Each direction has a key of its own, so that no nonce is used twice.
const KEYS: [[u8; 16]; 2] = [[0x5a; 16], [0xa5; 16]];

pub const ACKNOWLEDGE_EVERY: IntAxis = IntAxis::new("acknowledge_every");

pub fn axis() -> Axis {
    ACKNOWLEDGE_EVERY
        .count(1, 1 << 20)
        .flag("acknowledge-every", "packets an acknowledgement")
        .help("packets of udp_stream_floor for which the receiver sends one acknowledgement")
        .default_on(Ints(&[2]))
}

pub const SEND: SendWay = SendWay {
    id: "udp_stream_floor",
    hands_over: HandsOver::Segments,
    available: |socket| {
        way::segments_here(socket)?;
        datagram::coalesce(socket).map_err(way::not_coalesced)
    },
    start: |end, message, point| {
        way::segmented(end, message.len())?;
        way::coalesced(end)?;
        Ok(Box::new(SealedSend::new(end.fd(), &message, point)))
    },
    ..SendWay::PLAIN
};

pub fn is(point: &Point) -> bool {
    point.text(super::MECHANISM) == Some(SEND.id)
}

/// Is there room for a payload?
pub fn fits(point: &Point) -> Result<(), Unavailable> {
    match point.int(MESSAGE_BYTES) {
        Some(bytes) if bytes <= SEALING_BYTES as u64 => Err(Unavailable {
            reason: format!(
                "number and tag of a sealed packet take {SEALING_BYTES} bytes, and it has {bytes}"
            ),
            remedy: format!("--size {} or more", SEALING_BYTES + 1),
        }),
        _ => Ok(()),
    }
}

/// What receives it: no other way can.
pub const RECEIVE: ReceiveWay = ReceiveWay {
    id: "udp_stream_floor",
    available: |_| Ok(()),
    start: |end, bytes, point| {
        way::coalesced(end)?;
        way::segmented(end, ACKNOWLEDGEMENT_BYTES)?;
        Ok(Box::new(OpenedTake::new(bytes, point.int(ACKNOWLEDGE_EVERY).unwrap_or(1))))
    },
};

/// One direction.
struct PacketKey(Aes128Gcm);

impl PacketKey {
    fn new(direction: usize) -> PacketKey {
        PacketKey(Aes128Gcm::new(Key::<Aes128Gcm>::from_slice(&KEYS[direction])))
    }

    fn nonce(number: [u8; NUMBER_BYTES]) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..NUMBER_BYTES].copy_from_slice(&number);
        nonce
    }

    /// Seals what lies between the number and the room for the tag.
    #[inline]
    fn seal(&self, packet: &mut [u8], n: u64) -> io::Result<()> {
        number(packet, n);
        let (head, rest) = packet.split_at_mut(NUMBER_BYTES);
        let (payload, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let nonce = PacketKey::nonce(n.to_le_bytes());
        let made = self.0.encrypt_in_place_detached(Nonce::from_slice(&nonce), head, payload);
        tag.copy_from_slice(&made.map_err(|_| io::Error::other("AES-128-GCM seals no packet so long"))?);
        Ok(())
    }

    /// Is it a packet of the other side? Then its payload lies there in the clear.
    #[inline]
    fn open(&self, packet: &mut [u8]) -> io::Result<()> {
        let forged = || io::Error::other("a packet came whose tag is not that of its bytes");
        let (head, rest) = packet.split_at_mut_checked(NUMBER_BYTES).ok_or_else(forged)?;
        let at = rest.len().checked_sub(TAG_BYTES).ok_or_else(forged)?;
        let (payload, tag) = rest.split_at_mut(at);
        let nonce = PacketKey::nonce(*head.first_chunk().ok_or_else(forged)?);
        let opened =
            self.0.decrypt_in_place_detached(Nonce::from_slice(&nonce), head, payload, Tag::from_slice(tag));
        opened.map_err(|_| forged())
    }
}

struct SealedSend {
    socket: RawFd,
    each: usize,
    key: PacketKey,
    acknowledgements: PacketKey,
    /// As the stream has it, and the packets of a call.
    plain: Buffer,
    packets: Buffer,
    arrived: Buffer,
    /// Up to here the receiver has acknowledged.
    acknowledged: u64,
}

impl SealedSend {
    fn new(socket: RawFd, message: &Message, point: &Point) -> SealedSend {
        SealedSend {
            socket,
            each: message.len(),
            key: PacketKey::new(0),
            acknowledgements: PacketKey::new(1),
            plain: contiguous(message, 1),
            packets: Buffer::zeroed(message.len() * per_call(point) as usize, PAGE),
            arrived: Buffer::zeroed(COALESCED_BYTES, PAGE),
            acknowledged: 0,
        }
    }

    /// Takes the acknowledgements that are there; returns the system calls.
    fn hear(&mut self) -> io::Result<u64> {
        let mut calls = 0;
        loop {
            calls += 1;
            let (got, each) =
                match datagram::receive_coalesced(self.socket, &mut self.arrived, libc::MSG_DONTWAIT) {
                    Ok((got, segment)) => (got, segment.unwrap_or(got).max(1)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(calls),
                    Err(error) => return Err(error),
                };
            for packet in self.arrived[..got].chunks_mut(each) {
                self.acknowledgements.open(packet)?;
                let word = packet[NUMBER_BYTES..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
                self.acknowledged = self.acknowledged.max(word);
            }
        }
    }
}

impl SendCall for SealedSend {
    fn send(&mut self, first: u64) -> io::Result<u64> {
        let payload = NUMBER_BYTES..self.each - TAG_BYTES;
        for (n, packet) in (first..).zip(self.packets.chunks_exact_mut(self.each)) {
            packet[payload.clone()].copy_from_slice(&self.plain[payload.clone()]);
            message::count_copied(payload.len() as u64);
            self.key.seal(packet, n)?;
        }
        let calls = socket::send_all(self.socket, &self.packets, 0)?;
        Ok(calls + self.hear()?)
    }
}

struct OpenedTake {
    key: PacketKey,
    acknowledgements: PacketKey,
    bytes: usize,
    /// What a message has where a packet has its tag.
    tail: [u8; TAG_BYTES],
    buffer: Buffer,
    every: u64,
    /// Packets taken, and acknowledgements sent.
    taken: u64,
    acknowledged: u64,
    packets: Buffer,
}

impl OpenedTake {
    fn new(bytes: usize, every: u64) -> OpenedTake {
        let mut plain = vec![0; bytes];
        message::fill(&mut plain, 0);
        OpenedTake {
            key: PacketKey::new(0),
            acknowledgements: PacketKey::new(1),
            bytes,
            tail: *plain.last_chunk().expect("a packet has room for its tag"),
            buffer: Buffer::zeroed(COALESCED_BYTES, PAGE),
            every,
            taken: 0,
            acknowledged: 0,
            packets: Buffer::zeroed(MOST_SEGMENTS * ACKNOWLEDGEMENT_BYTES, PAGE),
        }
    }

    /// One for so many packets, however many came together; returns the system calls.
    fn acknowledge(&mut self, socket: RawFd) -> io::Result<u64> {
        let mut calls = 0;
        while self.taken / self.every > self.acknowledged {
            let due = ((self.taken / self.every - self.acknowledged) as usize).min(MOST_SEGMENTS);
            let packets = &mut self.packets[..due * ACKNOWLEDGEMENT_BYTES];
            for packet in packets.chunks_exact_mut(ACKNOWLEDGEMENT_BYTES) {
                self.acknowledged += 1;
                let upto = self.acknowledged * self.every;
                packet[NUMBER_BYTES..][..8].copy_from_slice(&upto.to_le_bytes());
                self.acknowledgements.seal(packet, self.acknowledged)?;
            }
            calls += match socket::send_all(socket, packets, 0) {
                // A sender that has said its last word is gone.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => 1,
                sent => sent?,
            };
        }
        Ok(calls)
    }
}

impl TakeDatagrams for OpenedTake {
    fn take(&mut self, socket: RawFd, each: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
        let (got, segment) = match datagram::receive_coalesced(socket, &mut self.buffer, 0) {
            // An acknowledgement found nobody: the sender has said its last word, on the line.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                return Err(ErrorKind::WouldBlock.into());
            }
            got => got?,
        };
        if got == 0 {
            each(&[]);
            return Ok(1);
        }
        for packet in self.buffer[..got].chunks_mut(segment.unwrap_or(got).max(1)) {
            if packet.len() == self.bytes {
                self.key.open(packet)?;
                packet[self.bytes - TAG_BYTES..].copy_from_slice(&self.tail);
                self.taken += 1;
            }
            each(packet);
        }
        Ok(1 + self.acknowledge(socket)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_opens_as_it_was_sealed_and_no_other_does() {
        let (key, mut packet) = (PacketKey::new(0), vec![7u8; 100]);
        key.seal(&mut packet, 5).unwrap();
        assert_ne!(packet[NUMBER_BYTES..84], [7; 76]);
        let sealed = packet.clone();
        key.open(&mut packet).unwrap();
        assert_eq!((&packet[..8], &packet[8..84]), (&5u64.to_le_bytes()[..], &[7u8; 76][..]));
        for at in [0, 8, 83, 84, 99] {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(key.open(&mut damaged).is_err(), "byte {at}");
        }
        assert!(PacketKey::new(1).open(&mut sealed.clone()).is_err(), "another key");
        assert!(key.open(&mut [0; 10]).is_err(), "no room for a tag");
    }
}
