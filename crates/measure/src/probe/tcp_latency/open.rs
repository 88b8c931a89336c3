//! The open loop: messages one way on a schedule that no delay moves.
//!
//! The sender tells the schedule first, on the connection itself; then it sends each message when it is
//! due, or at once where it is behind. The receiver takes the time of each message's last byte and
//! subtracts the due time: one clock, since both sides are on one host.

use super::axes;
use super::carrier::{CarrierEnds, LatencyCarrier, WantedEnds};
use super::schedule::{ArrivalSchedule, Arrivals, WIRE_BYTES};
use super::side::{self, SideReading, SideWindow};
use super::wait::IdleWait;
use crate::probe::streaming::receiving::{END_BYTES, MessageStream, PIECE_BYTES, Source};
use crate::probe::streaming::{sending, threads};
use crate::probe::transfer::connection;
use crate::probe::{Channel, RoleReport, Task};
use anyhow::{Context, Result, anyhow, ensure};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use syscost_core::stats::histogram::HistogramRecorder;
use syscost_host::clock;

/// From the start of the round to the first message: every thread is running by then.
const LEAD_NS: u64 = 5_000_000;
/// A sender that is behind goes on after the window until it has sent all that was due in it: for
/// this share of the window and this long at most. Then the rate is not one that it can reach.
const BEHIND_SHARE: f64 = 0.5;
const BEHIND_NS: u64 = 20_000_000;
/// It sends at least so many messages of the window, however late.
const FEWEST: u64 = 100;

pub fn play_sending(task: &Task, channel: &mut dyn Channel, carrier: LatencyCarrier) -> Result<RoleReport> {
    let streams = connection::connect_all(task)?;
    let begin = OnceLock::new();
    let rate = axes::rate(&task.point).context("the point names no rate")?;
    let mut report = threads::run(task, &streams, channel, |stream| {
        let number = streams.iter().position(|s| std::ptr::eq(s, stream)).unwrap_or(0);
        let sender = (carrier.ends)(task, stream, WantedEnds::Sender)?.sender.context("nothing sends")?;
        let carries = carrier.is_the_connection.then_some(stream);
        let (begin, connections) = (&begin, streams.len());
        Ok(Box::new(move || {
            let start_ns = *begin.get_or_init(|| clock::monotonic_ns() + LEAD_NS);
            let schedule = ArrivalSchedule::of(start_ns, rate, number, connections);
            send(task, (stream, carries), sender, schedule)
        }))
    })?;
    report.facts.extend((carrier.facts)(&streams[0]));
    Ok(report)
}

fn send(
    task: &Task,
    (mut stream, carries): (&TcpStream, Option<&TcpStream>),
    mut sender: Box<dyn crate::mechanism::Sender>,
    schedule: ArrivalSchedule,
) -> Result<threads::Done> {
    let waiting = IdleWait::of(&task.point);
    stream.write_all(&schedule.to_wire()).context("cannot tell the schedule")?;
    let bytes = sending::message_bytes(task)?;
    let (warm, end) = schedule.span(task.timing);
    let behind_ns = (task.timing.window_ns as f64 * BEHIND_SHARE) as u64 + BEHIND_NS;
    let give_up_ns = schedule.due_ns(end) + behind_ns;
    let mut timed = SideWindow::of(task)?;
    let mut lateness = HistogramRecorder::default();
    let mut messages = 0;
    while messages < end {
        if messages == warm {
            timed.open(side::reading(messages, sender.as_ref(), None, carries)?);
        }
        let due_ns = schedule.due_ns(messages);
        let now = waiting.until(due_ns);
        if now > give_up_ns && messages >= warm + FEWEST {
            break;
        }
        if messages >= warm {
            lateness.record(now - due_ns);
        }
        sender.send(1).map_err(|error| anyhow!(error).context("cannot send"))?;
        messages += 1;
    }
    let window = timed.close(|| side::reading(messages, sender.as_ref(), None, carries))?;
    window.histogram = Some(lateness.histogram());
    sender.settle()?;
    drop(sender);
    stream.shutdown(Shutdown::Write).context("cannot close the stream")?;
    Ok(timed.done(messages * bytes, Vec::new()))
}

pub fn play_receiving(task: &Task, channel: &mut dyn Channel, carrier: LatencyCarrier) -> Result<RoleReport> {
    let streams = connection::accept_all(task, channel)?;
    let mut report = threads::run(task, &streams, channel, |stream| {
        let ends = || (carrier.ends)(task, stream, WantedEnds::Receiver);
        // What receives from the connection would take the schedule too.
        let beside = if carrier.is_the_connection { None } else { Some(ends()?) };
        Ok(Box::new(move || receive(task, stream, || beside.map_or_else(ends, Ok))))
    })?;
    report.facts.extend((carrier.facts)(&streams[0]));
    Ok(report)
}

