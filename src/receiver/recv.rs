//! `recv`: recv(2) into one large reused buffer. Source: recv(2).

use super::{About, Receive, Received, Receiver, Setup};
use crate::message::PAGE;
use crate::sys::{buffer::Buffer, socket};
use std::io;
use std::os::fd::RawFd;

/// Large enough that a full window is taken in a few calls, small enough to stay in L2.
const BUFFER_BYTES: usize = 512 * 1024;

pub struct Recv;

impl Receive for Recv {
    fn about(&self) -> About {
        About {
            id: "recv",
            title: "recv",
            aliases: &[],
            summary: "recv(2) into one large reused buffer",
            source: "recv(2)",
            in_default: true,
        }
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Receiver>> {
        Ok(Box::new(Reader { socket: setup.socket, buffer: Buffer::zeroed(BUFFER_BYTES, PAGE), filled: 0 }))
    }
}

struct Reader {
    socket: RawFd,
    buffer: Buffer,
    filled: usize,
}

impl Receiver for Reader {
    fn receive(&mut self) -> io::Result<Received> {
        self.filled = socket::receive(self.socket, &mut self.buffer, 0)?;
        Ok(Received { bytes: self.filled, system_calls: 1 })
    }

    fn last(&self) -> Option<&[u8]> {
        Some(&self.buffer[..self.filled])
    }
}
