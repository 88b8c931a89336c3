//! A ring of bytes in shared memory, with one producer and one consumer: what both ends agree on.
//!
//! Positions only grow: `head` counts bytes put in, `tail` bytes taken out, and the ring holds what lies
//! between. An end that has to wait spins for a while, since the other one is at work on another
//! core, and then sleeps in the kernel. Who is about to sleep says so, then looks once more; who moved a
//! position looks at that word afterwards (a full fence on each side), so no wake-up is lost. It must not
//! hand out slices: the other process writes. Sources: Lamport, "Proving the Correctness of Multiprocess
//! Programs" (1977); futex(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use syscost_sys::call;
use syscost_sys::clock;
use syscost_sys::process::wait_readable;
use syscost_sys::shared_file::SharedFile;

/// Words of the two ends lie this far apart: no two share a cache line, or a pair of them.
const LINE: usize = 128;
const HEAD: usize = 0;
const TAIL: usize = LINE;
const PRODUCER_SLEEPS: usize = 2 * LINE;
const CONSUMER_SLEEPS: usize = 3 * LINE;
const CLOSED: usize = 4 * LINE;
/// The bytes begin on a page.
const DATA: usize = 4096;

const CACHE_LINE: usize = 64;

/// How long an end looks before it sleeps: about the CPU time that sleeping and being woken take.
const SPIN_NS: u64 = 5_000;
/// Looks between two looks at the clock.
const SPINS: u32 = 64;
/// A sleeper looks this often whether the other process is still there.
const SLEEP_NS: u64 = 100_000_000;

/// One end's view of the ring.
struct RingEnd {
    memory: SharedFile,
    capacity: usize,
    /// Tells whether the other process lives.
    peer: UnixStream,
    /// Is it of use to look again and again? Not where both ends share a CPU.
    spin: bool,
    system_calls: u64,
}

impl RingEnd {
    fn position(&self, word: usize) -> u64 {
        self.memory.word64(word).load(Ordering::Acquire)
    }

    /// Moves a position and wakes the other end where it sleeps and `worth` waking.
    #[inline]
    fn publish(&mut self, word: usize, position: u64, sleeper: usize, worth: impl FnOnce(&RingEnd) -> bool) {
        self.memory.word64(word).store(position, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.memory.word32(sleeper).load(Ordering::Relaxed) != 0 && worth(self) {
            self.wake(sleeper);
        }
    }

    #[cold]
    fn wake(&mut self, sleeper: usize) {
        self.memory.word32(sleeper).store(0, Ordering::SeqCst);
        call::futex_wake(self.memory.word32(sleeper), true);
        self.system_calls += 1;
    }

    /// Waits until `done`; spins, then sleeps on its own word.
    #[cold]
    fn wait(&mut self, sleeper: usize, done: impl Fn(&RingEnd) -> bool) -> io::Result<()> {
        if self.spin {
            let end = clock::monotonic_ns() + SPIN_NS;
            loop {
                for _ in 0..SPINS {
                    if done(self) {
                        return Ok(());
                    }
                    std::hint::spin_loop();
                }
                if clock::monotonic_ns() >= end {
                    break;
                }
            }
        }
        loop {
            self.memory.word32(sleeper).store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            if done(self) {
                self.memory.word32(sleeper).store(0, Ordering::SeqCst);
                return Ok(());
            }
            self.system_calls += 1;
            let woken = call::futex_wait(self.memory.word32(sleeper), 1, true, SLEEP_NS);
            let late = woken < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
            // What the peer did before it went counts: only then is its absence looked at.
            if late && !done(self) && wait_readable(&self.peer, Duration::ZERO)? {
                return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the other process went away"));
            }
        }
    }
}

/// The end that puts bytes in. Dropping it ends the stream.
pub struct Producer {
    end: RingEnd,
    head: u64,
    /// `head` as an offset into the ring.
    at: usize,
    published: u64,
    /// The tail as last seen: it may have moved on.
    tail: u64,
}

/// What [`Producer::rewrite`] writes.
pub struct Lines {
    words: Vec<u64>,
}

/// The end that takes bytes out.
pub struct Consumer {
    end: RingEnd,
    tail: u64,
    at: usize,
    head: u64,
}

/// A new ring: its consumer, and the memory to pass to the other process.
pub fn create(capacity: usize, peer: UnixStream, spin: bool) -> io::Result<Consumer> {
    let memory = SharedFile::new(DATA + capacity.max(1))?;
    let end = RingEnd { memory, capacity: capacity.max(1), peer, spin, system_calls: 0 };
    Ok(Consumer { end, tail: 0, at: 0, head: 0 })
}

impl Producer {
    /// The other end of a ring that [`create`] made.
    pub fn of(memory: OwnedFd, peer: UnixStream, spin: bool) -> io::Result<Producer> {
        let memory = SharedFile::of(memory)?;
        let capacity = memory.len().checked_sub(DATA).filter(|n| *n > 0);
        let capacity = capacity.ok_or_else(|| io::Error::other("memory too small for a ring"))?;
        let end = RingEnd { memory, capacity, peer, spin, system_calls: 0 };
        Ok(Producer { end, head: 0, at: 0, published: 0, tail: 0 })
    }

