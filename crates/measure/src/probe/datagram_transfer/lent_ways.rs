//! Datagrams whose memory the kernel borrows: send(2) with MSG_ZEROCOPY, of one datagram and of segments.
//!
//! Memory is written again only when the error queue has said that the kernel needs it no more. Over loopback and veth the
//! kernel copies it at the receiver's side instead, and says so. Source: Documentation/networking/msg_zerocopy.rst.

use super::pair::End;
use super::way::{self, HandsOver, SendCall, SendWay, number_all};
use crate::mechanism::zerocopy_ring::PendingSends;
use crate::mechanism::{Tally, contiguous, per_call};
use crate::message::Message;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_sys::buffer::Buffer;
use syscost_sys::socket;

/// Calls that may be in flight.
const SLOTS: usize = 32;
/// Calls between two looks at the error queue.
const REAP_EVERY: usize = 8;

pub const ZEROCOPY: SendWay = SendWay {
    id: "udp_zerocopy",
    available: lends,
    start: |end, message, point| LentDatagrams::start(end, &message, point),
    ..SendWay::PLAIN
};

pub const SEGMENT_ZEROCOPY: SendWay = SendWay {
    id: "udp_segment_zerocopy",
    hands_over: HandsOver::Segments,
    available: |socket| lends(socket).and_then(|()| way::segments_here(socket)),
    start: |end, message, point| {
        way::segmented(end, message.len())?;
        LentDatagrams::start(end, &message, point)
    },
    ..SendWay::PLAIN
};

fn lends(socket: RawFd) -> Result<(), Unavailable> {
    socket::enable_zerocopy(socket).map_err(|error| Unavailable {
        reason: format!("the kernel refuses SO_ZEROCOPY on a UDP socket ({error})"),
        remedy: "use Linux 5.0 or later, and a sandbox that passes setsockopt(SO_ZEROCOPY)".into(),
    })
}

struct LentDatagrams {
    socket: RawFd,
    each: usize,
    slots: Vec<Buffer>,
    pending: PendingSends,
    next: usize,
    tally: Tally,
}

impl LentDatagrams {
    fn start(end: &End, message: &Message, point: &Point) -> io::Result<Box<dyn SendCall>> {
        socket::enable_zerocopy(end.fd())?;
        let slots = (0..SLOTS).map(|_| contiguous(message, per_call(point))).collect();
        let (socket, each, pending) = (end.fd(), message.len(), PendingSends::new(SLOTS));
        Ok(Box::new(LentDatagrams { socket, each, slots, pending, next: 0, tally: Tally::default() }))
    }

    fn reap(&mut self) -> io::Result<bool> {
        self.pending.reap(self.socket, &mut self.tally)
    }

    fn wait(&mut self) -> io::Result<()> {
        self.tally.system_calls += 1;
        socket::wait_for_completion(self.socket)?;
        self.reap().map(|_| ())
    }
}

impl SendCall for LentDatagrams {
    fn send(&mut self, first: u64) -> io::Result<u64> {
        let slot = self.next;
        while self.pending.outstanding(slot) {
            self.wait()?;
        }
        number_all(&mut self.slots[slot], self.each, first);
        let calls = loop {
            match socket::send_all(self.socket, &self.slots[slot], libc::MSG_ZEROCOPY) {
                Ok(sent) => break sent,
                // No memory for more notifications (net.core.optmem_max), until some of ours are taken.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) && !self.pending.is_empty() => {
                    self.tally.enobufs += 1;
                    self.tally.system_calls += 1;
                    self.wait()?;
                }
                Err(error) => return Err(error),
            }
        };
        self.pending.sent(slot, calls);
        self.next = (slot + 1) % SLOTS;
        if self.next % REAP_EVERY == 0 {
            self.reap()?;
        }
        Ok(calls)
    }

    fn settle(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            self.wait()?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

impl Drop for LentDatagrams {
    /// What the kernel may still read is kept, not freed.
    fn drop(&mut self) {
        if !self.pending.is_empty() {
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}
