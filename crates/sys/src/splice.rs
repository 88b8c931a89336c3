//! splice(2), vmsplice(2), sendfile(2), sized pipes and files in memory: EINTR retried, errors as
//! `io::Error`.
//!
//! Sources: splice(2), vmsplice(2), sendfile(2), memfd_create(2), fcntl(2) (F_SETPIPE_SZ), pipe(7).

use super::pipe::pipe;
use super::socket::{advance, length_or_retry};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;

pub use libc::{SPLICE_F_MORE as MORE, SPLICE_F_MOVE as MOVE, SPLICE_F_NONBLOCK as NONBLOCK};

/// Pieces of memory that one call takes (UIO_MAXIOV).
const IOV_MAX: usize = 1024;

/// A pipe of a stated size.
#[derive(Debug)]
pub struct Pipe {
    reader: File,
    writer: File,
}

impl Pipe {
    /// The kernel rounds the size up to a power of two of pages. An ordinary user may not go beyond
    /// fs.pipe-max-size, nor beyond fs.pipe-user-pages-soft with all pipes together (EPERM).
    pub fn sized(bytes: usize) -> io::Result<Pipe> {
        let (reader, writer) = pipe()?;
        fcntl_setpipe_size(&writer, bytes)?;
        Ok(Pipe { reader, writer })
    }

    /// Of so many bytes, or of what the kernel gives where this user may have no more.
    pub fn sized_if_allowed(bytes: usize) -> io::Result<Pipe> {
        let (reader, writer) = pipe()?;
        let _ = fcntl_setpipe_size(&writer, bytes);
        Ok(Pipe { reader, writer })
    }

    /// What the kernel made of the size.
    pub fn bytes(&self) -> io::Result<usize> {
        Ok(fcntl_getpipe_size(&self.writer)?)
    }

    /// Moves up to `bytes` of a file from `offset` into the pipe; `offset` moves on.
    #[inline]
    pub fn fill(&self, file: &File, offset: &mut i64, bytes: usize) -> io::Result<usize> {
        splice(file.as_raw_fd(), offset, self.writer.as_raw_fd(), bytes, MOVE | NONBLOCK)
    }

    /// Moves up to `bytes` that a socket has received into the pipe; 0 means that the peer closed the stream.
    #[inline]
    pub fn fill_from(&self, socket: RawFd, bytes: usize) -> io::Result<usize> {
        splice(socket, std::ptr::null_mut(), self.writer.as_raw_fd(), bytes, MOVE)
    }

    /// Moves `bytes` that are in the pipe to a socket or file; returns the number of calls.
    #[inline]
    pub fn drain_all(&self, socket: RawFd, mut bytes: usize, flags: libc::c_uint) -> io::Result<u64> {
        let mut calls = 0;
        while bytes > 0 {
            calls += 1;
            match splice(self.reader.as_raw_fd(), std::ptr::null_mut(), socket, bytes, flags)? {
                0 => return Err(nothing_taken()),
                moved => bytes -= moved,
            }
        }
        Ok(calls)
    }
}

#[inline]
fn splice(from: RawFd, offset: *mut i64, to: RawFd, bytes: usize, flags: libc::c_uint) -> io::Result<usize> {
    loop {
        // SAFETY: `offset` is null or comes from a live reference of the caller's; the rest is numbers.
        let moved = unsafe { libc::splice(from, offset, to, std::ptr::null_mut(), bytes, flags) };
        if let Some(moved) = length_or_retry(moved)? {
            return Ok(moved);
        }
    }
}

/// sendfile(2) until `bytes` of the file from its start are out; returns the number of calls.
#[inline]
pub fn send_file(socket: RawFd, file: &File, bytes: u64) -> io::Result<u64> {
    let mut offset: i64 = 0;
    let mut calls = 0;
    while (offset as u64) < bytes {
        calls += 1;
        let left = (bytes - offset as u64) as usize;
        // SAFETY: `offset` is live; the kernel moves it on.
        let sent = unsafe { libc::sendfile(socket, file.as_raw_fd(), &mut offset, left) };
        if length_or_retry(sent)? == Some(0) {
            return Err(ended());
        }
    }
    Ok(calls)
}

fn nothing_taken() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "nothing was taken of what a pipe holds")
}

/// A file that ends before its time: somebody truncated it.
pub fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file is shorter than what is to be sent of it")
}

/// A file without a name, in memory, with this content: its pages are page cache.
pub fn memory_file(content: &[u8]) -> io::Result<File> {
    let file = File::from(memfd_create("syscost", MemfdFlags::CLOEXEC)?);
    file.write_all_at(content, 0)?;
    Ok(file)
}

/// Stretches of memory to be lent to a pipe. It borrows nothing: whoever pushes one keeps it mapped
/// until it is in the pipe, and unchanged until everybody who gets it from there has read it.
#[derive(Debug, Default)]
pub struct Lent {
    left: Vec<libc::iovec>,
}

impl Lent {
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.left.push(libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// vmsplice(2) of as much as the pipe has room for; returns the bytes. Not SPLICE_F_GIFT: a gift
    /// may never be written again, and a socket takes no ownership of pages anyway.
    #[inline]
    pub fn enter(&mut self, pipe: &Pipe) -> io::Result<usize> {
        loop {
            // SAFETY: the pushed stretches are live; the kernel takes references to their pages.
            let lent = unsafe {
                libc::vmsplice(
                    pipe.writer.as_raw_fd(),
                    self.left.as_ptr(),
                    self.left.len().min(IOV_MAX),
                    NONBLOCK,
                )
            };
            if let Some(lent) = length_or_retry(lent)? {
                advance(&mut self.left, lent);
                return Ok(lent);
            }
        }
    }
}

// SAFETY: the pointers are only handed to the kernel; who pushed them keeps them alive (see `Lent`).
unsafe impl Send for Lent {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_of_files_and_memory_go_through_a_pipe_to_a_socket() {
        let (mut receiver, sender) = UnixStream::pair().unwrap();
        let pipe = Pipe::sized(1 << 16).unwrap();
        let file = memory_file(b"from a file, ").unwrap();
        let mut offset = 5;
        assert_eq!(pipe.fill(&file, &mut offset, 100).unwrap(), 8);
        assert_eq!(offset, 13);
        let mut memory = Buffer::zeroed(6, 16);
        memory.copy_from_slice(b"memory");
        let mut lent = Lent::default();
        lent.push(&memory[..2]);
        lent.push(&memory[2..]);
        assert_eq!(lent.enter(&pipe).unwrap(), 6);
        assert!(lent.is_empty());
        assert_eq!(pipe.drain_all(sender.as_raw_fd(), 14, MOVE).unwrap(), 1);
        assert_eq!(send_file(sender.as_raw_fd(), &file, 4).unwrap(), 1);
        drop(sender);
        let mut said = String::new();
        receiver.read_to_string(&mut said).unwrap();
        assert_eq!(said, "a file, memoryfrom");
    }

    #[test]
    fn a_file_that_is_too_short_is_an_error_and_no_endless_loop() {
        let (_receiver, sender) = UnixStream::pair().unwrap();
        let file = memory_file(b"short").unwrap();
        assert!(send_file(sender.as_raw_fd(), &file, 6).is_err());
    }
}
