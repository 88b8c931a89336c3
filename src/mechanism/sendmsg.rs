//! `sendmsg`: one sendmsg(2) with eight iovecs: the kernel gathers the fields.
//!
//! Source: sendmsg(2), writev(2).

use super::{About, Mechanism, Sender, Setup, Tally};
use crate::message::Message;
use crate::sys::socket::Gather;
use std::io;
use std::os::fd::RawFd;

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

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let gather = Gather::of(setup.message.fields());
        Ok(Box::new(Gatherer {
            socket: setup.socket,
            gather,
            _message: setup.message,
            tally: Tally::default(),
        }))
    }
}

struct Gatherer {
    socket: RawFd,
    gather: Gather,
    /// Keeps alive what `gather` points to.
    _message: Message,
    tally: Tally,
}

impl Sender for Gatherer {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages {
            let (calls, result) = self.gather.send(self.socket, 0);
            self.tally.system_calls += calls;
            result?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
