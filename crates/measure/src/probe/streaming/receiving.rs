//! The receiver's side of a stream: takes it, verifies it, measures goodput.
//!
//! The head of every stream is verified byte by byte before the first window; a piece is verified
//! at every window's edge, outside the timed part, and the last bytes at the end. The totals of
//! both sides are compared when the round is merged.

use super::super::meter::{Meter, Stamp};
use super::super::{Task, Window};
use super::bursts::Bursts;
use super::null::{self, OwnCost};
use super::threads::Done;
use crate::message;
use crate::receiver::{Receiver, UnknownCounts};
use anyhow::{Result, anyhow, bail};
use std::hint::black_box;
use syscost_host::clock;

/// Bytes verified at the head of each stream.
const HEAD_BYTES: u64 = 256 * 1024;
/// Bytes verified at each window's edge.
pub const PIECE_BYTES: usize = 16 * 1024;
/// Bytes verified of a piece while others are timed.
pub const END_BYTES: usize = 64;

/// What each of so many streams has of what is verified of one alone: at the edge of a window nobody receives
/// meanwhile, and the sender goes on.
pub fn share(whole: usize, streams: usize) -> usize {
    const LEAST: usize = 64;
    (whole / streams.max(1)).max(LEAST).min(whole)
}

/// Where a data thread takes its bytes from: one stream, or several.
pub trait Source {
    /// Takes the next piece; false when everything has ended.
    fn take_next(&mut self) -> Result<bool>;

    /// Called before the first window, and after the last.
    fn warmed_up(&mut self) {}
    fn wound_up(&mut self);

    /// Checks the end of the last piece of each stream, up to `limit` bytes of it.
    fn verify(&self, limit: usize) -> Result<()>;

    /// Has each stream ended at the end of a message?
    fn whole(&self) -> Result<()>;

    fn message_bytes(&self) -> u64;

    /// So far.
    fn counts(&self) -> SourceCounts;

