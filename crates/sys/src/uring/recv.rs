//! A stream, or datagrams, received through a ring: one multishot request, into buffers that the kernel picks from a ring
//! of provided ones.
//!
//! A buffer belongs to the kernel from the moment it is provided until a completion hands it over, and to
//! us until it is provided again. Sources: io_uring_enter(2) (IORING_RECV_MULTISHOT),
//! io_uring_register_buf_ring(3).

use super::Ring;
use crate::buffer::Buffer;
use crate::mapping::{Mapping, Pages, page_bytes};
use io_uring::{cqueue, opcode, types};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// The only group of provided buffers of a ring.
const GROUP: u16 = 0;
/// The only request of a ring.
const STREAM: u64 = 1;
/// How long the end of a cancelled request is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// A stretch of a buffer that the kernel filled.
#[derive(Clone, Copy)]
struct Piece {
    buffer: u16,
    bytes: usize,
}

/// A multishot receive on one socket.
pub struct MultishotReceive {
    ring: Ring,
    provided: Provided,
    /// What the last call took, in the stream's order.
    pieces: Vec<Piece>,
    /// Is the request in the kernel?
    armed: bool,
    /// Of datagrams a piece is one, and an empty one ends nothing.
    datagrams: bool,
    /// An empty one has come.
    empty: bool,
    /// How the stream ended, told once what came before it has been: 0 is the peer's end, else an error.
    ended: Option<i32>,
}

impl MultishotReceive {
    /// `buffers` (a power of two) of `buffer_bytes` each.
    pub fn new(socket: RawFd, buffers: u16, buffer_bytes: usize) -> io::Result<MultishotReceive> {
        // A completion for each buffer, and one that says that they ran out or that the stream ended.
        let mut ring = Ring::new(1, 2 * u32::from(buffers))?;
        ring.register_file(socket)?;
        let provided = Provided::new(&ring, buffers, buffer_bytes)?;
        Ok(MultishotReceive {
            ring,
            provided,
            pieces: Vec::with_capacity(buffers.into()),
            armed: false,
            datagrams: false,
            empty: false,
            ended: None,
        })
    }

    /// Gives the buffers of the last call back and takes the datagrams that are there, waiting for the first one for so long;
    /// says whether an empty one came after them. `WouldBlock`: none came.
    #[inline]
    pub fn receive_datagrams(&mut self, limit: Duration) -> io::Result<bool> {
        self.datagrams = true;
        self.give_back();
        self.take()?;
        if self.pieces.is_empty() && !self.empty {
            if !self.armed {
                self.arm()?;
            }
            self.ring.enter_for(1, limit)?;
            self.take()?;
        }
        match self.ended.take() {
            Some(code) if code != 0 => Err(io::Error::from_raw_os_error(code)),
            _ if self.pieces.is_empty() && !self.empty => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(std::mem::take(&mut self.empty)),
        }
    }

    fn give_back(&mut self) {
        for Piece { buffer, .. } in self.pieces.drain(..) {
            self.provided.add(buffer);
        }
        self.provided.publish();
    }

    /// Gives the buffers of the last call back and takes what has arrived, waiting for the first piece.
    /// 0 bytes: the peer closed the stream.
    #[inline]
    pub fn receive(&mut self) -> io::Result<usize> {
        self.give_back();
        let mut bytes = self.take()?;
        while bytes == 0 {
            match self.ended {
                Some(0) => return Ok(0),
                Some(code) => return Err(io::Error::from_raw_os_error(code)),
                None => {}
            }
            if !self.armed {
                self.arm()?;
            }
            self.ring.enter(1)?;
            bytes = self.take()?;
        }
        Ok(bytes)
    }

