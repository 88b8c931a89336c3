//! The closed loop: a request, its answer of the same size by the same mechanism, then the next.
//!
//! One exchange is outstanding, and each is timed for itself: from before the call that sends the
//! request to after the call that brought the answer's last byte. Bytes are verified in the warm-up and
//! at the window's end, outside what is timed.

use super::carrier::{LatencyCarrier, WantedEnds};
use super::side::{self, SideReading, SideWindow};
use crate::mechanism::Sender;
use crate::probe::streaming::receiving::{END_BYTES, MessageStream, PIECE_BYTES, Source};
use crate::probe::streaming::{RECEIVER, sending, threads};
use crate::probe::transfer::{connection, far};
use crate::probe::{Channel, RoleReport, Task, Timing};
use crate::receiver::options::LOW_WATER;
use anyhow::{Context, Result, anyhow, ensure};
use std::net::{Shutdown, TcpStream};
use syscost_core::stats::histogram::HistogramRecorder;
use syscost_host::{Unavailable, clock};

/// A total of both sides: bytes of answers.
pub const ANSWERED: &str = "answered_bytes";

/// One end of a connection: it sends by the case's mechanism and receives by its receiver.
struct ClosedLoopEnd<'a> {
    stream: &'a TcpStream,
    carrier: LatencyCarrier,
    sender: Box<dyn Sender>,
    arriving: MessageStream,
    bytes: u64,
    messages: u64,
}

impl<'a> ClosedLoopEnd<'a> {
    fn start(task: &Task, stream: &'a TcpStream, carrier: LatencyCarrier) -> Result<ClosedLoopEnd<'a>> {
        let ends = (carrier.ends)(task, stream, WantedEnds::Both)?;
        Ok(ClosedLoopEnd {
            stream,
            carrier,
            sender: ends.sender.context("nothing sends")?,
            arriving: MessageStream::of(task, ends.receiver.context("nothing receives")?)?,
            bytes: sending::message_bytes(task)?,
            messages: 0,
        })
    }

    fn send(&mut self) -> Result<()> {
        self.messages += 1;
        self.sender.send(1).map_err(|error| anyhow!(error).context("cannot send"))
    }

    /// Takes a whole message; false when the stream ended before its first byte.
    fn take(&mut self) -> Result<bool> {
        let whole = self.arriving.bytes + self.bytes;
        while self.arriving.bytes < whole {
            if !self.arriving.take_next()? {
                ensure!(self.arriving.bytes + self.bytes == whole, "the stream ended inside a message");
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn exchange(&mut self) -> Result<(u64, u64)> {
        let from = clock::monotonic_ns();
        self.send()?;
        ensure!(self.take()?, "the other side closed the connection");
        Ok((from, clock::monotonic_ns()))
    }

    fn reading(&self) -> Result<SideReading> {
        let carries = self.carrier.is_the_connection.then_some(self.stream);
        side::reading(self.messages, self.sender.as_ref(), Some(&self.arriving), carries)
    }
}

/// A receiver that sleeps until more has arrived than a message never wakes for one.
fn wakes(task: &Task) -> Result<()> {
    let (mark, bytes) = (task.point.int_at(LOW_WATER.id).unwrap_or(1), sending::message_bytes(task)?);
    if mark > bytes {
        return Err(anyhow!(Unavailable {
            reason: format!("a receiver that sleeps until {mark} bytes have arrived never wakes for {bytes}"),
            remedy: "choose a low-water mark that is no larger than the message".into(),
        }));
    }
    Ok(())
}

pub fn play(task: &Task, channel: &mut dyn Channel, carrier: LatencyCarrier) -> Result<RoleReport> {
    wakes(task)?;
    let answers = task.role == RECEIVER;
    let streams =
        if answers { connection::accept_all(task, channel)? } else { connection::connect_all(task)? };
    let mut report = threads::run(task, &streams, channel, |stream| {
        let end = ClosedLoopEnd::start(task, stream, carrier)?;
        Ok(Box::new(move || if answers { answer(task, end) } else { ask(task, end) }))
    })?;
    report.facts.extend((carrier.facts)(&streams[0]));
    Ok(report)
}

fn ask(task: &Task, mut end: ClosedLoopEnd<'_>) -> Result<threads::Done> {
    let Timing { warmup_ns, window_ns, .. } = task.timing;
    let mut timed = SideWindow::of(task)?;
    let mut times = HistogramRecorder::default();
    let warm = clock::monotonic_ns() + warmup_ns;
    while end.exchange()?.1 < warm {}
    end.arriving.head_is_over();
    let deadline = timed.open(end.reading()?) + window_ns;
    loop {
        let (asked, answered) = end.exchange()?;
        times.record(answered - asked);
        if answered >= deadline {
            break;
        }
    }
    timed.close(|| end.reading())?.histogram = Some(times.histogram());
    end.arriving.verify(PIECE_BYTES)?;
    end.sender.settle()?;
    let (bytes, answered, stream) = (end.messages * end.bytes, end.arriving.bytes, end.stream);
    drop(end);
    stream.shutdown(Shutdown::Write).context("cannot close the stream")?;
    Ok(timed.done(bytes, vec![(ANSWERED, answered)]))
}

/// Exchanges of a connection before the window of an answering side on another host, which lasts to the end: the asking
/// side knows how many it holds.
pub const BEFORE: u64 = 1;

/// Answers until the stream ends; its own window is one of the same length, by its own clock.
fn answer(task: &Task, mut end: ClosedLoopEnd<'_>) -> Result<threads::Done> {
    let Timing { warmup_ns, window_ns, .. } = task.timing;
    let mut timed = SideWindow::of(task)?;
    let warm = clock::monotonic_ns() + warmup_ns;
    let far = far::host(&task.point).is_some();
    loop {
        let open = end.take()?;
        if open {
            end.send()?;
            // Each may be the last; its answer is on its way meanwhile.
            end.arriving.verify(END_BYTES)?;
        }
        let now = clock::monotonic_ns();
        match timed.opened_ns() {
            None if if far { end.messages >= BEFORE } else { now >= warm } => {
                end.arriving.head_is_over();
                timed.open(end.reading()?);
            }
            Some(from) if !timed.is_over() && (!open || !far && now >= from + window_ns) => {
                timed.close(|| end.reading())?;
            }
            _ => {}
        }
        if !open {
            break;
        }
    }
    end.sender.settle()?;
    Ok(timed.done(end.arriving.bytes, vec![(ANSWERED, end.messages * end.bytes)]))
}