    /// So many bytes have been sent: what of them does not come is lost, where that can be.
    fn owed(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Of the whole round, once everything has ended.
    fn totals(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A receiver and where in its stream it is.
pub struct MessageStream {
    receiver: Box<dyn Receiver>,
    message_bytes: u64,
    /// Bytes received so far.
    pub bytes: u64,
    pub system_calls: u64,
    /// Up to here every piece is verified as it arrives, and so many bytes of its end.
    verify_until: u64,
    verify_bytes: usize,
    /// What is verified of each piece after the last window.
    piece_bytes: usize,
}

impl MessageStream {
    pub fn of(task: &Task, receiver: Box<dyn Receiver>) -> Result<MessageStream> {
        let message_bytes = super::sending::message_bytes(task)?;
        let verify_until = if task.verify_all { u64::MAX } else { HEAD_BYTES };
        let (bytes, system_calls, verify_bytes, piece_bytes) = (0, 0, usize::MAX, PIECE_BYTES);
        Ok(MessageStream {
            receiver,
            message_bytes,
            bytes,
            system_calls,
            verify_until,
            verify_bytes,
            piece_bytes,
        })
    }

    /// One of so many has its share of what one alone verifies, unless every byte is to be.
    pub fn calls_are_unknown(&self) -> bool {
        self.receiver.unknown().system_calls
    }

    pub fn be_one_of(&mut self, streams: usize) {
        if self.verify_until < u64::MAX {
            self.verify_until = share(HEAD_BYTES as usize, streams) as u64;
            self.piece_bytes = share(PIECE_BYTES, streams);
        }
    }

    /// From here on only ends of pieces are verified, unless every byte is to be.
    pub fn head_is_over(&mut self) {
        if self.verify_until < u64::MAX {
            self.verify_until = 0;
        }
    }

    /// From here on each piece may be the last: so many bytes of its end are verified, unless every byte is to be.
    pub fn verify_ends(&mut self, bytes: usize) {
        if self.verify_until < u64::MAX || self.verify_bytes < usize::MAX {
            (self.verify_until, self.verify_bytes) = (u64::MAX, bytes);
        }
    }
}

impl Source for MessageStream {
    #[inline]
    fn take_next(&mut self) -> Result<bool> {
        let got = self.receiver.receive().map_err(|error| anyhow!(error).context("cannot receive"))?;
        self.system_calls += u64::from(got.system_calls);
        let start = self.bytes;
        self.bytes += got.bytes as u64;
        if start < self.verify_until && got.bytes > 0 {
            self.verify(self.verify_bytes)?;
        }
        Ok(got.bytes > 0)
    }

    /// A stream's last bytes come in no piece that is known to be the last.
    fn wound_up(&mut self) {
        self.verify_ends(self.piece_bytes);
    }

    /// Where this receiver sees bytes.
    fn verify(&self, limit: usize) -> Result<()> {
        let Some(pieces) = self.receiver.last() else { return Ok(()) };
        let (mut end, mut left) = (self.bytes, limit);
        for piece in pieces.into_iter().rev() {
            let part = &piece[piece.len().saturating_sub(left)..];
            message::verify(part, end - part.len() as u64, self.message_bytes as usize)
                .map_err(|at| anyhow!("byte {at} of the stream is not what was sent"))?;
            (end, left) = (end - piece.len() as u64, left - part.len());
        }
        Ok(())
    }

    fn whole(&self) -> Result<()> {
        if self.bytes % self.message_bytes != 0 {
            bail!("the stream ended inside a message, after {} bytes", self.bytes);
        }
        Ok(())
    }

    fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    fn counts(&self) -> SourceCounts {
        let MessageStream { bytes, system_calls: calls, .. } = *self;
        let (uncopied, unknown) = (self.receiver.uncopied_bytes(), self.receiver.unknown());
        SourceCounts { bytes, calls, uncopied, unknown }
    }
}

/// What a source has counted so far.
#[derive(Clone, Copy, Default)]
pub struct SourceCounts {
    pub bytes: u64,
    pub calls: u64,
    pub uncopied: u64,
    pub unknown: UnknownCounts,
}

impl SourceCounts {
    /// Takes in what one of several streams counted between two moments.
    pub fn add_since(&mut self, before: &SourceCounts, after: &SourceCounts) {
        self.bytes += after.bytes - before.bytes;
        self.calls += after.calls - before.calls;
        self.uncopied += after.uncopied - before.uncopied;
        self.unknown = after.unknown;
    }

    /// The window between two moments, and what was counted since.
    pub fn window(
        &self,
        since: &SourceCounts,
        meter: &Meter,
        (from, to): (&Stamp, &Stamp),
        message_bytes: u64,
    ) -> Window {
        let bytes = (self.bytes - since.bytes) as f64;
        let messages = bytes / message_bytes as f64;
        let mut window = meter.window(from, to, messages, bytes);
        let mut put = |id: &str, n: Option<f64>| window.quantities.insert(id.into(), n);
        let known = |unknown: bool, n: u64| (!unknown).then_some(n as f64);
        put("messages", Some(messages));
        put("system_calls", known(self.unknown.system_calls, self.calls - since.calls));
        put("uncopied_bytes", known(self.unknown.uncopied_bytes, self.uncopied - since.uncopied));
        window
    }
}

/// Between two looks at the clock there is more than one piece only if that takes less.
const LOOK_NS: u64 = 10_000;
/// Pieces between two looks: a stream that stalls makes no window much longer.
const MOST_PIECES: u64 = 16;

/// Takes pieces until the deadline has passed; returns how often it looked at the clock.
fn until(source: &mut dyn Source, deadline: u64, open: &mut bool) -> Result<u64> {
    let (mut looks, mut pieces) = (0, 1);
    let mut now = clock::monotonic_ns();
    while *open && now < deadline {
        for _ in 0..pieces {
            *open = source.take_next()?;
            if !*open {
                break;
            }
        }
        looks += 1;
        let then = std::mem::replace(&mut now, clock::monotonic_ns());
        let took = now - then;
        if took < LOOK_NS / 2 {
            pieces = MOST_PIECES.min(pieces * 2);
        } else if took > LOOK_NS {
            pieces = 1;
        }
    }
    Ok(looks)
}

/// Takes pieces until so many bytes have come in all.
fn until_received(source: &mut dyn Source, bytes: u64, open: &mut bool) -> Result<()> {
    while *open && source.counts().bytes < bytes {
        *open = source.take_next()?;
    }
    Ok(())
}

/// Warm-up and windows, as the task's timing has them, and how often the clock was looked at in the windows. `open` turns false where the stream ends meanwhile.
pub fn windows(
    task: &Task,
    source: &mut dyn Source,
    meter: &mut Meter,
    open: &mut bool,
) -> Result<(Vec<Window>, u64)> {
    let (mut timed, mut looks) = (Vec::new(), 0);
    let message_bytes = source.message_bytes();
    let bytes_until = |bursts: Bursts, windows| bursts.messages_until(windows) * message_bytes;
    let bursts = Bursts::of(&task.point);
    match bursts {
        Some(bursts) => until_received(source, bytes_until(bursts, 0), open)?,
        None => _ = until(source, clock::monotonic_ns() + task.timing.warmup_ns, open)?,
    }
    source.warmed_up();
    for _ in 0..task.timing.windows {
        if !*open {
            break;
        }
        source.verify(PIECE_BYTES)?;
        let before = source.counts();
        let from = meter.stamp();
        match bursts {
            Some(bursts) => until_received(source, bytes_until(bursts, timed.len() + 1), open)?,
            None => looks += until(source, from.ns() + task.timing.window_ns, open)?,
        }
        let to = meter.stamp();
        if !*open && to.ns() - from.ns() < task.timing.window_ns / 2 {
            // The stream ended: this piece of a window says little.
            break;
        }
        let after = source.counts();
        timed.push(after.window(&before, meter, (&from, &to), source.message_bytes()));
    }
    Ok((timed, looks))
}

/// Warm-up, the windows, and the rest of the stream.
pub fn take(task: &Task, source: &mut dyn Source) -> Result<Done> {
    let own = OwnCost::of_receiving(task, &mut *null_source())?;
    let (began, copied) = (clock::thread_cpu_ns(), message::user_copied_bytes());
    let mut meter = Meter::of(task);
    let mut open = true;
    let (windows, looks) = windows(task, source, &mut meter, &mut open)?;
    let own_ns = own.total_ns(windows.len() as u64, looks);
    source.wound_up();
    while open {
        open = source.take_next()?;
    }
    source.whole()?;
    let mut totals = source.totals();
    totals.extend([
        (super::USER_COPIED, message::user_copied_bytes() - copied),
        (super::UNCOPIED, source.counts().uncopied),
        (super::CPU, clock::thread_cpu_ns() - began),
        (null::OWN_IN_WINDOWS, own_ns as u64),
    ]);
    Ok(Done { windows, bytes: source.counts().bytes, totals, missing: meter.missing(), program: None })
}

/// Receives nothing: each piece is a byte that nobody sent.
#[derive(Default)]
struct NullSource {
    pieces: u64,
}

impl Source for NullSource {
    fn take_next(&mut self) -> Result<bool> {
        self.pieces += 1;
        Ok(true)
    }

    fn wound_up(&mut self) {}

    fn verify(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn whole(&self) -> Result<()> {
        Ok(())
    }

    fn message_bytes(&self) -> u64 {
        1
    }

    fn counts(&self) -> SourceCounts {
        SourceCounts { bytes: self.pieces, calls: self.pieces, ..SourceCounts::default() }
    }
}

/// A source of nothing, as unknown to the compiler as a receiver.
pub fn null_source() -> Box<dyn Source> {
    black_box(Box::new(NullSource::default()))
}

impl OwnCost {
    /// Of a receiver's windows, in which pieces come from `source`.
    pub fn of_receiving(task: &Task, source: &mut dyn Source) -> Result<OwnCost> {
        OwnCost::by_windows(task, |task, meter| windows(task, source, meter, &mut true))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Timing;
    use super::*;
    use crate::receiver::Received;
    use std::io;
    use syscost_core::axis::{Point, Value};

    const MESSAGE: u64 = 4096;

    /// Delivers whole messages, of which one may be damaged, for as long as it is asked to and two pieces more.
    struct Fake {
        pieces: u64,
        until_ns: u64,
        left: u64,
        damaged: bool,
        piece: Vec<u8>,
    }

    impl Receiver for Fake {
        fn receive(&mut self) -> io::Result<Received> {
            if clock::monotonic_ns() > self.until_ns {
                self.left -= 1;
            }
            self.piece.clear();
            if self.left > 0 {
                self.pieces += 1;
                let mut message = vec![0; MESSAGE as usize];
                message::fill(&mut message, 0);
                if self.left == 1 && self.damaged {
                    message[MESSAGE as usize - 1] ^= 1;
                }
                self.piece = message;
            }
            Ok(Received { bytes: self.piece.len(), system_calls: 1 })
        }

        fn last(&self) -> Option<Vec<&[u8]>> {
            Some(vec![&self.piece])
        }
    }

    fn taken(damaged: bool) -> Result<Done> {
        let mut point = Point::default();
        point.set("message_bytes", Value::Int(MESSAGE));
        let timing = Timing { warmup_ns: 2_000_000, window_ns: 2_000_000, windows: 2 };
        let task = Task::of(point, timing);
        // Windows of a held up thread end late: the two last pieces come long after them.
        let until_ns = clock::monotonic_ns() + 200_000_000;
        let fake = Fake { pieces: 0, until_ns, left: 3, damaged, piece: Vec::new() };
        take(&task, &mut MessageStream::of(&task, Box::new(fake))?)
    }

    #[test]
    fn of_quick_pieces_several_come_between_two_looks_and_of_slow_ones_one() {
        /// Waits so long before each piece.
        struct Paced(u64, Box<dyn Source>);
        impl Receiver for Paced {
            fn receive(&mut self) -> io::Result<Received> {
                let until = clock::monotonic_ns() + self.0;
                while clock::monotonic_ns() < until {}
                self.1.take_next().map_err(io::Error::other)?;
                Ok(Received { bytes: 1, system_calls: 0 })
            }

            fn last(&self) -> Option<Vec<&[u8]>> {
                None
            }
        }
        let mut point = Point::default();
        point.set("message_bytes", Value::Int(1));
        let task = Task::of(point, Timing { warmup_ns: 0, window_ns: 0, windows: 0 });
        let by_look = |pace_ns| {
            let paced = Box::new(Paced(pace_ns, null_source()));
            let mut stream = MessageStream::of(&task, paced).unwrap();
            let mut open = true;
            let looks = until(&mut stream, clock::monotonic_ns() + 5_000_000, &mut open).unwrap();
            assert!(open && looks > 0);
            stream.bytes as f64 / looks as f64
        };
        assert!(by_look(0) > 4.0);
        assert_eq!(by_look(2 * LOOK_NS), 1.0);
    }

    #[test]
    fn a_byte_that_is_wrong_at_the_very_end_is_seen() {
        let done = taken(false).expect("nothing is damaged");
        assert!(done.bytes > 0 && done.bytes % MESSAGE == 0);
        let error = taken(true).err().expect("the last byte is damaged").to_string();
        assert!(error.contains("is not what was sent"), "{error}");
    }
}
