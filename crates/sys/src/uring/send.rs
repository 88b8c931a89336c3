//! Messages sent through a ring, in order: one submission hands over a chain of them.
//!
//! A chain is linked and every request waits until its whole message is taken, so the kernel starts a
//! message only when the one before it is out: bytes are never reordered. A request that ends short breaks
//! the chain; what is left of it and those behind it are submitted again, in order. Memory that was sent
//! without a copy is sent again only after the kernel's notification.
//! Sources: io_uring_enter(2) (IOSQE_IO_LINK, IORING_OP_SEND_ZC, IORING_OP_SENDMSG_ZC).

mod outcome;
mod slot;

use super::Ring;
use crate::sleep::sleep;
use outcome::{SendOutcome, Why};
pub use slot::Memory;
use slot::Slot;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// `IORING_NOTIF_USAGE_ZC_COPIED`: the kernel copied after all.
const COPIED: u32 = 1 << 31;
/// How long the kernel may refuse a sender that holds nothing, before that is an error.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long other senders are left to give memory back.
const OTHERS: Duration = Duration::from_micros(100);

/// How messages are handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendMode {
    /// IORING_OP_SENDMSG of all pieces; else IORING_OP_SEND of the only one.
    pub gathered: bool,
    /// The `_ZC` form, with usage reports.
    pub zero_copy: bool,
    /// Its memory is registered with the ring once.
    pub registered: bool,
    /// Flags of send(2), beside those that order needs.
    pub flags: libc::c_int,
}

/// Counts since the line was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmissionCounts {
    pub enters: u64,
    pub entries: u64,
    /// Notifications of requests that carried bytes, and those that say "copied".
    pub notifications: u64,
    pub copied: u64,
    /// Times the kernel refused for want of memory.
    pub starved: u64,
}

/// Messages that are sent one after the other, round and round.
pub struct SendQueue {
    ring: Ring,
    slots: Box<[Slot]>,
    /// Messages of one submission: fewer than asked for once the kernel had no memory for more.
    longest: usize,
    next: usize,
    /// Distinguishes the submissions of one slot.
    attempt: u32,
    /// Requests of the chain in flight that have no result yet.
    missing: usize,
    results: Vec<i32>,
    counts: SubmissionCounts,
    /// Since when the kernel has refused while it held nothing of ours.
    refused_since: Option<Instant>,
}

impl SendQueue {
    /// A line on this socket with these messages, of which one submission hands over up to `chain`.
    pub fn new(socket: RawFd, messages: Vec<Memory>, chain: usize, way: SendMode) -> io::Result<SendQueue> {
        let count = messages.len();
        let chain = chain.clamp(1, count.max(1));
        // A result and a notification for each message, and room for a chain's retries.
        let mut ring = Ring::new(chain as u32, 4 * count as u32)?;
        ring.register_file(socket)?;
        let slot = |(index, memory)| Slot::new(memory, index, way);
        let slots = messages.into_iter().enumerate().map(slot).collect::<io::Result<Box<[Slot]>>>()?;
        if way.registered {
            register(&ring, &slots)?;
        }
        Ok(SendQueue {
            ring,
            slots,
            longest: chain,
            next: 0,
            attempt: 0,
            missing: 0,
            results: vec![0; chain],
            counts: SubmissionCounts::default(),
            refused_since: None,
        })
    }

    pub fn counts(&self) -> SubmissionCounts {
        SubmissionCounts { enters: self.ring.enters(), entries: self.ring.entries(), ..self.counts }
    }

    /// Sends the next `count` messages; returns when the kernel has taken them all.
    #[inline]
    pub fn send(&mut self, count: usize) -> io::Result<()> {
        let mut left = count;
        while left > 0 {
            let chain = left.min(self.longest);
            self.submit(chain)?;
            left -= self.conclude(chain)?;
        }
        Ok(())
    }

    /// Takes every completion that is there, without blocking.
    #[inline]
    pub fn look(&mut self) -> io::Result<()> {
        while let Some(done) = self.ring.take() {
            self.note(&done)?;
        }
        Ok(())
    }

    /// The memory of the next `count` messages, one after the other, once the kernel holds none of it; each has one piece.
    #[inline]
    pub fn next_messages(&mut self, count: usize) -> io::Result<impl Iterator<Item = &mut [u8]>> {
        for place in 0..count {
            while self.slots[self.wrapped(place)].held() {
                self.wait()?;
            }
        }
        let (before, from) = self.slots.split_at_mut(self.next);
        Ok(from.iter_mut().chain(before).take(count).map(Slot::bytes_mut))
    }

    /// Waits until the kernel needs none of the memory any more.
    #[inline]
    pub fn settle(&mut self) -> io::Result<()> {
        while self.owed() {
            self.wait()?;
        }
        Ok(())
    }

    /// Does the kernel still hold some of the memory?
    fn owed(&self) -> bool {
        self.slots.iter().any(Slot::held)
    }

