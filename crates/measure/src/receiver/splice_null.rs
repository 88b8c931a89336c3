//! `splice_null`: splice(2) from the socket through a pipe to /dev/null; no byte reaches user memory.
//!
//! Nobody gets the data: it is what the kernel's own side of receiving costs where pages are moved on
//! instead of copied, as to a file or another socket, and an upper bound for receivers that deliver. Bytes
//! that a device put beside the headers of a packet the kernel copies to a page first.
//! Source: splice(2).

use super::options::{LOW_WATER, ReceiveWait, WAITING};
use super::{About, Delivery, Receive, Received, Receiver, ReceiverSetup};
use rustix::io::ioctl_fionbio;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use syscost_sys::drain::Drain;

/// 64 pages, each of which may hold up to 32 KiB that were sent by one call. An ordinary user may have some
/// hundred of them (fs.pipe-user-pages-soft).
const PIPE_BYTES: usize = 256 << 10;

pub struct SpliceNull;

impl Receive for SpliceNull {
    fn about(&self) -> About<Delivery> {
        About {
            id: "splice_null",
            title: "moved on unseen: upper bound",
            summary: "splice(2) from the socket through a pipe to /dev/null: pages are moved on and dropped",
            source: "splice(2)",
            // No busy polling: splice(2) waits without it.
            axes: &[LOW_WATER, WAITING],
            ..About::of(Delivery::Discarded)
        }
    }

    fn start(&self, setup: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>> {
        let waiting = ReceiveWait::of(setup.point);
        if waiting == ReceiveWait::Spin {
            // SAFETY: the connection holds the descriptor for as long as its receiver lives.
            ioctl_fionbio(unsafe { BorrowedFd::borrow_raw(setup.socket) }, true)?;
        }
        Ok(Box::new(Splicer { socket: setup.socket, waiting, drain: Drain::of(PIPE_BYTES)?, moved: 0 }))
    }
}

struct Splicer {
    socket: RawFd,
    waiting: ReceiveWait,
    drain: Drain,
    moved: u64,
}

impl Receiver for Splicer {
    fn receive(&mut self) -> io::Result<Received> {
        let mut got = self.waiting.receive(|_| self.drain.fill(self.socket))?;
        got.system_calls += self.drain.empty(got.bytes)?;
        self.moved += got.bytes as u64;
        Ok(got)
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        None
    }

    fn uncopied_bytes(&self) -> u64 {
        self.moved
    }
}
