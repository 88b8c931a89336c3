//! The closed loop: a request, its answer of the same size by the same mechanism, then the next.
//!
//! One exchange is outstanding, and each is timed for itself: from before the call that sends the
//! request to after the call that brought the answer's last byte. Bytes are verified in the warm-up and
//! at the window's end, outside what is timed.

use super::side::{self, SideReading};
use crate::mechanism::Sender;
use crate::probe::meter::{Meter, Stamp};
use crate::probe::streaming::receiving::{END_BYTES, MessageStream, PIECE_BYTES, Source};
use crate::probe::streaming::{RECEIVER, sending, threads};
use crate::probe::transfer::{connection, receiver, sender};
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
    sender: Box<dyn Sender>,
    arriving: MessageStream,
    bytes: u64,
    messages: u64,
}

impl<'a> ClosedLoopEnd<'a> {
    fn start(task: &Task, stream: &'a TcpStream) -> Result<ClosedLoopEnd<'a>> {
        Ok(ClosedLoopEnd {
            stream,
            sender: sender::start(task, stream)?,
            arriving: MessageStream::of(task, receiver::start(task, stream)?)?,
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
        side::reading(self.messages, self.sender.as_ref(), Some(&self.arriving), self.stream)
    }

    /// From here on nothing is verified as it arrives, unless everything is to be.
    fn stop_verifying(&mut self) {
        self.arriving.head_is_over();
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

pub fn play(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    wakes(task)?;
    let answers = task.role == RECEIVER;
    let streams =
        if answers { connection::accept_all(task, channel)? } else { connection::connect_all(task)? };
    let mut report = threads::run(task, &streams, channel, |stream| {
        let end = ClosedLoopEnd::start(task, stream)?;
        Ok(Box::new(move || if answers { answer(task, end) } else { ask(task, end) }))
    })?;
    report.facts.extend(connection::facts(&streams[0]));
    Ok(report)
}

fn ask(task: &Task, mut end: ClosedLoopEnd<'_>) -> Result<threads::Done> {
    let Timing { warmup_ns, window_ns, .. } = task.timing;
    let mut meter = Meter::of(task);
    let mut times = HistogramRecorder::default();
    let mut done = threads::Done::default();
    let warm = clock::monotonic_ns() + warmup_ns;
    while end.exchange()?.1 < warm {}
    end.stop_verifying();
    let before = end.reading()?;
    let from = meter.stamp();
    let deadline = from.ns() + window_ns;
    loop {
        let (asked, answered) = end.exchange()?;
        times.record(answered - asked);
        if answered >= deadline {
            break;
        }
    }
    let to = meter.stamp();
    let after = end.reading()?;
    let mut window = side::window(&meter, (&from, &to), (&before, &after), end.bytes);
    side::add_sending(&mut window, &before, &after);
    window.histogram = Some(times.histogram());
    done.windows.push(window);
    end.arriving.verify(PIECE_BYTES)?;
    end.sender.settle()?;
    done.bytes = end.messages * end.bytes;
    done.totals = vec![(ANSWERED, end.arriving.bytes)];
    let stream = end.stream;
    drop(end);
    stream.shutdown(Shutdown::Write).context("cannot close the stream")?;
    done.missing = meter.missing();
    Ok(done)
}

/// Answers until the stream ends; its own window is one of the same length, by its own clock.
fn answer(task: &Task, mut end: ClosedLoopEnd<'_>) -> Result<threads::Done> {
    let Timing { warmup_ns, window_ns, .. } = task.timing;
    let mut meter = Meter::of(task);
    let mut done = threads::Done::default();
    let warm = clock::monotonic_ns() + warmup_ns;
    let mut opened: Option<(Stamp, SideReading)> = None;
    loop {
        let open = end.take()?;
        if open {
            end.send()?;
            // Each may be the last; its answer is on its way meanwhile.
            end.arriving.verify(END_BYTES)?;
        }
        let now = clock::monotonic_ns();
        match &opened {
            None if now >= warm => {
                end.stop_verifying();
                opened = Some((meter.stamp(), end.reading()?));
            }
            Some((from, before)) if done.windows.is_empty() && (!open || now >= from.ns() + window_ns) => {
                let (to, after) = (meter.stamp(), end.reading()?);
                done.windows.push(side::window(&meter, (from, &to), (before, &after), end.bytes));
            }
            _ => {}
        }
        if !open {
            break;
        }
    }
    end.sender.settle()?;
    done.bytes = end.arriving.bytes;
    done.totals = vec![(ANSWERED, end.messages * end.bytes)];
    done.missing = meter.missing();
    Ok(done)
}
