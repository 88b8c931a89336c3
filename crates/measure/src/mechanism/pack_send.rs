//! `pack_send`: memcpy of the eight fields into one buffer, then one send(2).
//!
//! The classical two-copy path: user fields -> user buffer -> socket buffer. Several messages per call
//! are packed one behind the other and leave together. Source: send(2).

use super::{
    About, Handling, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Sender, Setup, Tally, copies, more_flag,
    per_call,
};
use crate::message::{Message, PAGE};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Axis, Point};
use syscost_sys::{buffer::Buffer, socket};

pub struct PackSend;

impl Mechanism for PackSend {
    fn about(&self) -> About {
        About {
            id: "pack_send",
            title: "two-copy",
            aliases: &["two-copy"],
            summary: "memcpy of the eight fields into one buffer, then one send(2)",
            source: "send(2)",
            in_default: true,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        &[MESSAGES_PER_CALL, MSG_MORE]
    }

    fn messages_held(&self, point: &Point) -> u64 {
        2 * per_call(point)
    }

    fn handling(&self, _: &Point) -> Option<Handling> {
        Some(Handling { packs: true, ..Handling::PLAIN })
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let packed = Buffer::zeroed(setup.message.len() * per_call(setup.point) as usize, PAGE);
        Ok(Box::new(Packer {
            socket: setup.socket,
            per_call: per_call(setup.point),
            flags: more_flag(setup.point),
            message_bytes: setup.message.len(),
            messages: copies(setup.message, per_call(setup.point) as usize),
            packed,
            tally: Tally::default(),
        }))
    }
}

struct Packer {
    socket: RawFd,
    per_call: u64,
    flags: libc::c_int,
    message_bytes: usize,
    /// Each in memory of its own, as a program has them that has several to send.
    messages: Vec<Message>,
    /// The messages of one call.
    packed: Buffer,
    tally: Tally,
}

impl Sender for Packer {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            for (message, room) in self.messages.iter().zip(self.packed.chunks_exact_mut(self.message_bytes))
            {
                message.pack_into(room);
            }
            self.tally.user_copied_bytes += self.packed.len() as u64;
            self.tally.system_calls += socket::send_all(self.socket, &self.packed, self.flags)?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
