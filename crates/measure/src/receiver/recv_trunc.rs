//! `recv_trunc`: recv(2) with MSG_TRUNC, which takes bytes off a TCP stream without copying them.
//!
//! Nobody gets the data: it is what receiving costs without the copy to user memory, an upper bound for
//! every receiver that delivers. Calls are as large as those of the ordinary receiver, so that only the
//! copy differs. Source: tcp(7), MSG_TRUNC.

use super::options::{self, Waiting};
use super::recv::BUFFER_BYTES;
use super::{About, Delivery, Holder, Receive, Received, Receiver, Receiving, Setup};
use crate::message::PAGE;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Axis;
use syscost_sys::{buffer::Buffer, socket};

pub struct RecvTrunc;

impl Receive for RecvTrunc {
    fn about(&self) -> About<Receiving> {
        About {
            id: "recv_trunc",
            title: "discards: upper bound",
            aliases: &[],
            summary: "recv(2) with MSG_TRUNC: the bytes are dropped in the kernel and copied to nobody",
            source: "tcp(7), MSG_TRUNC",
            in_default: false,
            facts: Receiving { delivery: Delivery::Discarded, holder: Holder::Nobody },
        }
    }

    fn axes(&self) -> &'static [Axis] {
        options::OF_RECV
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Receiver>> {
        Ok(Box::new(Dropper {
            socket: setup.socket,
            waiting: Waiting::of(setup.point),
            // Never written, so no page of it is ever there; a kernel that did copy would be safe.
            buffer: Buffer::zeroed(BUFFER_BYTES, PAGE),
            dropped: 0,
        }))
    }
}

struct Dropper {
    socket: RawFd,
    waiting: Waiting,
    buffer: Buffer,
    dropped: u64,
}

impl Receiver for Dropper {
    fn receive(&mut self) -> io::Result<Received> {
        let receive = |flags| socket::receive(self.socket, &mut self.buffer, flags | libc::MSG_TRUNC);
        let got = self.waiting.receive(receive)?;
        self.dropped += got.bytes as u64;
        Ok(got)
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        None
    }

    fn uncopied_bytes(&self) -> u64 {
        self.dropped
    }
}
