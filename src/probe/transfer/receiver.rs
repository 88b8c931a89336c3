//! The receiver's side of a transfer: takes the streams, verifies them, measures goodput.
//!
//! The head of every stream is verified byte by byte before the first window; a piece is verified
//! at every window's edge, outside the timed part, and the last bytes at the end. The totals of
//! both sides are compared when the round is merged.

use super::super::{RoleReport, Stage, Task, meter::Meter};
use super::{audit, connection, threads};
use crate::host::clock;
use crate::mechanism;
use crate::message;
use crate::receiver::{self, Receiver, Setup};
use anyhow::{Context, Result, anyhow, bail};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Bytes verified at the head of each stream.
const HEAD_BYTES: u64 = 256 * 1024;
/// Bytes verified at each window's edge.
const PIECE_BYTES: usize = 16 * 1024;

pub fn play(task: &Task, stage: &mut dyn Stage) -> Result<RoleReport> {
    let count = task.point.int("threads").unwrap_or(1) as usize;
    let address = task.address.parse().with_context(|| format!("{} is no IP address", task.address))?;
    let listener = connection::listen(address, &task.point, count)?;
    let bound = listener.local_addr()?.as_socket().context("the listener has no IP address")?;
    stage.offer(serde_json::json!({ "address": bound.to_string() }))?;
    let streams = connection::accept(&listener, &task.token, &task.point, count)?;
    drop(listener);
    let mut report = threads::run(
        task,
        &streams,
        stage,
        |pinned| pinned.receiver,
        |stream| {
            let stream = Stream::start(task, stream)?;
            Ok(Box::new(move || take(task, stream)))
        },
    )?;
    report.facts.extend(connection::facts(&streams[0]));
    Ok(report)
}

/// A receiver and where in its stream it is.
struct Stream {
    receiver: Box<dyn Receiver>,
    message_bytes: u64,
    /// Bytes received so far.
    bytes: u64,
    system_calls: u64,
    /// Up to here every byte is verified as it arrives.
    verify_until: u64,
}

impl Stream {
    fn start(task: &Task, stream: &TcpStream) -> Result<Stream> {
        let id = task.point.text("receiver").context("the point names no receiver")?;
        let receive = receiver::find(id).with_context(|| format!("no receiver {id}"))?;
        let message_bytes = task.point.int("message_bytes").context("the point has no message size")?;
        if let Some(mechanism) = task.point.text("mechanism").and_then(mechanism::find) {
            mechanism.prepare_receiver(stream.as_raw_fd()).context("cannot prepare the receiver's socket")?;
        }
        let setup =
            Setup { socket: stream.as_raw_fd(), message_bytes: message_bytes as usize, point: &task.point };
        let receiver = receive.start(setup).map_err(|error| threads::cannot_start(id, error))?;
        let verify_until = if task.verify_all { u64::MAX } else { HEAD_BYTES };
        Ok(Stream { receiver, message_bytes, bytes: 0, system_calls: 0, verify_until })
    }

    /// Takes the next piece; false at the end of the stream.
    #[inline]
    fn next(&mut self) -> Result<bool> {
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
}

fn take(task: &Task, mut stream: Stream) -> Result<threads::Done> {
    let began = clock::thread_cpu_ns();
    let mut meter = Meter::open(task.tsc_hz);
    let mut done = threads::Done { missing: meter.missing().to_vec(), ..Default::default() };
    let warm = clock::monotonic_ns() + task.timing.warmup_ns;
    let mut open = true;
    while open && clock::monotonic_ns() < warm {
        open = stream.next()?;
    }
    for _ in 0..task.timing.windows {
        if !open {
            break;
        }
        stream.verify(PIECE_BYTES)?;
        let (bytes, calls) = (stream.bytes, stream.system_calls);
        let from = meter.stamp();
        let deadline = from.ns + task.timing.window_ns;
        while open && clock::monotonic_ns() < deadline {
            open = stream.next()?;
        }
        let to = meter.stamp();
        if !open && to.ns - from.ns < task.timing.window_ns / 2 {
            // The stream ended: this piece of a window says little.
            break;
        }
        let bytes = (stream.bytes - bytes) as f64;
        let messages = bytes / stream.message_bytes as f64;
        let mut window = meter.window(&from, &to, messages, bytes);
        window.quantities.insert("messages".into(), Some(messages));
        window.quantities.insert("system_calls".into(), Some((stream.system_calls - calls) as f64));
        done.windows.push(window);
    }
    while open {
        open = stream.next()?;
    }
    stream.verify(PIECE_BYTES)?;
    if !stream.bytes.is_multiple_of(stream.message_bytes) {
        bail!("the stream ended inside a message, after {} bytes", stream.bytes);
    }
    done.bytes = stream.bytes;
    done.totals = vec![
        (audit::UNCOPIED, stream.receiver.uncopied_bytes()),
        (audit::CPU, clock::thread_cpu_ns() - began),
    ];
    Ok(done)
}
