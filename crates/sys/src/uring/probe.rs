//! Tries what of io_uring this kernel has, without a connection: each function makes a ring and drops it.
//!
//! Source: io_uring_enter(2).

use super::Ring;
use super::recv::MultishotReceive;
use super::send::{Memory, SendMode, SendQueue};
use crate::buffer::Buffer;
use crate::mapping::page_bytes;
use std::io;
use std::os::fd::AsRawFd;

/// A ring at all.
pub fn ring() -> io::Result<()> {
    Ring::new(1, 2).map(drop)
}

/// A way to send, on a socket that is not connected: the kernel looks at the request before it looks at the
/// connection, so a refusal of the request is told from the want of a connection.
pub fn send(way: SendMode) -> io::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    let memory = Memory::of(vec![Buffer::zeroed(page_bytes(), page_bytes())]);
    let mut line = SendQueue::new(socket.as_raw_fd(), vec![memory], 1, way)?;
    match line.send(1) {
        Err(error) if [Some(libc::EPIPE), Some(libc::ENOTCONN)].contains(&error.raw_os_error()) => {
            line.settle()
        }
        result => result,
    }
}

/// Multishot receive with provided buffers, likewise.
pub fn receive() -> io::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    let mut stream = MultishotReceive::new(socket.as_raw_fd(), 1, page_bytes())?;
    match stream.receive() {
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Ok(()),
        result => result.map(drop),
    }
}