    /// Queues the next messages as one chain and waits for the result of each.
    #[inline]
    fn submit(&mut self, chain: usize) -> io::Result<()> {
        // First of all: a wait would submit what is queued.
        for place in 0..chain {
            while self.slots[self.wrapped(place)].held() {
                self.wait()?;
            }
        }
        self.attempt = self.attempt.wrapping_add(1);
        for place in 0..chain {
            let index = self.wrapped(place);
            let id = u64::from(self.attempt) << 32 | index as u64;
            let request = self.slots[index].request(id, place + 1 < chain);
            // SAFETY: the slot owns what the request names, and neither reuses nor frees it before the
            // request's last completion (`held`, `missing`, and `drop`).
            unsafe { self.ring.push(request)? };
        }
        self.missing = chain;
        while self.missing > 0 {
            self.ring.enter(self.missing)?;
            while self.missing > 0 {
                let Some(done) = self.ring.take() else { break };
                self.note(&done)?;
            }
        }
        Ok(())
    }

    /// What became of the chain: moves on by the messages that are out, and returns how many.
    #[inline]
    fn conclude(&mut self, chain: usize) -> io::Result<usize> {
        let left = |place: usize| self.slots[(self.next + place) % self.slots.len()].left();
        let SendOutcome { whole, part, why } = outcome::of(&self.results[..chain], left);
        for place in 0..whole {
            let index = self.wrapped(place);
            self.slots[index].renew();
        }
        self.next = self.wrapped(whole);
        if whole > 0 || part > 0 {
            self.refused_since = None;
        }
        if part > 0 {
            self.slots[self.next].advance(part);
        }
        match why {
            Why::Done | Why::Again => {}
            Why::Starved => self.starved()?,
            Why::Failed(code) => return Err(io::Error::from_raw_os_error(code)),
            Why::Reordered => {
                return Err(io::Error::other(
                    "the kernel sent a message before the one linked in front of it",
                ));
            }
        }
        Ok(whole)
    }

    fn wrapped(&self, place: usize) -> usize {
        let index = self.next + place;
        if index < self.slots.len() { index } else { index % self.slots.len() }
    }

    /// Notes a result or a notification.
    #[inline]
    fn note(&mut self, done: &io_uring::cqueue::Entry) -> io::Result<()> {
        let (id, flags) = (done.user_data(), done.flags());
        let index = (id & u64::from(u32::MAX)) as usize;
        if index >= self.slots.len() {
            return Err(stranger());
        }
        let attempt = (id >> 32) as u32;
        if io_uring::cqueue::notif(flags) {
            // Kernels also notify of requests that were cancelled: those carried nothing.
            if self.slots[index].given_back(attempt) {
                self.counts.notifications += 1;
                self.counts.copied += u64::from(done.result() as u32 & COPIED != 0);
            }
            return Ok(());
        }
        let place = (index + self.slots.len() - self.next) % self.slots.len();
        if self.missing == 0 || place >= self.results.len() {
            return Err(stranger());
        }
        self.results[place] = done.result();
        self.missing -= 1;
        if done.result() > 0 && io_uring::cqueue::more(flags) {
            self.slots[index].hold(attempt);
        }
        Ok(())
    }

    /// Sleeps until at least one completion has been taken.
    fn wait(&mut self) -> io::Result<()> {
        let before = self.ring.entries();
        self.look()?;
        while self.ring.entries() == before {
            self.ring.enter(1)?;
            self.look()?;
        }
        Ok(())
    }

    /// The kernel refused for want of memory that it may lock: some becomes free with each notification,
    /// ours or (it is counted per user) that of another sender.
    #[cold]
    fn starved(&mut self) -> io::Result<()> {
        self.counts.starved += 1;
        if self.owed() {
            self.refused_since = None;
            return self.wait();
        }
        if self.longest > 1 {
            self.longest /= 2;
            return Ok(());
        }
        let since = *self.refused_since.get_or_insert_with(Instant::now);
        if since.elapsed() > PATIENCE {
            return Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                "the kernel keeps refusing even one zero-copy message while it holds none: raise the \
                 locked-memory limit (ulimit -l) above threads x message size",
            ));
        }
        sleep(OTHERS);
        Ok(())
    }
}

impl Drop for SendQueue {
    /// The kernel may still read the messages if a send failed half way: then they are kept, not freed.
    fn drop(&mut self) {
        if self.missing > 0 || self.owed() {
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

#[cold]
fn stranger() -> io::Error {
    io::Error::other("the kernel completed a request that was never made")
}

/// Registers the memory of every slot; its number is the slot's.
fn register(ring: &Ring, slots: &[Slot]) -> io::Result<()> {
    let areas: Vec<libc::iovec> = slots.iter().map(Slot::area).collect();
    // SAFETY: the slots own these areas; the kernel holds the pages itself, and the ring is never asked to
    // read them after a slot gave up its memory.
    let result = unsafe { ring.ring.submitter().register_buffers(&areas) };
    result.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            let bytes: usize = areas.iter().map(|area| area.iov_len).sum();
            io::Error::new(
                io::ErrorKind::OutOfMemory,
                format!("the kernel refuses to lock {bytes} bytes for registered buffers"),
            )
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests;
