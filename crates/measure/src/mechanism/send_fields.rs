//! `send_fields`: eight send(2) calls, one a field.
//!
//! What the simplest program does with a message in eight pieces. Source: send(2).

use super::{About, Handling, MSG_MORE, Mechanism, Sender, Setup, Tally, more_flag};
use crate::message::{FIELDS, Message};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Axis, Point};
use syscost_sys::socket;

pub struct SendFields;

impl Mechanism for SendFields {
    fn about(&self) -> About {
        About {
            id: "send_fields",
            title: "two-copy, 8 sends",
            aliases: &[],
            summary: "eight send(2) calls, one a field",
            source: "send(2)",
            in_default: true,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        &[MSG_MORE]
    }

    fn handling(&self, _: &Point) -> Option<Handling> {
        Some(Handling { calls: FIELDS as u64, ..Handling::PLAIN })
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        Ok(Box::new(Fields {
            socket: setup.socket,
            flags: more_flag(setup.point),
            message: setup.message,
            tally: Tally::default(),
        }))
    }
}

struct Fields {
    socket: RawFd,
    flags: libc::c_int,
    message: Message,
    tally: Tally,
}

impl Sender for Fields {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages {
            for field in self.message.fields() {
                self.tally.system_calls += socket::send_all(self.socket, field, self.flags)?;
            }
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
