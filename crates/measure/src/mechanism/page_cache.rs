//! What the mechanisms share that send from the page cache or through a pipe: the file that holds the
//! messages, the pipe and its size, and the wait for the other side.
//!
//! Sources: memfd_create(2), pipe(7), fcntl(2) (F_SETPIPE_SZ), tcp(7) (SIOCOUTQ).

use super::{contiguous, per_call};
use crate::message::Message;
use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point};
use syscost_host::Unavailable;
use syscost_sys::socket;
use syscost_sys::splice::{self, Pipe};

/// What an ordinary user may ask for (fs.pipe-max-size as it comes).
const PIPE_BYTES: u64 = 1 << 20;
/// How long a sender that is done waits for the other side before it lets go of its file.
const DRAINING: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_micros(50);

/// The size of the pipe between memory or file and socket.
pub const PIPE_SIZE: Axis = IntAxis::new("pipe_bytes")
    .bytes(4096, 1 << 30)
    .flag("pipe-size", "pipe size")
    .help(
        "F_SETPIPE_SZ of the pipe that pages go through: it holds one piece of a page per 4 \
         KiB of size",
    )
    .default_on(Ints(&[PIPE_BYTES]));

/// The messages of a call one behind the other in a file of their own.
///
/// It stays open until the other side has acknowledged them all: the pages of a file that is gone
/// still hold the bytes that are on their way, but can no longer be told from the kernel's own memory
/// by who counts copies.
pub struct FileSource {
    socket: RawFd,
    pub file: File,
    /// Bytes of a call.
    pub bytes: u64,
}

impl FileSource {
    pub fn new(socket: RawFd, message: &Message, point: &Point) -> io::Result<FileSource> {
        let content = contiguous(message, per_call(point));
        let file = splice::memory_file(&content)?;
        Ok(FileSource { socket, file, bytes: content.len() as u64 })
    }

    /// sendfile(2) of all of it; returns the number of calls.
    #[inline]
    pub fn send(&self) -> io::Result<u64> {
        splice::send_file(self.socket, &self.file, self.bytes)
    }
}

impl Drop for FileSource {
    fn drop(&mut self) {
        let _ = drained(self.socket, DRAINING);
    }
}

/// Waits until the other side has acknowledged everything, or the connection failed. What MSG_MORE
/// holds back is sent first. Returns the system calls that it took.
pub fn drained(socket: RawFd, limit: Duration) -> io::Result<u64> {
    let start = Instant::now();
    let mut calls = 1;
    socket::push(socket)?;
    loop {
        calls += 1;
        if socket::unacknowledged(socket)? == 0 {
            return Ok(calls);
        }
        if start.elapsed() > limit {
            let why = format!("the other side acknowledged nothing more within {} s", limit.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        calls += 1;
        socket::sleep_while_connected(socket, NAP)?;
    }
}

/// The point's pipe, or why it cannot be had: the kernel makes it a power of two of pages, and no larger than an
/// ordinary user may have.
pub fn pipe(point: &Point) -> io::Result<Pipe> {
    let bytes = point.int_at(PIPE_SIZE.id).unwrap_or(PIPE_BYTES);
    let pipe = Pipe::sized(bytes as usize).map_err(|error| match error.raw_os_error() {
        // Not EMFILE: that is this process's limit on descriptors, whatever they are of.
        Some(libc::EPERM | libc::ENOMEM | libc::ENFILE) => io::Error::other(refused(bytes, &error)),
        _ => error,
    })?;
    match pipe.bytes()? as u64 {
        got if got == bytes => Ok(pipe),
        got => Err(io::Error::other(Unavailable {
            reason: format!("a pipe of {bytes} B was asked for, and the kernel makes one of {got} B"),
            remedy: format!("--pipe-size {got}"),
        })),
    }
}

/// Can this point have its pipe?
pub fn pipe_fits(point: &Point) -> Result<(), Unavailable> {
    pipe(point).map(drop).or_else(|error| error.downcast().map_or(Ok(()), Err))
}

fn refused(bytes: u64, error: &io::Error) -> Unavailable {
    Unavailable {
        reason: format!("the kernel refuses a pipe of {bytes} B ({error})"),
        remedy: "take a smaller --pipe-size or fewer threads or connections, or raise fs.pipe-max-size (the most for one pipe) and \
                 fs.pipe-user-pages-soft (pages of all pipes of an ordinary user)"
            .into(),
    }
}

/// Tries a way to move bytes once, on a file of one byte.
pub fn tried(call: &str, way: impl FnOnce(&File) -> io::Result<()>) -> Result<(), Unavailable> {
    splice::memory_file(b"x").and_then(|file| way(&file)).map_err(|error| Unavailable {
        reason: format!("the kernel refuses {call} of a file in memory ({error})"),
        remedy: format!("use a sandbox that passes {call}, memfd_create and fcntl(F_SETPIPE_SZ)"),
    })
}