    pub fn capacity(&self) -> usize {
        self.end.capacity
    }

    pub fn system_calls(&self) -> u64 {
        self.end.system_calls
    }

    /// Bytes that may be put in at the head without wrapping round, at least one and at most `most`.
    #[inline]
    fn room(&mut self, most: usize) -> io::Result<usize> {
        let capacity = self.end.capacity;
        let free = |head: u64, tail: u64| capacity - (head - tail) as usize;
        if free(self.head, self.tail) < most {
            self.tail = self.end.position(TAIL);
            if free(self.head, self.tail) == 0 {
                // A full ring: go on when half of it is free, or waits would be as many as messages.
                self.publish();
                let head = self.head;
                let enough = capacity.div_ceil(2);
                self.end.wait(PRODUCER_SLEEPS, |end| free(head, end.position(TAIL)) >= enough)?;
                self.tail = self.end.position(TAIL);
            }
        }
        Ok(most.min(free(self.head, self.tail)).min(capacity - self.at))
    }

    /// Copies bytes in, waiting for room as often as needed; every `piece` bytes the consumer sees them.
    #[inline]
    pub fn put(&mut self, mut bytes: &[u8], piece: usize) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = self.room(bytes.len().min(piece))?;
            self.end.memory.copy_in(DATA + self.at, &bytes[..room]);
            self.advance(room, piece);
            bytes = &bytes[room..];
        }
        Ok(())
    }

    /// Puts in what lies there already: so many bytes, of which the first word of every cache line is
    /// written again so that this core owns the line. It is not read first: another core may have it.
    #[inline]
    pub fn rewrite(&mut self, mut bytes: usize, lines: &Lines, piece: usize) -> io::Result<()> {
        while bytes > 0 {
            let room = self.room(bytes.min(piece))?;
            let first = self.at.div_ceil(CACHE_LINE);
            let last = (self.at + room).div_ceil(CACHE_LINE).min(lines.words.len());
            for (line, word) in (first..last).zip(&lines.words[first.min(last)..last]) {
                self.end.memory.word64(DATA + line * CACHE_LINE).store(*word, Ordering::Relaxed);
            }
            self.advance(room, piece);
            bytes -= room;
        }
        Ok(())
    }

    /// The first word of every cache line as it is now, in memory of this process alone.
    pub fn lines(&self) -> Lines {
        let whole = self.end.capacity.saturating_sub(size_of::<u64>() - 1).div_ceil(CACHE_LINE);
        let word = |line| self.end.memory.word64(DATA + line * CACHE_LINE).load(Ordering::Relaxed);
        Lines { words: (0..whole).map(word).collect() }
    }

    /// Writes bytes at an offset that nobody has been shown yet.
    pub fn prepare(&self, offset: usize, bytes: &[u8]) {
        self.end.memory.copy_in(DATA + offset, bytes);
    }

    #[inline]
    fn advance(&mut self, bytes: usize, piece: usize) {
        self.head += bytes as u64;
        self.at += bytes;
        if self.at == self.end.capacity {
            self.at = 0;
        }
        if self.head - self.published >= piece as u64 {
            self.publish();
        }
    }

    /// Shows the consumer everything that was put in.
    #[inline]
    pub fn publish(&mut self) {
        if self.published != self.head {
            self.published = self.head;
            self.end.publish(HEAD, self.head, CONSUMER_SLEEPS, |_| true);
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.publish();
        self.end.memory.word32(CLOSED).store(1, Ordering::SeqCst);
        self.end.wake(CONSUMER_SLEEPS);
    }
}

