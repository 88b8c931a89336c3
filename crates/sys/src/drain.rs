//! A drain: splice(2) moves pages of a socket through a pipe to /dev/null, and nobody reads them.
//!
//! Sources: splice(2), fcntl(2) (F_SETPIPE_SZ), pipe(7).

use super::splice::{MOVE, Pipe};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// A pipe that ends in /dev/null.
#[derive(Debug)]
pub struct Drain {
    pipe: Pipe,
    null: File,
    /// What the pipe holds, in whole pages.
    bytes: usize,
}

impl Drain {
    /// With a pipe of so many bytes, or of what the kernel gives where this user may have no more.
    pub fn of(bytes: usize) -> io::Result<Drain> {
        let pipe = Pipe::sized_if_allowed(bytes)?;
        let null = OpenOptions::new().write(true).open("/dev/null")?;
        Ok(Drain { bytes: pipe.bytes()?, pipe, null })
    }

    /// What is in the socket's queue, as far as the pipe holds it; 0 means that the peer closed the stream.
    /// Waits where the socket is a blocking one.
    #[inline]
    pub fn fill(&self, socket: RawFd) -> io::Result<usize> {
        self.pipe.fill_from(socket, self.bytes)
    }

    /// Throws away so many bytes that are in the pipe; returns the calls that it took.
    #[inline]
    pub fn empty(&self, bytes: usize) -> io::Result<u32> {
        self.pipe.drain_all(self.null.as_raw_fd(), bytes, MOVE).map(|calls| calls as u32)
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
        assert!(drain.bytes > 0 && drain.bytes % 4096 == 0, "{drain:?}");
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
        to.set_nonblocking(true).unwrap();
        let error = Drain::of(64 << 10).unwrap().fill(to.as_raw_fd()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
