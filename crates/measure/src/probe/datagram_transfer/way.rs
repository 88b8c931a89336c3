//! What a way to send and one to receive are: a row each, in a room of their own kind.
//!
//! Source: udp(7) (UDP_SEGMENT, UDP_GRO).

use super::pair::End;
use crate::mechanism::Tally;
use crate::message::Message;
use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_sys::datagram;

/// Bytes of a datagram's number, at its beginning.
pub const NUMBER_BYTES: usize = 8;

/// What a call of a way hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandsOver {
    One,
    /// Several datagrams, by sendmmsg(2).
    Several,
    /// One piece of memory that the kernel cuts.
    Segments,
    /// Several such pieces.
    SeveralSegmented,
}

/// A way to send.
pub struct SendWay {
    pub id: &'static str,
    pub hands_over: HandsOver,
    /// Sends from a socket that is not connected.
    pub unconnected: bool,
    /// Does this machine have it? Tried on a socket that is then thrown away.
    pub available: fn(RawFd) -> Result<(), Unavailable>,
    pub start: fn(&End, Message, &Point) -> io::Result<Box<dyn SendCall>>,
}

impl SendWay {
    pub const PLAIN: SendWay = SendWay {
        id: "",
        hands_over: HandsOver::One,
        unconnected: false,
        available: |_| Ok(()),
        start: |_, _, _| Err(ErrorKind::Unsupported.into()),
    };

    pub fn segments(&self) -> bool {
        matches!(self.hands_over, HandsOver::Segments | HandsOver::SeveralSegmented)
    }

    pub fn several(&self) -> bool {
        matches!(self.hands_over, HandsOver::Several | HandsOver::SeveralSegmented)
    }
}

/// One call of a way.
pub trait SendCall {
    /// Sends the datagrams of a call, the first with this number; returns the system calls that are not in its tally.
    fn send(&mut self, first: u64) -> io::Result<u64>;

    /// Waits until the kernel needs none of its memory.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Counts that `send` does not return.
    fn tally(&self) -> Tally {
        Tally::default()
    }
}

#[inline]
pub fn number(datagram: &mut [u8], number: u64) {
    datagram[..NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
}

#[inline]
pub fn number_all(datagrams: &mut [u8], each: usize, first: u64) {
    (first..).zip(datagrams.chunks_exact_mut(each)).for_each(|(n, datagram)| number(datagram, n));
}

pub fn segmented(end: &End, each: usize) -> io::Result<()> {
    datagram::segment(end.fd(), each as u16).map_err(|error| io::Error::other(no_segments(error)))
}

pub fn segments_here(socket: RawFd) -> Result<(), Unavailable> {
    datagram::segment(socket, 64).map_err(no_segments)
}

/// Why there is no segmentation.
fn no_segments(error: io::Error) -> Unavailable {
    Unavailable {
        reason: format!("the kernel refuses setsockopt(UDP_SEGMENT) ({error})"),
        remedy: "use Linux 4.18 or later, and a sandbox that passes it".into(),
    }
}

/// A way to receive.
pub struct ReceiveWay {
    pub id: &'static str,
    /// Does this machine have it? Tried on a socket that is then thrown away.
    pub available: fn(RawFd) -> Result<(), Unavailable>,
    /// For datagrams of so many bytes.
    pub start: fn(&End, usize, &Point) -> io::Result<Box<dyn TakeDatagrams>>,
}

/// One call of a way.
pub trait TakeDatagrams {
    /// Waits for datagrams, and hands over each; returns the system calls. `WouldBlock`: none came for a while.
    fn take(&mut self, socket: RawFd, each: &mut dyn FnMut(&[u8])) -> io::Result<u64>;
}

/// Why nothing is coalesced.
pub fn not_coalesced(error: io::Error) -> Unavailable {
    Unavailable {
        reason: format!("the kernel refuses setsockopt(UDP_GRO) ({error})"),
        remedy: "use Linux 5.0 or later, and a sandbox that passes it".into(),
    }
}

pub fn coalesced(end: &End) -> io::Result<()> {
    datagram::coalesce(end.fd()).map_err(|error| io::Error::other(not_coalesced(error)))
}