impl Consumer {
    pub fn memory(&self) -> BorrowedFd<'_> {
        self.end.memory.as_fd()
    }

    pub fn system_calls(&self) -> u64 {
        self.end.system_calls
    }

    /// Copies out what is there, up to the length of `to`, without wrapping round; waits for the first
    /// byte. 0: the stream ended.
    #[inline]
    pub fn take(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.head == self.tail {
            self.head = self.end.position(HEAD);
            if self.head == self.tail && !self.wait()? {
                return Ok(0);
            }
        }
        let bytes = to.len().min((self.head - self.tail) as usize).min(self.end.capacity - self.at);
        self.end.memory.copy_out(DATA + self.at, &mut to[..bytes]);
        self.tail += bytes as u64;
        self.at += bytes;
        if self.at == self.end.capacity {
            self.at = 0;
        }
        let tail = self.tail;
        let half_free = |end: &RingEnd| (end.position(HEAD) - tail) as usize <= end.capacity / 2;
        self.end.publish(TAIL, tail, PRODUCER_SLEEPS, half_free);
        Ok(bytes)
    }

    /// False: nothing comes any more.
    fn wait(&mut self) -> io::Result<bool> {
        let tail = self.tail;
        let closed = |end: &RingEnd| end.memory.word32(CLOSED).load(Ordering::SeqCst) != 0;
        self.end.wait(CONSUMER_SLEEPS, |end| end.position(HEAD) != tail || closed(end))?;
        // The producer publishes before it closes: what it put in last is seen here.
        self.head = self.end.position(HEAD);
        Ok(self.head != self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Alignment, Message, verify};
    use proptest::prelude::*;

    /// Both ends in this process; the channel's ends must live as long as they do.
    fn ring(capacity: usize, spin: bool) -> (Producer, Consumer) {
        let (here, there) = UnixStream::pair().unwrap();
        let consumer = create(capacity, here, spin).unwrap();
        let memory = consumer.memory().try_clone_to_owned().unwrap();
        (Producer::of(memory, there, spin).unwrap(), consumer)
    }

    /// Everything that comes, taken so many bytes at a time.
    fn drain(consumer: &mut Consumer, at_a_time: usize) -> Vec<u8> {
        let (mut all, mut piece) = (Vec::new(), vec![0; at_a_time]);
        loop {
            match consumer.take(&mut piece).unwrap() {
                0 => return all,
                bytes => all.extend_from_slice(&piece[..bytes]),
            }
        }
    }

    #[test]
    fn an_empty_ring_that_is_closed_ends_and_stays_ended() {
        let (producer, mut consumer) = ring(16, false);
        drop(producer);
        assert_eq!(consumer.take(&mut [0; 4]).unwrap(), 0);
        assert_eq!(consumer.take(&mut [0; 4]).unwrap(), 0);
    }

    #[test]
    fn what_was_put_in_last_is_there_before_the_end() {
        let (mut producer, mut consumer) = ring(16, false);
        producer.put(b"0123456789", 64).unwrap();
        producer.publish();
        let mut piece = [0; 12];
        assert_eq!(consumer.take(&mut piece).unwrap(), 10);
        producer.put(b"abcdefghij", 64).unwrap();
        drop(producer);
        assert_eq!(consumer.take(&mut piece).unwrap(), 6, "up to the wrap");
        assert_eq!((consumer.take(&mut piece[6..]).unwrap(), &piece[..10]), (4, &b"abcdefghij"[..]));
        assert_eq!(consumer.take(&mut piece).unwrap(), 0);
    }

    #[test]
    fn nothing_is_seen_before_it_is_published_or_a_piece_long() {
        let (mut producer, consumer) = ring(64, false);
        producer.put(b"abc", 8).unwrap();
        assert_eq!(consumer.end.position(HEAD), 0);
        producer.put(b"defgh", 8).unwrap();
        assert_eq!(consumer.end.position(HEAD), 8);
    }

    #[test]
    fn a_full_ring_holds_the_producer_until_half_of_it_is_free() {
        for spin in [false, true] {
            let (mut producer, mut consumer) = ring(8, spin);
            let putting = std::thread::spawn(move || {
                producer.put(b"0123456789", 64).unwrap();
                producer.system_calls()
            });
            while consumer.end.position(HEAD) < 8 {
                std::thread::yield_now();
            }
            assert!(!putting.is_finished(), "two bytes have no room");
            assert_eq!(drain(&mut consumer, 3), b"0123456789");
            assert!(putting.join().unwrap() < 20, "it does not ask the kernel again and again");
        }
    }

    #[test]
    fn an_end_whose_peer_is_gone_does_not_wait_for_ever() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut consumer = create(8, here, false).unwrap();
        drop(there);
        assert_eq!(consumer.take(&mut [0]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        let (mut producer, consumer) = ring(8, false);
        drop(consumer);
        assert_eq!(producer.put(&[0; 9], 1).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn rewriting_leaves_what_is_there() {
        let bytes = 100;
        let (mut producer, mut consumer) = ring(3 * bytes, true);
        let message = Message::new(bytes, Alignment::Heap);
        let mut packed = vec![0; bytes];
        message.pack_into(&mut packed);
        (0..3).for_each(|n| producer.prepare(n * bytes, &packed));
        let lines = producer.lines();
        assert_eq!(lines.words.len(), 5, "lines at 0, 64, .. 256 of 300 bytes");
        let putting = std::thread::spawn(move || {
            for _ in 0..1000 {
                producer.rewrite(bytes, &lines, 64).unwrap();
                producer.publish();
            }
        });
        let all = drain(&mut consumer, 77);
        putting.join().unwrap();
        assert_eq!((all.len(), verify(&all, 0, bytes)), (1000 * bytes, Ok(())));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_byte_arrives_once_and_in_order(
            capacity in 1usize..300,
            message_bytes in 8usize..1000,
            at_a_time in 1usize..400,
            piece in 1usize..500,
            per_call in 1usize..4,
            spin in any::<bool>(),
        ) {
            let (mut producer, mut consumer) = ring(capacity, spin);
            let putting = std::thread::spawn(move || {
                let message = Message::new(message_bytes, Alignment::Heap);
                for _ in 0..5 {
                    for field in (0..per_call).flat_map(|_| message.fields()) {
                        producer.put(field, piece).unwrap();
                    }
                    producer.publish();
                }
            });
            let all = drain(&mut consumer, at_a_time);
            putting.join().unwrap();
            prop_assert_eq!(all.len(), 5 * per_call * message_bytes);
            prop_assert_eq!(verify(&all, 0, message_bytes), Ok(()));
        }
    }
}
