//! The mechanisms over io_uring: a line of messages, one linked chain a call.
//!
//! N messages a call are N linked requests of one io_uring_enter(2), each of which waits until its whole
//! message is taken: bytes are never reordered. Every message of a call, and with zero-copy every message
//! in flight, has memory of its own. Source: io_uring_enter(2).

use super::msg_zerocopy::{REAP_AXES, in_flight};
use super::zerocopy_ring::start_send_buffer;
use super::{
    About, Handover, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Packing, Sender, SenderSetup, Sending, Tally,
};
use super::{contiguous, more_flag, per_call};
use crate::message::{Alignment, Message, PAGE};
use std::io;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_host::{Unavailable, uring};
use syscost_sys::buffer::Buffer;
use syscost_sys::uring::send::{Memory, SendMode, SendQueue};

/// Registered buffers.
const REGISTERED: Axis = NameAxis::new("registered")
    .switch()
    .flag("registered", "registered buffers")
    .help(
        "on: the memory of the messages is registered with the ring once, and not looked up \
         and pinned at every send",
    )
    .default_on(Names(&["off"]));

/// Axes of those that copy.
pub const COPYING_AXES: &[Axis] = &[MESSAGES_PER_CALL, MSG_MORE];
/// Axes of those that reap notifications. Not MSG_MORE: a held-back segment is not acknowledged, and its
/// memory comes back only when the kernel's timer sends it after all.
pub const ZERO_COPY_AXES: &[Axis] = &[MESSAGES_PER_CALL, REAP_AXES[0], REAP_AXES[1], REGISTERED];

/// Between fields that share a registered buffer: they stay pieces.
const GAP: usize = 16;

/// A mechanism over io_uring: its facts say which request it makes.
pub struct Uring(pub About<Sending>);

impl Uring {
    fn zero_copy(&self) -> bool {
        self.0.facts.handover == Handover::Referenced
    }

    fn way(&self, point: &Point) -> SendMode {
        let zero_copy = self.zero_copy();
        SendMode {
            gathered: self.0.facts.packing == Packing::ByKernel,
            zero_copy,
            registered: zero_copy && point.text_at(REGISTERED.id) == Some("on"),
            flags: if zero_copy { 0 } else { more_flag(point) },
        }
    }

    /// Messages in memory: those of a call, and with zero-copy those in flight.
    fn slots(&self, point: &Point) -> u64 {
        if self.zero_copy() { in_flight(point).max(per_call(point)) } else { per_call(point) }
    }
}

impl Mechanism for Uring {
    fn about(&self) -> About<Sending> {
        self.0
    }

    fn available(&self) -> Result<(), Unavailable> {
        uring::sends(self.way(&Point::default()))
    }

    /// How much may be registered depends on sizes: `start` finds that out.
    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        let way = self.way(point);
        if way.registered { uring::sends(way) } else { Ok(()) }
    }

    fn messages_held(&self, point: &Point) -> u64 {
        1 + self.slots(point)
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let way = self.way(setup.point);
        let call = per_call(setup.point);
        let reap_batch = setup.point.int_at(REAP_AXES[0].id).unwrap_or(1);
        if way.zero_copy {
            start_send_buffer(setup.socket, setup.point, self.slots(setup.point))?;
        }
        let memory = (0..self.slots(setup.point)).map(|_| memory(&setup.message, way)).collect();
        let line =
            SendQueue::new(setup.socket, memory, call as usize, way).map_err(|error| match error.kind() {
                io::ErrorKind::OutOfMemory => io::Error::new(error.kind(), uring::cannot_lock(&error)),
                _ => error,
            })?;
        Ok(Box::new(Submitter { line, call, reap_batch, since_look: 0, zero_copy: way.zero_copy }))
    }
}

/// A copy of the message as this way wants it to lie.
fn memory(message: &Message, way: SendMode) -> Memory {
    if !way.gathered {
        return Memory::of(vec![contiguous(message, 1)]);
    }
    if !way.registered {
        return Memory::of(message.twin().into_fields());
    }
    let align = match message.alignment() {
        Alignment::Heap => GAP,
        Alignment::Page => PAGE,
    };
    let mut end = 0;
    let parts: Vec<_> = message
        .fields()
        .iter()
        .map(|field| {
            let start = end;
            // At least the gap behind each field.
            end = (start + field.len() + GAP).next_multiple_of(align);
            start..start + field.len()
        })
        .collect();
    let mut shared = Buffer::zeroed(end, PAGE);
    for (part, field) in parts.iter().zip(message.fields()) {
        shared[part.clone()].copy_from_slice(field);
    }
    Memory::within(shared, &parts)
}

struct Submitter {
    line: SendQueue,
    /// Messages of one submission.
    call: u64,
    /// Messages between two looks for notifications, and since the last one.
    reap_batch: u64,
    since_look: u64,
    zero_copy: bool,
}

impl Sender for Submitter {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        let mut left = messages;
        while left > 0 {
            let chain = left.min(self.call);
            self.line.send(chain as usize)?;
            left -= chain;
            self.since_look += chain;
            if self.zero_copy && self.since_look >= self.reap_batch {
                self.since_look = 0;
                self.line.look()?;
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.line.settle()
    }

    fn tally(&self) -> Tally {
        let counts = self.line.counts();
        Tally {
            system_calls: counts.enters,
            completions: counts.notifications,
            completions_copied: counts.copied,
            enobufs: counts.starved,
            queue_entries: counts.entries,
            ..Tally::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::io_uring_send_zc::IO_URING_SEND_ZC;
    use crate::mechanism::io_uring_sendmsg::IO_URING_SENDMSG;
    use syscost_core::axis::Value;

    #[test]
    fn only_zero_copy_registers_and_only_copies_hold_segments_back() {
        let mut point = Point::default();
        point.set("registered", Value::text("on"));
        point.set("msg_more", Value::text("on"));
        let lent = SendMode { zero_copy: true, registered: true, ..SendMode::default() };
        assert_eq!(IO_URING_SEND_ZC.way(&point), lent);
        let gathered = SendMode { gathered: true, flags: libc::MSG_MORE, ..SendMode::default() };
        assert_eq!(IO_URING_SENDMSG.way(&point), gathered);
    }
}