    /// What the last call took, in order.
    #[inline]
    pub fn pieces(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| self.provided.filled(piece.buffer, piece.bytes))
    }

    /// Calls of io_uring_enter(2) so far.
    pub fn enters(&self) -> u64 {
        self.ring.enters()
    }

    /// Takes every completion that is there; the bytes that they brought.
    fn take(&mut self) -> io::Result<usize> {
        let mut bytes = 0;
        while let Some(done) = self.ring.take() {
            if done.user_data() != STREAM {
                continue;
            }
            self.armed = cqueue::more(done.flags());
            match (done.result(), cqueue::buffer_select(done.flags())) {
                (got, Some(buffer)) if got > 0 => {
                    let piece = Piece { buffer, bytes: got as usize };
                    self.provided.check(piece)?;
                    self.pieces.push(piece);
                    bytes += piece.bytes;
                }
                // Buffers come back with the next call, a signal is over: the request is made again.
                (code, _) if [libc::ENOBUFS, libc::EINTR, libc::EAGAIN].contains(&-code) => {}
                (0, buffer) if self.datagrams => {
                    buffer.into_iter().for_each(|buffer| self.provided.add(buffer));
                    self.empty = true;
                }
                (end, buffer) => {
                    buffer.into_iter().for_each(|buffer| self.provided.add(buffer));
                    self.ended.get_or_insert(-end.min(0));
                }
            }
        }
        Ok(bytes)
    }

    fn arm(&mut self) -> io::Result<()> {
        let request = opcode::RecvMulti::new(types::Fixed(0), GROUP).build().user_data(STREAM);
        // SAFETY: it names no memory but the provided buffers, which live until it is gone (`drop`).
        unsafe { self.ring.push(&request)? };
        self.armed = true;
        Ok(())
    }

    /// Takes the request back; false if the kernel may still use its buffers.
    fn disarm(&mut self) -> bool {
        if !self.armed {
            return true;
        }
        let any = types::CancelBuilder::any();
        let wait = types::Timespec::from(PATIENCE);
        let _ = self.ring.ring.submitter().register_sync_cancel(Some(wait), any);
        let since = Instant::now();
        while self.armed && since.elapsed() < PATIENCE {
            // Completions of a cancelled request are there at once: nothing to sleep for.
            if self.ring.enter(0).and_then(|()| self.take()).is_err() {
                return false;
            }
        }
        !self.armed
    }
}

impl Drop for MultishotReceive {
    /// A request that could not be taken back may still write: its buffers are kept, not freed.
    fn drop(&mut self) {
        if !self.disarm() {
            self.provided.leak();
        }
    }
}

/// Buffers, and the ring through which the kernel is given them.
struct Provided {
    /// `struct io_uring_buf_ring`.
    ring: Option<Mapping>,
    memory: Option<Buffer>,
    /// Where both lie.
    entries: *mut types::BufRingEntry,
    start: *mut u8,
    buffers: u16,
    buffer_bytes: usize,
    tail: u16,
}

impl Provided {
    fn new(ring: &Ring, buffers: u16, buffer_bytes: usize) -> io::Result<Provided> {
        assert!(buffers.is_power_of_two(), "a mask finds the entry of a tail");
        let bytes = usize::from(buffers) * size_of::<types::BufRingEntry>();
        let mut entries = Mapping::anonymous(bytes, Pages::Base)?;
        let mut memory = Buffer::zeroed(usize::from(buffers) * buffer_bytes, page_bytes());
        let address = entries.as_mut_ptr();
        // SAFETY: a page-aligned mapping that lives as long as the ring: both are dropped, or leaked,
        // after the only request that uses it is gone.
        unsafe { ring.ring.submitter().register_buf_ring_with_flags(address as u64, buffers, GROUP, 0)? };
        let mut provided = Provided {
            entries: address.cast(),
            start: memory.as_mut_ptr(),
            ring: Some(entries),
            memory: Some(memory),
            buffers,
            buffer_bytes,
            tail: 0,
        };
        (0..buffers).for_each(|buffer| provided.add(buffer));
        provided.publish();
        Ok(provided)
    }

    /// Lays a buffer out for the kernel, which looks at it after the next `publish`.
    fn add(&mut self, buffer: u16) {
        debug_assert!(buffer < self.buffers);
        let place = usize::from(self.tail & (self.buffers - 1));
        // SAFETY: `place` is within the mapped entries, and the kernel reads none behind the tail that it
        // was told. The tail itself lies in the first entry's last field, which no setter writes.
        let entry = unsafe { &mut *self.entries.add(place) };
        entry.set_addr(self.start.wrapping_add(usize::from(buffer) * self.buffer_bytes) as u64);
        entry.set_len(self.buffer_bytes as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Tells the kernel of the buffers that were added.
    fn publish(&mut self) {
        // SAFETY: the address of a mapped, initialised ring; the kernel reads the tail with acquire.
        let tail = unsafe { &*types::BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    fn check(&self, piece: Piece) -> io::Result<()> {
        if piece.buffer < self.buffers && piece.bytes <= self.buffer_bytes {
            return Ok(());
        }
        Err(io::Error::other("the kernel filled a buffer that it was not given"))
    }

    /// The head of a buffer that the kernel has handed over.
    fn filled(&self, buffer: u16, bytes: usize) -> &[u8] {
        let start = self.start.wrapping_add(usize::from(buffer) * self.buffer_bytes);
        // SAFETY: `check` saw that this lies within the buffer; it is initialised, and the kernel does not
        // write it before it is provided again, which needs the exclusive borrow.
        unsafe { std::slice::from_raw_parts(start, bytes) }
    }

    fn leak(&mut self) {
        std::mem::forget(self.ring.take());
        std::mem::forget(self.memory.take());
    }
}

#[cfg(test)]
mod tests;
