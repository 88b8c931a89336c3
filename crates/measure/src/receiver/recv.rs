//! `recv`: recv(2) into one large reused buffer. Source: recv(2).

use super::options::{self, Waiting};
use super::{About, Delivery, Holder, Receive, Received, Receiver, Receiving, Setup};
use crate::message::PAGE;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Axis;
use syscost_sys::{buffer::Buffer, socket};

/// Large enough that a full window is taken in a few calls, small enough to stay in L2 beside what
/// the kernel copies from. 32 KiB to 512 KiB make no difference that can be told here.
pub const BUFFER_BYTES: usize = 128 * 1024;

pub struct Recv;

impl Receive for Recv {
    fn about(&self) -> About<Receiving> {
        About {
            id: "recv",
            title: "recv",
            aliases: &[],
            summary: "recv(2) into one large reused buffer",
            source: "recv(2)",
            in_default: true,
            facts: Receiving { delivery: Delivery::Copied, holder: Holder::Receiver },
        }
    }

    fn axes(&self) -> &'static [Axis] {
        options::OF_RECV
    }

    fn decodes(&self) -> bool {
        true
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Receiver>> {
        Ok(Box::new(Reader {
            socket: setup.socket,
            waiting: Waiting::of(setup.point),
            buffer: Buffer::zeroed(BUFFER_BYTES, PAGE),
            filled: 0,
        }))
    }
}

struct Reader {
    socket: RawFd,
    waiting: Waiting,
    buffer: Buffer,
    filled: usize,
}

impl Receiver for Reader {
    fn receive(&mut self) -> io::Result<Received> {
        let got = self.waiting.receive(|flags| socket::receive(self.socket, &mut self.buffer, flags))?;
        self.filled = got.bytes;
        Ok(got)
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(vec![&self.buffer[..self.filled]])
    }
}