fn receive(
    task: &Task,
    mut socket: &TcpStream,
    ends: impl FnOnce() -> Result<CarrierEnds>,
) -> Result<threads::Done> {
    let mut wire = [0; WIRE_BYTES];
    socket.read_exact(&mut wire).context("the sender told no schedule")?;
    let schedule = ArrivalSchedule::from_wire(wire);
    ensure!(schedule.interval_ns > 0.0, "the sender's schedule has no interval");
    let bytes = sending::message_bytes(task)?;
    let arrivals = Arrivals::new(schedule, task.timing, bytes);
    take(task, MessageStream::of(task, ends()?.receiver.context("nothing receives")?)?, arrivals)
}

/// The whole stream, and the window in it.
fn take(task: &Task, mut stream: MessageStream, mut arrivals: Arrivals) -> Result<threads::Done> {
    let mut timed = SideWindow::of(task)?;
    let bytes = stream.message_bytes() as f64;
    let mut late = false;
    loop {
        let open = stream.take_next()?;
        let now_ns = clock::monotonic_ns();
        arrivals.took(stream.bytes, now_ns)?;
        let receive_calls = stream.system_calls;
        let reading = SideReading { messages: arrivals.seen, receive_calls, ..SideReading::default() };
        if timed.opened_ns().is_none() && arrivals.warm() {
            timed.open(reading);
            stream.head_is_over();
        } else if timed.opened_ns().is_some() && !timed.is_over() && (arrivals.complete() || !open) {
            let window = timed.close(|| Ok(reading))?;
            window.ops = arrivals.counted() as f64;
            window.bytes = window.ops * bytes;
            window.elapsed_ns = arrivals.elapsed_ns() as f64;
            window.histogram = Some(arrivals.times().histogram());
            // The piece in hand may be the stream's last, and so may each that follows.
            stream.verify(PIECE_BYTES)?;
            stream.wound_up();
        } else if !late && arrivals.is_over(now_ns) {
            // A sender that is behind may give up with any message.
            late = true;
            stream.verify_ends(END_BYTES);
        }
        if !open {
            break;
        }
    }
    stream.whole()?;
    Ok(timed.done(stream.bytes, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;
    use crate::probe::Timing;
    use crate::receiver::{Received, Receiver};
    use std::io;
    use syscost_core::axis::{Point, Value};

    const MESSAGE: usize = 64;
    const INTERVAL_NS: f64 = 20_000.0;
    const TIMING: Timing = Timing { warmup_ns: 1_000_000, window_ns: 2_000_000, windows: 1 };

    /// Delivers messages when they are due, or so much later; of the last of them one byte may be wrong.
    struct OnSchedule {
        schedule: ArrivalSchedule,
        late_ns: u64,
        messages: u64,
        delivered: u64,
        damaged: bool,
        piece: Vec<u8>,
    }

    impl Receiver for OnSchedule {
        fn receive(&mut self) -> io::Result<Received> {
            self.piece.clear();
            if self.delivered < self.messages {
                while clock::monotonic_ns() < self.schedule.due_ns(self.delivered) + self.late_ns {}
                self.delivered += 1;
                self.piece.resize(MESSAGE, 0);
                message::fill(&mut self.piece, 0);
                self.piece[MESSAGE - 1] ^= u8::from(self.damaged && self.delivered == self.messages);
            }
            Ok(Received { bytes: self.piece.len(), system_calls: 1 })
        }

        fn last(&self) -> Option<Vec<&[u8]>> {
            Some(vec![&self.piece])
        }
    }

    /// The stream of a sender that sends `fewer` messages than its schedule has.
    fn taken(fewer: u64, late_ns: u64, damaged: bool) -> Result<threads::Done> {
        let mut point = Point::default();
        point.set("message_bytes", Value::Int(MESSAGE as u64));
        let task = Task::of(point, TIMING);
        let schedule = ArrivalSchedule { start_ns: clock::monotonic_ns(), interval_ns: INTERVAL_NS };
        let messages = schedule.span(TIMING).1 - fewer;
        let receiver = OnSchedule { schedule, late_ns, messages, delivered: 0, damaged, piece: Vec::new() };
        let arrivals = Arrivals::new(schedule, TIMING, MESSAGE as u64);
        take(&task, MessageStream::of(&task, Box::new(receiver))?, arrivals)
    }

    #[test]
    fn a_byte_that_is_wrong_at_the_very_end_is_seen() {
        // A sender that keeps its schedule, and one that is behind and gives up.
        for (fewer, late_ns) in [(0, 0), (5, 3_000_000)] {
            let done = taken(fewer, late_ns, false).expect("nothing is damaged");
            assert_eq!(done.windows.len(), 1);
            let error = taken(fewer, late_ns, true).err().expect("the last byte is damaged").to_string();
            assert!(error.contains("is not what was sent"), "{error}");
        }
    }
}
