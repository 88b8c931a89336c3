//! `splice`: splice(2) of messages in a file to a pipe, and from there to the socket.
//!
//! What sendfile(2) does inside the kernel with a pipe of its own of 16 pages, done with a pipe whose
//! size is known: references to the page cache, no copy. SPLICE_F_MORE says that the rest of a call
//! follows, or with MSG_MORE that another call does. Sources: splice(2), pipe(7).

use super::page_cache::{PIPE_SIZE, Source, pipe, tried};
use super::{About, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Sender, Setup, Tally, per_call};
use crate::message::PAGE;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Axis;
use syscost_host::Unavailable;
use syscost_sys::splice::{self, MORE, MOVE, Pipe};

pub struct Splice;

impl Mechanism for Splice {
    fn about(&self) -> About {
        About {
            id: "splice",
            title: "zero-copy, splice",
            aliases: &[],
            summary: "splice(2) of a file in memory to a pipe, and splice(2) of the pipe to the socket",
            source: "splice(2)",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        &[MESSAGES_PER_CALL, MSG_MORE, PIPE_SIZE]
    }

    fn available(&self) -> Result<(), Unavailable> {
        tried("splice(2)", |file| Pipe::sized(PAGE)?.fill(file, &mut 0, 1).map(drop))
    }

    fn lies_in_a_file(&self) -> bool {
        true
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        Ok(Box::new(Splicer {
            socket: setup.socket,
            per_call: per_call(setup.point),
            at_end: if setup.point.text_at(MSG_MORE.id) == Some("on") { MOVE | MORE } else { MOVE },
            pipe: pipe(setup.point)?,
            source: Source::new(setup.socket, &setup.message, setup.point)?,
            tally: Tally::default(),
        }))
    }
}

struct Splicer {
    socket: RawFd,
    per_call: u64,
    /// Flags of a call's last piece.
    at_end: libc::c_uint,
    pipe: Pipe,
    source: Source,
    tally: Tally,
}

impl Splicer {
    fn send_call(&mut self) -> io::Result<()> {
        let mut offset = 0i64;
        loop {
            let left = self.source.bytes - offset as u64;
            self.tally.system_calls += 1;
            let filled = self.pipe.fill(&self.source.file, &mut offset, left as usize)?;
            if filled == 0 {
                return Err(splice::ended());
            }
            let last = offset as u64 == self.source.bytes;
            let flags = if last { self.at_end } else { MOVE | MORE };
            self.tally.system_calls += self.pipe.drain_all(self.socket, filled, flags)?;
            if last {
                return Ok(());
            }
        }
    }
}

impl Sender for Splicer {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            self.send_call()?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
