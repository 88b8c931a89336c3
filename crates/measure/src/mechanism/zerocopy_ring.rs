//! The ring of messages behind the zero-copy mechanisms.
//!
//! Every slot is a message, or all the messages of a call, in memory of its own. A slot is sent again only when the kernel has
//! completed every send that used it, and the ring is freed only when all are complete: no buffer
//! that the kernel may still read is ever reused or freed.
//! Source: Documentation/networking/msg_zerocopy.rst.

use super::SOCKET_BUFFER_BYTES;
use super::{About, Handover, Mechanism, Packing, Sender, SenderSetup, Sending, Tally};
use super::{contiguous, copies, fields, fits_a_call};
use crate::message::{Alignment, MESSAGE_BYTES, Message, MessageShape};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_sys::buffer::Buffer;
use syscost_sys::sleep::sleep;
use syscost_sys::socket::{self, Gather};

/// How long the kernel may refuse a sender that holds nothing, before that is an error.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long other senders are left to give buffers back.
const OTHERS: Duration = Duration::from_micros(100);

/// Tries SO_ZEROCOPY on a fresh socket.
pub fn available() -> Result<(), Unavailable> {
    let tried = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)
        .and_then(|s| socket::enable_zerocopy(s.as_raw_fd()));
    tried.map_err(|error| Unavailable {
        reason: format!("the kernel refuses SO_ZEROCOPY on a TCP socket ({error})"),
        remedy: "use Linux 4.14 or later, and a sandbox that passes setsockopt(SO_ZEROCOPY)".into(),
    })
}

/// Starts the send buffer of small messages at what may be in flight.
///
/// The kernel charges whole pages for each piece that it holds (`__zerocopy_sg_from_iter`): 32 KiB for 64 bytes in eight
/// pieces. An autotuned buffer starts at 45 KiB and grows with the congestion window, which cubic does not open for so few
/// bytes: every second sendmsg(2) sleeps. So did an independent loop (21 us a message; 10 us with this start). From 64 KiB on
/// the charge is about the bytes, and the buffer grows by itself.
pub fn start_send_buffer(socket: RawFd, point: &Point, in_flight: u64) -> io::Result<()> {
    let bytes = point.int(MESSAGE_BYTES).unwrap_or(0);
    let charged = MessageShape::of(point).room(bytes, Alignment::Page);
    if bytes > charged / 2 || point.int(SOCKET_BUFFER_BYTES).unwrap_or(0) > 0 {
        return Ok(());
    }
    // The kernel doubles what it is asked, for its own structures.
    socket::start_send_buffer(socket, in_flight * charged / 2)
}

/// A mechanism that sends with MSG_ZEROCOPY and takes completions from the error queue.
pub struct Zerocopy {
    pub about: About<Sending>,
    pub shape: fn(&Point) -> RingShape,
}

impl Mechanism for Zerocopy {
    fn about(&self) -> About<Sending> {
        self.about
    }

    fn available(&self) -> Result<(), Unavailable> {
        available()
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        if self.packs() { Ok(()) } else { fits_a_call(point) }
    }

    /// Those of the ring, and the message that they are packed from.
    fn messages_held(&self, point: &Point) -> u64 {
        let shape = (self.shape)(point);
        u64::from(self.packs()) + shape.slots as u64 * shape.per_call
    }

    fn plain_calls(&self) -> bool {
        !self.about.axes.is_empty() && self.about.facts.handover == Handover::Referenced
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let shape = (self.shape)(setup.point);
        if shape.nap.is_none() {
            start_send_buffer(setup.socket, setup.point, shape.slots as u64 * shape.per_call)?;
        }
        Ok(Box::new(ZerocopyRing::new(setup.socket, setup.message, shape, self.packs())?))
    }
}

impl Zerocopy {
    /// Is a message one piece in its slot, packed once before the clock starts?
    fn packs(&self) -> bool {
        self.about.facts.packing == Packing::Beforehand
    }
}

/// How a ring is filled and emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingShape {
    /// Calls that may be in flight.
    pub slots: usize,
    /// Messages of a call.
    pub per_call: u64,
    /// Messages between two looks for completions.
    pub reap_batch: u64,
    /// MSG_MORE, or nothing.
    pub flags: libc::c_int,
    /// Pieces of fewer bytes are copied, by calls of their own.
    pub lent_from: usize,
    /// Where a sender may not go on before a completion, it sleeps this long and looks again. `None`: it sleeps in poll(2)
    /// until the error queue has something.
    pub nap: Option<Duration>,
}

/// Pieces that follow one another and are all lent, or all copied.
struct SlotCall {
    pieces: Gather,
    flags: libc::c_int,
}

