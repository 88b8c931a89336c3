//! Readiness of many descriptors: one call says which of them can be read.
//!
//! Level-triggered: what was not read up is told again. Sources: epoll(7), epoll_wait(2).

use super::socket::length_or_retry;
use super::status::done;
use rustix::event::epoll::{self, CreateFlags};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Descriptors that are told of in one call at most: each call then brings work for a while, and what it
/// fills stays in the nearest caches.
const AT_ONCE: usize = 256;

/// Descriptors that are waited for. None of them is owned.
pub struct Epoll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
    ready: usize,
}

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Epoll { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; AT_ONCE], ready: 0 })
    }

    /// Waits for this descriptor too, and calls it by this number.
    pub fn add(&mut self, fd: RawFd, number: usize) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number as u64 };
        self.control(libc::EPOLL_CTL_ADD, fd, &raw mut event)
    }

    pub fn remove(&mut self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut())
    }

    fn control(&mut self, what: libc::c_int, fd: RawFd, event: *mut libc::epoll_event) -> io::Result<()> {
        // SAFETY: the callers' event is live or not read, and the kernel only reads it.
        done(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, event) })
    }

    /// Sleeps until something can be read, or has ended; returns how many [`Epoll::number`] then names.
    #[inline]
    pub fn wait(&mut self) -> io::Result<usize> {
        self.ready = 0;
        let (fd, room) = (self.epoll.as_raw_fd(), self.events.len() as libc::c_int);
        loop {
            // SAFETY: the kernel writes at most `room` events, which are live.
            let ready = unsafe { libc::epoll_wait(fd, self.events.as_mut_ptr(), room, -1) };
            if let Some(ready) = length_or_retry(ready as libc::ssize_t)? {
                self.ready = ready;
                return Ok(ready);
            }
        }
    }

    /// The number of one of those that the last wait found ready.
    #[inline]
    pub fn number(&self, place: usize) -> usize {
        let event = self.events[..self.ready][place];
        event.u64 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_can_be_read_is_told_until_it_is_read_and_no_other() {
        let mut pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let mut epoll = Epoll::new().unwrap();
        for (number, (_, to)) in pairs.iter().enumerate() {
            epoll.add(to.as_raw_fd(), number).unwrap();
        }
        pairs[1].0.write_all(b"ab").unwrap();
        for _ in 0..2 {
            assert_eq!((epoll.wait().unwrap(), epoll.number(0)), (1, 1));
            pairs[1].1.read_exact(&mut [0]).unwrap();
        }
        pairs[2].0.write_all(b"a").unwrap();
        assert_eq!((epoll.wait().unwrap(), epoll.number(0)), (1, 2), "the first has been read up");
        epoll.remove(pairs[2].1.as_raw_fd()).unwrap();
        pairs[0].0.shutdown(std::net::Shutdown::Both).unwrap();
        assert_eq!(
            (epoll.wait().unwrap(), epoll.number(0)),
            (1, 0),
            "an end is told, what was removed is not"
        );
    }
}
