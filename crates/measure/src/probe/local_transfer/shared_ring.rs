//! `shared_ring`: the message is copied into a ring that both processes map, and copied out of it: what a
//! transfer without the kernel costs. The ring itself is [`super::ring`].

use super::ring::{self, Consumer, Producer};
use super::way::{Carrier, CarrierAbout, apart};
use crate::mechanism::{self, Sender, Tally};
use crate::message::{self, Message, PAGE};
use crate::receiver::{Received, Receiver};
use anyhow::{Context, Result};
use std::io;
use std::os::unix::net::UnixStream;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_sys::buffer::Buffer;
use syscost_sys::{pass, shared_file::SharedFile};

/// Half of what is a core's own cache on most servers of today: the rest is for what is copied from and to.
/// A smaller ring makes its ends wait for each other more often.
pub const RING_BYTES: usize = 512 * 1024;
/// Both ends work at once on a message larger than this: it is shown and taken piece by piece.
pub const PIECE_BYTES: usize = 32 * 1024;

pub struct SharedRing;

impl Carrier for SharedRing {
    fn about(&self) -> CarrierAbout {
        CarrierAbout {
            id: "shared_ring",
            title: "shared memory ring",
            summary: "memcpy into a ring that both processes map, and out of it; a futex only where one has to wait long",
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        shared_memory()
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        RING_BYTES as u64
    }

    fn receive(&self, channel: &UnixStream, point: &Point) -> Result<Box<dyn Receiver>> {
        Ok(Box::new(Taker::new(RING_BYTES, channel, point)?))
    }

    fn send(&self, channel: &UnixStream, message: Message, point: &Point) -> Result<Box<dyn Sender>> {
        let ring = producer(channel, point)?;
        let per_call = mechanism::per_call(point);
        Ok(Box::new(Putter { ring, message, per_call }))
    }
}

/// May this process have memory to share?
pub fn shared_memory() -> Result<(), Unavailable> {
    SharedFile::new(PAGE).map(drop).map_err(|error| Unavailable {
        reason: format!("the kernel gives no memory to share between processes ({error})"),
        remedy: "allow memfd_create(2) and file seals where a sandbox refuses them".into(),
    })
}

/// The producer of the ring that the receiver passes.
pub fn producer(channel: &UnixStream, point: &Point) -> Result<Producer> {
    let memory = pass::receive_file(channel).context("no memory came to share")?;
    Producer::of(memory, channel.try_clone()?, apart(point)).context("cannot map the shared memory")
}

struct Putter {
    ring: Producer,
    message: Message,
    per_call: u64,
}

impl Sender for Putter {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            for _ in 0..self.per_call {
                for field in self.message.fields() {
                    self.ring.put(field, PIECE_BYTES)?;
                }
            }
            self.ring.publish();
        }
        message::count_copied(messages * self.message.len() as u64);
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally { system_calls: self.ring.system_calls(), ..Tally::default() }
    }
}

/// Copies out of a ring.
pub struct Taker {
    ring: Consumer,
    buffer: Buffer,
    filled: usize,
    system_calls: u64,
}

impl Taker {
    /// Makes a ring of this capacity and passes it to the sender.
    pub fn new(capacity: usize, channel: &UnixStream, point: &Point) -> Result<Taker> {
        let ring = ring::create(capacity, channel.try_clone()?, apart(point))
            .context("cannot make memory to share")?;
        pass::send_file(channel, ring.memory()).context("cannot pass the shared memory")?;
        Ok(Taker { ring, buffer: Buffer::zeroed(PIECE_BYTES, PAGE), filled: 0, system_calls: 0 })
    }
}

impl Receiver for Taker {
    fn receive(&mut self) -> io::Result<Received> {
        self.filled = self.ring.take(&mut self.buffer)?;
        let before = std::mem::replace(&mut self.system_calls, self.ring.system_calls());
        Ok(Received { bytes: self.filled, system_calls: (self.system_calls - before) as u32 })
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(vec![&self.buffer[..self.filled]])
    }
}
