//! The receiver's side of a stream: takes it, verifies it, measures goodput.
//!
//! The head of every stream is verified byte by byte before the first window; a piece is verified
//! at every window's edge, outside the timed part, and the last bytes at the end. The totals of
//! both sides are compared when the round is merged.

use super::super::Task;
use super::super::meter::Meter;
use super::threads::Done;
use crate::host::clock;
use crate::message;
use crate::receiver::Receiver;
use anyhow::{Result, anyhow, bail};

/// Bytes verified at the head of each stream.
const HEAD_BYTES: u64 = 256 * 1024;
/// Bytes verified at each window's edge.
pub const PIECE_BYTES: usize = 16 * 1024;

/// A receiver and where in its stream it is.
pub struct Stream {
    receiver: Box<dyn Receiver>,
    message_bytes: u64,
    /// Bytes received so far.
    pub bytes: u64,
    pub system_calls: u64,
    /// Up to here every byte is verified as it arrives.
    pub verify_until: u64,
}

impl Stream {
    pub fn of(task: &Task, receiver: Box<dyn Receiver>) -> Result<Stream> {
        let message_bytes = super::sending::message_bytes(task)?;
        let verify_until = if task.verify_all { u64::MAX } else { HEAD_BYTES };
        Ok(Stream { receiver, message_bytes, bytes: 0, system_calls: 0, verify_until })
    }

    /// Takes the next piece; false at the end of the stream.
    #[inline]
    pub fn take_next(&mut self) -> Result<bool> {
        let got = self.receiver.receive().map_err(|error| anyhow!(error).context("cannot receive"))?;
        self.system_calls += u64::from(got.system_calls);
        let start = self.bytes;
        self.bytes += got.bytes as u64;
        if start < self.verify_until && got.bytes > 0 {
            self.verify(usize::MAX)?;
        }
        Ok(got.bytes > 0)
    }

    /// Checks the end of the last piece, up to `limit` bytes of it, where this receiver sees bytes.
    pub fn verify(&self, limit: usize) -> Result<()> {
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
}

/// Warm-up, the windows, and the rest of the stream.
pub fn take(task: &Task, mut stream: Stream) -> Result<Done> {
    let began = clock::thread_cpu_ns();
    let mut meter = Meter::open(task.tsc_hz);
    let mut done = Done { missing: meter.missing().to_vec(), ..Default::default() };
    let warm = clock::monotonic_ns() + task.timing.warmup_ns;
    let mut open = true;
    while open && clock::monotonic_ns() < warm {
        open = stream.take_next()?;
    }
    for _ in 0..task.timing.windows {
        if !open {
            break;
        }
        stream.verify(PIECE_BYTES)?;
        let (bytes, calls) = (stream.bytes, stream.system_calls);
        let uncopied = stream.receiver.uncopied_bytes();
        let from = meter.stamp();
        let deadline = from.ns + task.timing.window_ns;
        while open && clock::monotonic_ns() < deadline {
            open = stream.take_next()?;
        }
        let to = meter.stamp();
        if !open && to.ns - from.ns < task.timing.window_ns / 2 {
            // The stream ended: this piece of a window says little.
            break;
        }
        let bytes = (stream.bytes - bytes) as f64;
        let messages = bytes / stream.message_bytes as f64;
        let mut window = meter.window(&from, &to, messages, bytes);
        let mut put = |id: &str, n: f64| window.quantities.insert(id.into(), Some(n));
        put("messages", messages);
        put("system_calls", (stream.system_calls - calls) as f64);
        put("uncopied_bytes", (stream.receiver.uncopied_bytes() - uncopied) as f64);
        done.windows.push(window);
    }
    while open {
        open = stream.take_next()?;
    }
    stream.verify(PIECE_BYTES)?;
    if !stream.bytes.is_multiple_of(stream.message_bytes) {
        bail!("the stream ended inside a message, after {} bytes", stream.bytes);
    }
    done.bytes = stream.bytes;
    done.totals = vec![
        (super::UNCOPIED, stream.receiver.uncopied_bytes()),
        (super::CPU, clock::thread_cpu_ns() - began),
    ];
    Ok(done)
}
