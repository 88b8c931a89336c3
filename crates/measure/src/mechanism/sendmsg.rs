//! `sendmsg`: one sendmsg(2) with an iovec for each field: the kernel gathers the fields.
//!
//! Several messages per call are gathered by one sendmsg(2) of all their iovecs.
//! Source: sendmsg(2), writev(2).

use super::{
    About, Handover, MESSAGES_PER_CALL, MSG_MORE, Packing, PlainCalls, Reuse, Sender, SenderSetup, Sending,
};
use super::{copies, fields, more_flag, per_call, sender};
use crate::message::Message;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Point;
use syscost_sys::socket::Gather;

pub static SENDMSG: PlainCalls = PlainCalls {
    about: About {
        id: "sendmsg",
        title: "one-copy",
        aliases: &["one-copy"],
        summary: "one sendmsg(2) with an iovec for each field: the kernel gathers the fields",
        source: "sendmsg(2)",
        in_default: true,
        axes: &[MESSAGES_PER_CALL, MSG_MORE],
        ..About::of(Sending::of(Packing::ByKernel, Handover::Copied, Reuse::AtReturn))
    },
    messages_held: |per_call| per_call,
    start,
};

fn start(setup: SenderSetup<'_>) -> Box<dyn Sender> {
    let (socket, flags) = (setup.socket, more_flag(setup.point));
    let mut gathered = Gathered::new(setup.message, setup.point);
    sender(setup.point, move || gathered.send(socket, flags))
}

/// The fields of a call's messages as one list of pieces. Used by its methods alone: a closure that named its
/// field would take that and let go of the messages.
pub struct Gathered {
    gather: Gather,
    /// Keeps alive what `gather` points to.
    _messages: Vec<Message>,
}

impl Gathered {
    pub fn new(message: Message, point: &Point) -> Gathered {
        let messages = copies(message, per_call(point) as usize);
        Gathered { gather: Gather::of(fields(&messages)), _messages: messages }
    }

    #[inline]
    fn send(&mut self, socket: RawFd, flags: libc::c_int) -> io::Result<u64> {
        let (calls, result) = self.gather.send(socket, flags);
        result.map(|()| calls)
    }

    /// By writev(2).
    #[inline]
    pub fn write(&mut self, socket: RawFd) -> io::Result<u64> {
        self.gather.write(socket)
    }
}