impl SlotCall {
    /// The calls of a slot. All but the last say that more follows, or each would leave as a segment of its own.
    fn of_slot(pieces: &[&Buffer], shape: &RingShape) -> Vec<SlotCall> {
        let is_lent = |piece: &Buffer| piece.len() >= shape.lent_from;
        let runs: Vec<&[&Buffer]> = pieces.chunk_by(|a, b| is_lent(a) == is_lent(b)).collect();
        let call = |(at, run): (usize, &&[&Buffer])| {
            let more = if at + 1 < runs.len() { libc::MSG_MORE } else { shape.flags };
            let lent = if is_lent(run[0]) { libc::MSG_ZEROCOPY } else { 0 };
            SlotCall { pieces: Gather::of(run.iter().copied()), flags: lent | more }
        };
        runs.iter().enumerate().map(call).collect()
    }

    fn lends(&self) -> bool {
        self.flags & libc::MSG_ZEROCOPY != 0
    }
}

/// A zero-copy sender.
struct ZerocopyRing {
    socket: RawFd,
    shape: RingShape,
    completions: PendingSends,
    /// Since when the kernel has refused while nothing of ours was in flight.
    refused_since: Option<Instant>,
    /// Messages since the last look at the error queue.
    since_reap: u64,
    next: usize,
    /// The calls of each slot, equally many.
    calls: Vec<SlotCall>,
    calls_per_slot: usize,
    /// Keeps alive what the gathers, and the kernel, point to.
    ring: Vec<Message>,
    /// Likewise, where the messages of a call are one piece.
    packed: Vec<Buffer>,
    tally: Tally,
}

impl ZerocopyRing {
    /// Gathers the fields of every message, or sends the messages of a call as one piece, packed once, here.
    fn new(socket: RawFd, message: Message, shape: RingShape, packs: bool) -> io::Result<ZerocopyRing> {
        socket::enable_zerocopy(socket)?;
        let (mut ring, mut packed) = (Vec::new(), Vec::new());
        let per_call = shape.per_call as usize;
        let calls: Vec<SlotCall> = if packs {
            packed.extend((0..shape.slots).map(|_| contiguous(&message, shape.per_call)));
            packed.iter().flat_map(|whole| SlotCall::of_slot(&[whole], &shape)).collect()
        } else {
            ring = copies(message, shape.slots * per_call);
            let slots = ring.chunks_exact(per_call).map(|slot| fields(slot).collect::<Vec<_>>());
            slots.flat_map(|pieces| SlotCall::of_slot(&pieces, &shape)).collect()
        };
        Ok(ZerocopyRing {
            socket,
            shape,
            completions: PendingSends::new(shape.slots),
            refused_since: None,
            since_reap: 0,
            next: 0,
            calls_per_slot: calls.len() / shape.slots,
            calls,
            ring,
            packed,
            tally: Tally::default(),
        })
    }

    /// Sends the messages of one call.
    fn send_slot(&mut self) -> io::Result<()> {
        let slot = self.next;
        while self.completions.outstanding(slot) {
            self.wait()?;
        }
        for call in slot * self.calls_per_slot..(slot + 1) * self.calls_per_slot {
            self.send_call(slot, call)?;
        }
        self.refused_since = None;
        self.next = (slot + 1) % self.shape.slots;
        self.since_reap += self.shape.per_call;
        if self.since_reap >= self.shape.reap_batch {
            self.reap()?;
        }
        Ok(())
    }

