//! `pipe`: writev(2) into a pipe and read(2) out of it. Sources: pipe(7), fcntl(2) (F_SETPIPE_SZ).

use super::files::{FileTaker, Gatherer};
use super::way::{Carrier, CarrierAbout};
use crate::mechanism::{self, Sender};
use crate::message::Message;
use crate::receiver::Receiver;
use anyhow::{Context, Result};
use rustix::pipe::fcntl_setpipe_size;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use syscost_core::axis::Point;
use syscost_sys::pass;

/// What every user may ask for unless fs.pipe-max-size was lowered; a pipe is 64 KiB otherwise.
const PIPE_BYTES: usize = 1 << 20;

pub struct PipeCarrier;

impl Carrier for PipeCarrier {
    fn about(&self) -> CarrierAbout {
        CarrierAbout {
            id: "pipe",
            title: "pipe",
            summary: "writev(2) of the eight fields into a pipe of 1 MiB, read(2): copied in and copied out",
        }
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        PIPE_BYTES as u64
    }

    fn receive(&self, channel: &UnixStream, _: &Point) -> Result<Box<dyn Receiver>> {
        let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
        // A user whose pipes together are over fs.pipe-user-pages-soft keeps the size that there is.
        let _ = fcntl_setpipe_size(&reader, PIPE_BYTES);
        pass::send_file(channel, writer.as_fd()).context("cannot pass the pipe")?;
        Ok(Box::new(FileTaker::new(File::from(OwnedFd::from(reader)))))
    }

    fn send(&self, channel: &UnixStream, message: Message, point: &Point) -> Result<Box<dyn Sender>> {
        let writer = File::from(pass::receive_file(channel).context("no pipe came")?);
        Ok(Box::new(Gatherer::new(writer, message, mechanism::per_call(point))))
    }
}
