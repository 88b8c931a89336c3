//! `pack_send`: memcpy of the eight fields into one buffer, then one send(2).
//!
//! The classical two-copy path: user fields -> user buffer -> socket buffer. Source: send(2).

use super::{About, Mechanism, Sender, Setup, Tally};
use crate::message::{Message, PAGE};
use crate::sys::{buffer::Buffer, socket};
use std::io;
use std::os::fd::RawFd;

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

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let packed = Buffer::zeroed(setup.message.len(), PAGE);
        Ok(Box::new(Packer { socket: setup.socket, message: setup.message, packed, tally: Tally::default() }))
    }
}

struct Packer {
    socket: RawFd,
    message: Message,
    packed: Buffer,
    tally: Tally,
}

impl Sender for Packer {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages {
            self.message.pack_into(&mut self.packed);
            self.tally.user_copied_bytes += self.packed.len() as u64;
            self.tally.system_calls += socket::send_all(self.socket, &self.packed, 0)?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
