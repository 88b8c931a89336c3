//! A user's own way to receive: calls into the object that it comes from, a piece of the stream at a time.
//!
//! What it does between the socket and its memory is not seen. It hands back every byte, and these are verified as those of
//! every receiver are. What it says that it took is compared with what left the socket: at first, and when it says
//! that the stream has ended.

use super::{About, Delivery, Receive, Received, Receiver, ReceiverSetup, UnknownCounts};
use crate::message::{self, MessageShape};
use crate::own::OwnCode;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Point;
use syscost_sys::own_object::OwnReceiving;
use syscost_sys::socket;

/// Calls after which the socket is no more asked: that would be part of their cost.
const COUNTED: u32 = 32;

impl Receive for OwnCode {
    fn about(&self) -> About<Delivery> {
        self.described(Delivery::Unseen)
    }

    /// One, as most have.
    fn messages_held(&self, _: &Point) -> u64 {
        1
    }

    fn start(&self, setup: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>> {
        let ReceiverSetup { socket, message_bytes, point } = setup;
        let library = self.open().map_err(io::Error::other)?;
        let lengths = MessageShape::of(point).lengths(message_bytes as u64);
        let before = socket::taken(socket).ok().flatten().map(|taken| taken.bytes);
        let receiving = library.receiver(&self.entry.called, socket, &lengths, &self.settings(point))?;
        Ok(Box::new(OwnReceiver { receiving, socket, before, bytes: 0, calls: 0, name: self.name() }))
    }
}

struct OwnReceiver {
    receiving: OwnReceiving,
    socket: RawFd,
    /// Taken before the first call; `None`: this kernel does not count it.
    before: Option<u64>,
    /// Handed back.
    bytes: u64,
    calls: u32,
    name: &'static str,
}

impl OwnReceiver {
    fn has_taken_what_it_says(&self, ended: bool) -> io::Result<()> {
        let now = socket::taken(self.socket).ok().flatten();
        let Some((before, now)) = self.before.zip(now) else { return Ok(()) };
        let (name, said, taken) = (self.name, self.bytes, now.bytes.saturating_sub(before));
        let what = match ended {
            true if !now.closed => format!("says that the stream has ended, after {said} B, and it goes on"),
            true if said == taken => return Ok(()),
            // More may have arrived since it looked.
            false if said <= taken => return Ok(()),
            _ => format!("took {taken} B off the socket, and handed back {said} B"),
        };
        Err(io::Error::other(format!("your receiver {name} {what}")))
    }
}

impl Receiver for OwnReceiver {
    #[inline]
    fn receive(&mut self) -> io::Result<Received> {
        let before = self.receiving.received;
        let bytes = self.receiving.receive()?;
        let now = &self.receiving.received;
        let system_calls = now.system_calls.wrapping_sub(before.system_calls) as u32;
        message::count_copied(now.copied_bytes.wrapping_sub(before.copied_bytes));
        self.bytes += bytes as u64;
        if self.calls < COUNTED || bytes == 0 {
            self.calls += 1;
            self.has_taken_what_it_says(bytes == 0)?;
        }
        Ok(Received { bytes, system_calls })
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(self.receiving.last())
    }

    fn uncopied_bytes(&self) -> u64 {
        self.receiving.received.uncopied_bytes
    }

    fn unknown(&self) -> UnknownCounts {
        let received = &self.receiving.received;
        UnknownCounts {
            system_calls: received.system_calls == 0,
            uncopied_bytes: received.uncopied_bytes == 0,
        }
    }
}
