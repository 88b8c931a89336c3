//! `copy`: one memcpy from core to core: what moving the bytes once costs.
//!
//! The message lies in memory that both processes map. The sender writes one word in each of its cache
//! lines, so that its core owns them as if it had just made the message; the receiver, on another core,
//! copies it out. Nothing else is done with the bytes: no transfer that puts them into memory of the receiver's
//! own does less. Where messages are larger than the ring, a ring holds one of them.

use super::ring::{Lines, Producer};
use super::shared_ring::{PIECE_BYTES, RING_BYTES, Taker, producer, shared_memory};
use super::way::{Carrier, CarrierAbout};
use crate::mechanism::{self, Sender, Tally};
use crate::message::{Message, PAGE};
use crate::probe::transfer::axes::MESSAGE_BYTES;
use crate::receiver::Receiver;
use anyhow::{Context, Result, ensure};
use std::io;
use std::os::unix::net::UnixStream;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_sys::buffer::Buffer;

pub struct Copy;

/// Whole messages, so that each byte of the ring is always the same byte of a message.
fn capacity(message_bytes: usize) -> usize {
    (RING_BYTES / message_bytes).max(1) * message_bytes
}

impl Carrier for Copy {
    fn about(&self) -> CarrierAbout {
        CarrierAbout {
            id: "copy",
            title: "copy between two cores",
            summary: "one memcpy by the receiver out of memory that the sender's core has just written",
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        shared_memory()
    }

    fn memory_bytes(&self, message_bytes: u64) -> u64 {
        capacity(message_bytes.max(1) as usize) as u64
    }

    fn receive(&self, channel: &UnixStream, point: &Point) -> Result<Box<dyn Receiver>> {
        let bytes = point.int(MESSAGE_BYTES).context("the point has no message size")? as usize;
        Ok(Box::new(Taker::new(capacity(bytes), channel, point)?))
    }

    fn send(&self, channel: &UnixStream, message: Message, point: &Point) -> Result<Box<dyn Sender>> {
        let ring = producer(channel, point)?;
        let bytes = message.len();
        ensure!(ring.capacity().is_multiple_of(bytes), "the ring does not hold whole messages");
        let mut packed = Buffer::zeroed(bytes, PAGE);
        message.pack_into(&mut packed);
        for offset in (0..ring.capacity()).step_by(bytes) {
            ring.prepare(offset, &packed);
        }
        let lines = ring.lines();
        Ok(Box::new(Owner { ring, lines, bytes, per_call: mechanism::per_call(point) }))
    }
}

struct Owner {
    ring: Producer,
    lines: Lines,
    bytes: usize,
    per_call: u64,
}

impl Sender for Owner {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            self.ring.rewrite(self.bytes * self.per_call as usize, &self.lines, PIECE_BYTES)?;
            self.ring.publish();
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally { system_calls: self.ring.system_calls(), ..Tally::default() }
    }
}
