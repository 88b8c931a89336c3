//! `recv`: recv(2) into one reused buffer, large unless asked otherwise. Source: recv(2).

use super::options::{self, ReceiveWait};
use super::{About, Delivery, Receive, Received, Receiver, ReceiverSetup};
use crate::message::PAGE;
use std::io;
use std::os::fd::RawFd;
use syscost_sys::{buffer::Buffer, socket};

/// Large enough that a full window is taken in a few calls, small enough to stay in L2 beside what
/// the kernel copies from. 32 KiB to 512 KiB make no difference that can be told here.
pub const BUFFER_BYTES: usize = 128 * 1024;

pub static RECV: BufferReceive = BufferReceive {
    about: About {
        id: "recv",
        title: "recv",
        summary: "recv(2) into one large reused buffer",
        source: "recv(2)",
        in_default: true,
        axes: options::OF_RECV,
        ..About::of(Delivery::Copied)
    },
    flags: 0,
};

/// A receiver by recv(2).
pub struct BufferReceive {
    pub about: About<Delivery>,
    /// MSG_TRUNC, or nothing.
    pub flags: libc::c_int,
}

impl Receive for BufferReceive {
    fn about(&self) -> About<Delivery> {
        self.about
    }

    fn decodes(&self) -> bool {
        self.flags == 0
    }

    fn start(&self, setup: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>> {
        Ok(Box::new(BufferReader {
            socket: setup.socket,
            waiting: ReceiveWait::of(setup.point),
            flags: self.flags,
            // With MSG_TRUNC never written, so no page of it is ever there; a kernel that did copy would be safe.
            buffer: Buffer::zeroed(options::read_bytes(setup.point, setup.message_bytes, BUFFER_BYTES), PAGE),
            filled: 0,
            dropped: 0,
        }))
    }
}

/// Reads into one buffer, or with MSG_TRUNC into nothing.
struct BufferReader {
    socket: RawFd,
    waiting: ReceiveWait,
    flags: libc::c_int,
    buffer: Buffer,
    filled: usize,
    dropped: u64,
}

impl Receiver for BufferReader {
    fn receive(&mut self) -> io::Result<Received> {
        let receive = |flags| socket::receive(self.socket, &mut self.buffer, flags | self.flags);
        let got = self.waiting.receive(receive)?;
        self.filled = got.bytes;
        self.dropped += if self.flags == 0 { 0 } else { got.bytes as u64 };
        Ok(got)
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        (self.flags == 0).then(|| vec![&self.buffer[..self.filled]])
    }

    fn uncopied_bytes(&self) -> u64 {
        self.dropped
    }
}
