//! `send`: one contiguous buffer, one send(2): the control, without gather or packing.
//!
//! What a message costs that already lies in one piece. Source: send(2).

use super::{About, Mechanism, Sender, Setup, Tally};
use crate::message::PAGE;
use crate::sys::{buffer::Buffer, socket};
use std::io;
use std::os::fd::RawFd;

pub struct Send;

impl Mechanism for Send {
    fn about(&self) -> About {
        About {
            id: "send",
            title: "contiguous send",
            aliases: &[],
            summary: "one contiguous buffer, one send(2): the control, no gather",
            source: "send(2)",
            in_default: true,
        }
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let mut whole = Buffer::zeroed(setup.message.len(), PAGE);
        setup.message.pack_into(&mut whole);
        Ok(Box::new(Contiguous { socket: setup.socket, whole, tally: Tally::default() }))
    }
}

struct Contiguous {
    socket: RawFd,
    whole: Buffer,
    tally: Tally,
}

impl Sender for Contiguous {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages {
            self.tally.system_calls += socket::send_all(self.socket, &self.whole, 0)?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
