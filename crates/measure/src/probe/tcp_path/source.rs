//! What the sender's turns send: its memory, and the calls of a turn.

use super::steps::{self, PathStep, StepKind};
use crate::message::{self, PAGE};
use anyhow::{Context, Result, ensure};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use syscost_sys::buffer::Buffer;
use syscost_sys::socket::{self, Gather};

/// Lent pieces are not lent again before so many bytes are: a stream's memory in flight is no longer in the
/// nearest caches.
const LENT_RING_BYTES: usize = 4 << 20;
/// What the sender's turns use.
pub struct StepSource {
    pub step: &'static PathStep,
    /// One after another; a step that does not lend has one.
    ring: Vec<Gather>,
    next: usize,
    _pieces: Vec<Buffer>,
}

impl StepSource {
    pub fn of(step: &'static PathStep) -> StepSource {
        let each = step.bytes / step.pieces;
        let piece = |number: usize| {
            let mut buffer = Buffer::zeroed(each, PAGE.min(each.next_power_of_two()));
            message::fill(&mut buffer, number % step.pieces * each);
            buffer
        };
        let large = step.how == StepKind::Lent && step.bytes > PAGE;
        let lots = if large { LENT_RING_BYTES.div_ceil(step.bytes) } else { 1 };
        let pieces: Vec<Buffer> = (0..lots * step.pieces).map(piece).collect();
        let ring = pieces.chunks(step.pieces).map(Gather::of).collect();
        StepSource { step, ring, next: 0, _pieces: pieces }
    }

    /// The calls of a turn.
    pub fn send(&mut self, data: &TcpStream) -> Result<()> {
        (0..self.step.calls).try_for_each(|_| self.call(data))
    }

    /// So many calls, each of them answered with its bytes.
    pub fn exchange(&mut self, data: &TcpStream, calls: usize) -> Result<()> {
        let mut answered = [0; steps::SMALL_BYTES];
        for _ in 0..calls {
            self.call(data)?;
            wait_for(data, &mut answered)?;
        }
        Ok(())
    }

    fn call(&mut self, data: &TcpStream) -> Result<()> {
        let flags = match self.step.how {
            StepKind::Copied => 0,
            StepKind::Held => libc::MSG_MORE,
            StepKind::Lent => libc::MSG_ZEROCOPY,
        };
        let at = self.next % self.ring.len();
        self.next += 1;
        self.ring[at].send(data.as_raw_fd(), flags).1.context("cannot send")?;
        Ok(())
    }
}

/// Sleeps until so many bytes have come.
pub fn wait_for(data: &TcpStream, room: &mut [u8]) -> Result<()> {
    let got = socket::receive(data.as_raw_fd(), room, libc::MSG_WAITALL).context("cannot receive")?;
    ensure!(got == room.len(), "the stream ended inside a turn");
    Ok(())
}
