//! A drain: splice(2) moves pages of a socket through a pipe to /dev/null, and nobody reads them.
//!
//! Sources: splice(2), fcntl(2) (F_SETPIPE_SZ), pipe(7).

use super::call;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;

/// A pipe that ends in /dev/null.
#[derive(Debug)]
pub struct Drain {
    outlet: OwnedFd,
    inlet: OwnedFd,
    null: File,
    /// What the pipe holds, in whole pages.
    bytes: usize,
}

impl Drain {
    /// With a pipe of so many bytes, or of what the kernel gives where this user may have no more.
    pub fn of(bytes: usize) -> io::Result<Drain> {
        let (outlet, inlet) = call::pipe()?;
        // SAFETY: a live descriptor and numbers.
        unsafe { libc::fcntl(inlet.as_raw_fd(), libc::F_SETPIPE_SZ, bytes as libc::c_int) };
        // SAFETY: as above.
        let given = unsafe { libc::fcntl(inlet.as_raw_fd(), libc::F_GETPIPE_SZ) };
        if given <= 0 {
            return Err(io::Error::last_os_error());
        }
        let null = OpenOptions::new().write(true).open("/dev/null")?;
        Ok(Drain { outlet, inlet, null, bytes: given as usize })
    }

    /// What is in the socket's queue, as far as the pipe holds it; 0 means that the peer closed the stream.
    /// Waits where the socket is a blocking one.
    #[inline]
    pub fn fill(&self, socket: RawFd) -> io::Result<usize> {
        splice(socket, self.inlet.as_raw_fd(), self.bytes)
    }

    /// Throws away so many bytes that are in the pipe; returns the calls that it took.
    #[inline]
    pub fn empty(&self, mut bytes: usize) -> io::Result<u32> {
        let mut calls = 0;
        while bytes > 0 {
            calls += 1;
            match splice(self.outlet.as_raw_fd(), self.null.as_raw_fd(), bytes)? {
                0 => return Err(io::Error::other("/dev/null took nothing of a pipe")),
                gone => bytes -= gone,
            }
        }
        Ok(calls)
    }
}

/// Makes calls on this descriptor return EAGAIN instead of waiting.
pub fn never_wait(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes a descriptor and numbers.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    // SAFETY: as above.
    if flags < 0 || unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[inline]
fn splice(from: RawFd, to: RawFd, bytes: usize) -> io::Result<usize> {
    loop {
        // SAFETY: two descriptors that the caller holds, and no offsets.
        let moved = unsafe { libc::splice(from, null_mut(), to, null_mut(), bytes, libc::SPLICE_F_MOVE) };
        if moved >= 0 {
            return Ok(moved as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn what_was_sent_goes_down_the_drain() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (to, _) = listener.accept().unwrap();
        let drain = Drain::of(256 << 10).unwrap();
        assert!(drain.bytes > 0 && drain.bytes.is_multiple_of(4096), "{drain:?}");
        let sender = std::thread::spawn(move || from.write_all(&vec![1; 1 << 20]));
        let mut gone = 0;
        loop {
            let filled = drain.fill(to.as_raw_fd()).unwrap();
            if filled == 0 {
                break;
            }
            assert!(filled <= drain.bytes && drain.empty(filled).unwrap() > 0);
            gone += filled;
        }
        sender.join().unwrap().unwrap();
        assert_eq!(gone, 1 << 20);
    }

    #[test]
    fn an_empty_socket_need_not_be_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (to, _) = listener.accept().unwrap();
        never_wait(to.as_raw_fd()).unwrap();
        let error = Drain::of(64 << 10).unwrap().fill(to.as_raw_fd()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
