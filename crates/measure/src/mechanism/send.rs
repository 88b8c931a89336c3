//! `send`: one contiguous buffer, one send(2): the control, without gather or packing.
//!
//! What a message costs that already lies in one piece; several messages per call lie one behind the
//! other. Source: send(2).

use super::{
    About, Handling, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Sender, Setup, Tally, contiguous, more_flag,
    per_call,
};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Axis, Point};
use syscost_sys::{buffer::Buffer, socket};

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

    fn axes(&self) -> &'static [Axis] {
        &[MESSAGES_PER_CALL, MSG_MORE]
    }

    fn handling(&self, _: &Point) -> Option<Handling> {
        Some(Handling::PLAIN)
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        Ok(Box::new(Contiguous {
            socket: setup.socket,
            per_call: per_call(setup.point),
            flags: more_flag(setup.point),
            whole: contiguous(&setup.message, per_call(setup.point)),
            tally: Tally::default(),
        }))
    }
}

struct Contiguous {
    socket: RawFd,
    per_call: u64,
    flags: libc::c_int,
    /// The messages of one call.
    whole: Buffer,
    tally: Tally,
}

impl Sender for Contiguous {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            self.tally.system_calls += socket::send_all(self.socket, &self.whole, self.flags)?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
