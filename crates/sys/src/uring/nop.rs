//! Requests that do nothing: what a ring costs by itself, entered by its thread or polled by one of the kernel's.
//!
//! Sources: io_uring_enter(2), io_uring_setup(2) (IORING_SETUP_SQPOLL).

use super::{ENTER_GETEVENTS, Ring};
use io_uring::{IoUring, opcode};
use std::io;
use std::os::fd::AsRawFd;

/// The polling thread sleeps when nothing has come for so long.
const IDLE_MS: u32 = 1000;
/// Looks at the completions before the caller makes sure that the polling thread is awake.
const LOOKS: u32 = 100_000;
const ENTER_WAKE_POLLER: u32 = 1 << 1;

/// Who takes the requests.
enum NopRing {
    Entered(Ring),
    /// A thread of the kernel.
    Polled(IoUring),
}

/// A ring of requests that do nothing, a known number at a time.
pub struct Nops {
    ring: NopRing,
    at_once: u32,
    /// The number of the next request.
    next: u64,
    enters: u64,
}

impl Nops {
    /// Taken by io_uring_enter(2), one call for each round.
    pub fn entered(at_once: u32) -> io::Result<Nops> {
        Ok(Nops { ring: NopRing::Entered(Ring::new(at_once, at_once)?), at_once, next: 0, enters: 0 })
    }

    /// Taken by a thread of the kernel on this CPU.
    pub fn polled(at_once: u32, cpu: u32) -> io::Result<Nops> {
        let mut builder = IoUring::builder();
        builder.setup_sqpoll(IDLE_MS).setup_sqpoll_cpu(cpu);
        // Places of requests may be given back after their completions are there: room for those of two rounds.
        let ring = builder.build((2 * at_once).next_power_of_two())?;
        Ok(Nops { ring: NopRing::Polled(ring), at_once, next: 0, enters: 0 })
    }

    /// Submits so many requests and takes their completions; each has to be the one that was asked for.
    #[inline]
    pub fn round(&mut self) -> io::Result<()> {
        let first = self.next;
        self.next += u64::from(self.at_once);
        let wanted = first..self.next;
        match &mut self.ring {
            NopRing::Entered(ring) => {
                for id in wanted.clone() {
                    // SAFETY: a request that does nothing names no memory.
                    unsafe { ring.push(&opcode::Nop::new().build().user_data(id)) }?;
                }
                let before = ring.enters();
                let mut taken = first;
                while taken < wanted.end {
                    ring.enter((wanted.end - taken) as usize)?;
                    while let Some(done) = ring.take() {
                        is_the_one(&done, taken)?;
                        taken += 1;
                    }
                }
                self.enters += ring.enters() - before;
            }
            NopRing::Polled(ring) => {
                let mut queue = ring.submission();
                for id in wanted.clone() {
                    // SAFETY: as above.
                    unsafe { queue.push(&opcode::Nop::new().build().user_data(id)) }
                        .map_err(|_| io::Error::other("the submission queue is full"))?;
                }
                drop(queue);
                let (mut taken, mut looks) = (first, 0);
                while taken < wanted.end {
                    let done = ring.completion().next();
                    match done {
                        Some(done) => {
                            is_the_one(&done, taken)?;
                            taken += 1;
                        }
                        None if looks < LOOKS => {
                            looks += 1;
                            std::hint::spin_loop();
                        }
                        None => {
                            wake_poller(ring)?;
                            self.enters += 1;
                            looks = 0;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Calls of io_uring_enter(2) so far, and requests that were done.
    pub fn enters_and_requests(&self) -> (u64, u64) {
        (self.enters, self.next)
    }
}

fn is_the_one(done: &io_uring::cqueue::Entry, id: u64) -> io::Result<()> {
    if done.result() == 0 && done.user_data() == id {
        return Ok(());
    }
    let (result, came) = (done.result(), done.user_data());
    Err(io::Error::other(format!("request {id} came back as {came} with {result}")))
}

/// The thread of the kernel may sleep, or may share its CPU with somebody: this one gives way.
fn wake_poller(ring: &IoUring) -> io::Result<()> {
    let mask = std::ptr::null::<libc::sigset_t>();
    let flags = ENTER_WAKE_POLLER | ENTER_GETEVENTS;
    // SAFETY: the descriptor is this ring's and there is no mask; requests here name no memory.
    let result =
        unsafe { libc::syscall(libc::SYS_io_uring_enter, ring.as_raw_fd(), 0u32, 0u32, flags, mask, 0usize) };
    let error = io::Error::last_os_error();
    std::thread::yield_now();
    if result >= 0 || matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) {
        return Ok(());
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_comes_back_in_its_turn() {
        let cpu = crate::affinity::allowed().unwrap()[0] as u32;
        for ring in [Nops::entered(3), Nops::polled(3, cpu)] {
            let mut nops = match ring {
                Ok(nops) => nops,
                Err(error) => return eprintln!("skipped: no such ring here: {error}"),
            };
            (0..5).for_each(|_| nops.round().unwrap());
            let (enters, requests) = nops.enters_and_requests();
            assert_eq!(requests, 15);
            assert!(matches!(nops.ring, NopRing::Polled(_)) || enters >= 5, "{enters}");
        }
    }
}
