//! `io_uring_recv`: one multishot IORING_OP_RECV into provided buffers.
//!
//! The kernel picks a buffer for every piece that arrives, and the request stays armed; a call takes every
//! piece that is there and gives the buffers of the call before it back.
//! Source: io_uring_enter(2) (IORING_RECV_MULTISHOT), io_uring_register_buf_ring(3).

use super::{About, Delivery, Receive, Received, Receiver, ReceiverSetup};
use std::io;
use syscost_core::axis::Point;
use syscost_host::{Unavailable, uring};
use syscost_sys::uring::recv::MultishotReceive;

/// Together as large as what stays in L2 beside what the kernel copies from.
const BUFFERS: u16 = 8;
const BUFFER_BYTES: usize = 32 * 1024;

pub struct IoUringRecv;

impl Receive for IoUringRecv {
    fn about(&self) -> About<Delivery> {
        About {
            id: "io_uring_recv",
            title: "io_uring multishot recv",
            summary: "one multishot IORING_OP_RECV into buffers that the kernel picks from a provided ring",
            source: "io_uring_enter(2), io_uring_register_buf_ring(3)",
            ..About::of(Delivery::Copied)
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        uring::receives()
    }

    /// The ring takes what arrives off the socket at once, so that epoll never finds anything there.
    fn one_of_many(&self, _: &Point) -> Result<(), Unavailable> {
        Err(Unavailable {
            reason: "a multishot receive waits in a ring of its own, and a thread can wait in one of them"
                .into(),
            remedy: "--connections 1, or a receiver that reads from its socket".into(),
        })
    }

    fn start(&self, setup: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>> {
        Ok(Box::new(Multishot { stream: MultishotReceive::new(setup.socket, BUFFERS, BUFFER_BYTES)? }))
    }
}

struct Multishot {
    stream: MultishotReceive,
}

impl Receiver for Multishot {
    fn receive(&mut self) -> io::Result<Received> {
        let before = self.stream.enters();
        let bytes = self.stream.receive()?;
        Ok(Received { bytes, system_calls: (self.stream.enters() - before) as u32 })
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(self.stream.pieces().collect())
    }
}
