//! `sendmsg`: one sendmsg(2) with eight iovecs: the kernel gathers the fields.
//!
//! Several messages per call are gathered by one sendmsg(2) of eight times as many iovecs.
//! Source: sendmsg(2), writev(2).

use super::{
    About, Handling, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Sender, Setup, Tally, copies, fields, more_flag,
    per_call,
};
use crate::message::{FIELDS, Message};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Axis, Point};
use syscost_sys::socket::Gather;

pub struct SendMsg;

impl Mechanism for SendMsg {
    fn about(&self) -> About {
        About {
            id: "sendmsg",
            title: "one-copy",
            aliases: &["one-copy"],
            summary: "one sendmsg(2) with eight iovecs: the kernel gathers the fields",
            source: "sendmsg(2)",
            in_default: true,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        &[MESSAGES_PER_CALL, MSG_MORE]
    }

    fn messages_held(&self, point: &Point) -> u64 {
        per_call(point)
    }

    fn handling(&self, point: &Point) -> Option<Handling> {
        Some(Handling { pieces: FIELDS as u64 * per_call(point), ..Handling::PLAIN })
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let per_call = per_call(setup.point);
        let messages = copies(setup.message, per_call as usize);
        Ok(Box::new(Gatherer {
            socket: setup.socket,
            per_call,
            flags: more_flag(setup.point),
            gather: Gather::of(fields(&messages)),
            _messages: messages,
            tally: Tally::default(),
        }))
    }
}

struct Gatherer {
    socket: RawFd,
    per_call: u64,
    flags: libc::c_int,
    gather: Gather,
    /// Keeps alive what `gather` points to.
    _messages: Vec<Message>,
    tally: Tally,
}

impl Sender for Gatherer {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            let (calls, result) = self.gather.send(self.socket, self.flags);
            self.tally.system_calls += calls;
            result?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