    #[inline]
    fn send_call(&mut self, slot: usize, call: usize) -> io::Result<()> {
        let SlotCall { flags, .. } = self.calls[call];
        let lends = self.calls[call].lends();
        let mut outcome = self.calls[call].pieces.send(self.socket, flags);
        loop {
            let (sent_calls, result) = outcome;
            self.tally.system_calls += sent_calls;
            if lends {
                self.completions.sent(slot, sent_calls);
            }
            match result {
                Ok(()) => break,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.tally.system_calls += 1;
                    self.tally.enobufs += 1;
                    self.wait_for_buffers()?;
                    outcome = self.calls[call].pieces.resume(self.socket, flags);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn reap(&mut self) -> io::Result<bool> {
        self.since_reap = 0;
        self.completions.reap(self.socket, &mut self.tally)
    }

    /// Sleeps until at least one notification has been taken.
    fn wait(&mut self) -> io::Result<()> {
        self.push()?;
        while !self.reap()? {
            self.tally.system_calls += 1;
            match self.shape.nap {
                None => socket::wait_for_completion(self.socket)?,
                Some(nap) => sleep(nap),
            }
        }
        Ok(())
    }

    /// What MSG_MORE holds back completes only when it is sent. It does within a slot too, whose second call may be refused.
    fn push(&mut self) -> io::Result<()> {
        if self.shape.flags & libc::MSG_MORE == 0 && self.calls_per_slot == 1 {
            return Ok(());
        }
        self.tally.system_calls += 1;
        socket::push(self.socket)
    }

    /// The kernel refused for want of buffers: some become free with each completion, ours or (locked
    /// memory is counted per user) that of another sender.
    fn wait_for_buffers(&mut self) -> io::Result<()> {
        if !self.completions.is_empty() {
            self.refused_since = None;
            return self.wait();
        }
        let since = *self.refused_since.get_or_insert_with(Instant::now);
        if since.elapsed() > PATIENCE {
            return Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                "the kernel keeps refusing even one zero-copy message (ENOBUFS with nothing in flight): raise \
                 net.core.optmem_max, or the locked-memory limit (ulimit -l) above threads x message size",
            ));
        }
        sleep(OTHERS);
        Ok(())
    }
}

impl Sender for ZerocopyRing {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.shape.per_call {
            self.send_slot()?;
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        while !self.completions.is_empty() {
            self.wait()?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

impl Drop for ZerocopyRing {
    /// The kernel may still read the ring if a send failed half way: then it is kept, not freed.
    fn drop(&mut self) {
        if !self.completions.is_empty() {
            std::mem::forget(std::mem::take(&mut self.ring));
            std::mem::forget(std::mem::take(&mut self.packed));
        }
    }
}

/// Which sends are not yet complete, and which slots they use.
///
/// The kernel numbers the zero-copy sends of a socket from 0 and completes ranges of numbers,
/// not necessarily in order.
pub struct PendingSends {
    /// The slot of each send from number `oldest` on; `None` once complete.
    slots: VecDeque<Option<usize>>,
    oldest: u32,
    /// Sends of each slot that are not complete.
    pending: Vec<u32>,
}

impl PendingSends {
    pub fn new(slots: usize) -> PendingSends {
        PendingSends { slots: VecDeque::new(), oldest: 0, pending: vec![0; slots] }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn outstanding(&self, slot: usize) -> bool {
        self.pending[slot] > 0
    }

    pub fn sent(&mut self, slot: usize, calls: u64) {
        self.pending[slot] += calls as u32;
        self.slots.extend((0..calls).map(|_| Some(slot)));
    }

    /// Takes the notifications that are there, without blocking; says whether there were any.
    #[inline]
    pub fn reap(&mut self, socket: RawFd, tally: &mut Tally) -> io::Result<bool> {
        let mut any = false;
        while !self.is_empty() {
            tally.system_calls += 1;
            let Some(completion) = socket::completion(socket)? else { break };
            any = true;
            let copied = completion.copied;
            let count = self.complete(completion)?;
            tally.completions += count;
            tally.completions_copied += if copied { count } else { 0 };
        }
        Ok(any)
    }

    /// Marks a range complete; returns how many sends it newly completed.
    fn complete(&mut self, completion: socket::Completion) -> io::Result<u64> {
        let start = completion.first.wrapping_sub(self.oldest) as usize;
        let mut newly = 0;
        for i in start..start.saturating_add(completion.count() as usize) {
            let Some(entry) = self.slots.get_mut(i) else {
                return Err(io::Error::other(format!(
                    "the kernel completed zero-copy send {} which was never made",
                    self.oldest.wrapping_add(i as u32)
                )));
            };
            if let Some(slot) = entry.take() {
                self.pending[slot] -= 1;
                newly += 1;
            }
        }
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.oldest = self.oldest.wrapping_add(1);
        }
        Ok(newly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_sys::socket::Completion;

    fn range(first: u32, last: u32) -> Completion {
        Completion { first, last, copied: false }
    }

    #[test]
    fn slots_free_only_when_their_last_send_completes() {
        let mut completions = PendingSends::new(2);
        completions.sent(0, 2);
        completions.sent(1, 1);
        assert_eq!(completions.complete(range(0, 0)).unwrap(), 1);
        assert!(completions.outstanding(0), "a partial send is still in flight");
        assert_eq!(completions.complete(range(2, 2)).unwrap(), 1, "out of order");
        assert!(!completions.outstanding(1));
        assert_eq!(completions.complete(range(1, 1)).unwrap(), 1);
        assert!(!completions.outstanding(0) && completions.is_empty());
    }

    #[test]
    fn numbers_wrap_and_strangers_are_refused() {
        let mut completions = PendingSends::new(1);
        completions.oldest = u32::MAX;
        completions.sent(0, 3);
        assert_eq!(completions.complete(range(u32::MAX, 1)).unwrap(), 3);
        assert!(completions.is_empty());
        assert!(completions.complete(range(9, 9)).is_err());
    }
}
