//! `splice`: splice(2) of messages in a file to a pipe, and from there to the socket.
//!
//! What sendfile(2) does inside the kernel with a pipe of its own of 16 pages, done with a pipe whose
//! size is known: references to the page cache, no copy. SPLICE_F_MORE says that the rest of a call
//! follows, or with MSG_MORE that another call does. Sources: splice(2), pipe(7).

use super::page_cache::{FileSource, PIPE_SIZE, pipe, pipe_fits, tried};
use super::{
    About, Handover, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Packing, Reuse, Sender, SenderSetup, Sending,
};
use super::{more_flag, sender};
use crate::message::PAGE;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_sys::splice::{self, MORE, MOVE, Pipe};

pub struct Splice;

impl Mechanism for Splice {
    fn about(&self) -> About<Sending> {
        About {
            id: "splice",
            title: "zero-copy, splice",
            summary: "splice(2) of a file in memory to a pipe, and splice(2) of the pipe to the socket",
            source: "splice(2)",
            axes: &[MESSAGES_PER_CALL, MSG_MORE, PIPE_SIZE],
            ..About::of(Sending::of(Packing::Beforehand, Handover::Referenced, Reuse::File))
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        tried("splice(2)", |file| Pipe::sized(PAGE)?.fill(file, &mut 0, 1).map(drop))
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        pipe_fits(point)
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let socket = setup.socket;
        let at_end = if more_flag(setup.point) != 0 { MOVE | MORE } else { MOVE };
        let pipe = pipe(setup.point)?;
        let source = FileSource::new(socket, &setup.message, setup.point)?;
        Ok(sender(setup.point, move || send_call(socket, &source, &pipe, at_end)))
    }
}

/// Sends the file once, a pipe at a time; `at_end` are the flags of its last piece.
fn send_call(socket: RawFd, source: &FileSource, pipe: &Pipe, at_end: libc::c_uint) -> io::Result<u64> {
    let (mut offset, mut calls) = (0i64, 0);
    loop {
        let left = source.bytes - offset as u64;
        let filled = pipe.fill(&source.file, &mut offset, left as usize)?;
        if filled == 0 {
            return Err(splice::ended());
        }
        let last = offset as u64 == source.bytes;
        calls += 1 + pipe.drain_all(socket, filled, if last { at_end } else { MOVE | MORE })?;
        if last {
            return Ok(calls);
        }
    }
}
