//! Which of many descriptors can be read: by select(2) and poll(2), one call each.
//!
//! The calls sleep until something can be read. Sources: select(2), poll(2).

use std::io;
use std::os::fd::RawFd;

/// What poll(2) is asked, call after call. None of the descriptors is owned.
pub struct PollList(Vec<libc::pollfd>);

impl PollList {
    pub fn of(fds: impl Iterator<Item = RawFd>) -> PollList {
        PollList(fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect())
    }

    /// The one that can be read; `None`: another number of them can, or the call failed.
    #[inline]
    pub fn wait(&mut self) -> Option<RawFd> {
        // SAFETY: pointer and length are of a live list, borrowed exclusively.
        let ready = unsafe { libc::poll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, -1) };
        // From the end, so that looking costs the same for any number of descriptors where the last is ready.
        let first = || self.0.iter().rev().find(|polled| polled.revents != 0);
        first().filter(|polled| ready == 1 && polled.revents == libc::POLLIN).map(|polled| polled.fd)
    }

    /// How many can be read now.
    pub fn ready_now(&mut self) -> io::Result<usize> {
        // SAFETY: as above.
        let ready = unsafe { libc::poll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, 0) };
        usize::try_from(ready).map_err(|_| io::Error::last_os_error())
    }
}

/// What select(2) is asked, call after call.
pub struct SelectSet {
    asked: libc::fd_set,
    /// One more than the highest descriptor.
    end: RawFd,
}

impl SelectSet {
    /// `None`: one of them is beyond what a set can name (FD_SETSIZE).
    pub fn of(fds: impl Iterator<Item = RawFd>) -> Option<SelectSet> {
        // SAFETY: plain data, for which zeroes are the empty set.
        let mut set = SelectSet { asked: unsafe { std::mem::zeroed() }, end: 0 };
        for fd in fds {
            if !(0..libc::FD_SETSIZE as RawFd).contains(&fd) {
                return None;
            }
            // SAFETY: a live set, and a number that it has room for.
            unsafe { libc::FD_SET(fd, &raw mut set.asked) };
            set.end = set.end.max(fd + 1);
        }
        Some(set)
    }

    /// Is this the one that can be read?
    #[inline]
    pub fn only(&self, fd: RawFd) -> bool {
        let mut set = self.asked;
        let none = std::ptr::null_mut;
        // SAFETY: the set is live and has room for every number below `end`; null asks for nothing.
        let ready = unsafe { libc::select(self.end, &raw mut set, none(), none(), std::ptr::null_mut()) };
        // SAFETY: as in `of`: the number is below FD_SETSIZE.
        ready == 1 && fd < self.end && unsafe { libc::FD_ISSET(fd, &raw const set) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call;
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::os::fd::AsRawFd;

    #[test]
    fn the_readable_one_is_found_and_no_other() {
        let events: Vec<_> = (0..5).map(|_| eventfd(0, EventfdFlags::CLOEXEC).unwrap()).collect();
        let fds = || events.iter().map(|event| event.as_raw_fd());
        let (mut list, set) = (PollList::of(fds()), SelectSet::of(fds()).unwrap());
        assert_eq!(list.ready_now().unwrap(), 0);
        assert_eq!(call::write(&events[3], &1u64.to_ne_bytes()), 8);
        assert_eq!(list.wait(), Some(events[3].as_raw_fd()));
        assert!(set.only(events[3].as_raw_fd()) && !set.only(events[4].as_raw_fd()));
        assert_eq!(call::write(&events[4], &1u64.to_ne_bytes()), 8);
        assert_eq!((list.wait(), list.ready_now().unwrap()), (None, 2), "not only one");
        assert!(!set.only(events[3].as_raw_fd()));
    }

    #[test]
    fn a_set_refuses_what_it_cannot_name() {
        assert!(SelectSet::of([libc::FD_SETSIZE as RawFd].into_iter()).is_none());
        assert!(SelectSet::of([-1].into_iter()).is_none());
    }
}
