//! The open loop: messages one way on a schedule that no delay moves.
//!
//! The sender tells the schedule first, on the connection itself; then it sends each message when it is
//! due, or at once where it is behind. The receiver takes the time of each message's last byte and
//! subtracts the due time: one clock, since both sides are on one host.

use super::axes;
use super::schedule::{Arrivals, Schedule, WIRE_BYTES};
use super::side::{self, Reading};
use super::wait::Waiting;
use crate::host::clock;
use crate::probe::meter::{Meter, Stamp};
use crate::probe::streaming::receiving::{PIECE_BYTES, Source, Stream};
use crate::probe::streaming::{sending, threads};
use crate::probe::transfer::{connection, receiver, sender};
use crate::probe::{RoleReport, Stage, Task};
use crate::stats::histogram::Recorder;
use anyhow::{Context, Result, anyhow, ensure};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;

/// From the start of the round to the first message: every thread is running by then.
const LEAD_NS: u64 = 5_000_000;
/// A sender that is behind goes on after the window until it has sent all that was due in it: for
/// this share of the window and this long at most. Then the rate is not one that it can reach.
const BEHIND_SHARE: f64 = 0.5;
const BEHIND_NS: u64 = 20_000_000;
/// It sends at least so many messages of the window, however late.
const FEWEST: u64 = 100;

pub fn play_sending(task: &Task, stage: &mut dyn Stage) -> Result<RoleReport> {
    let streams = connection::connect_all(task)?;
    let begin = OnceLock::new();
    let rate = axes::rate(&task.point).context("the point names no rate")?;
    let mut report = threads::run(
        task,
        &streams,
        stage,
        |pinned| pinned.sender,
        |stream| {
            let number = streams.iter().position(|s| std::ptr::eq(s, stream)).unwrap_or(0);
            let sender = sender::start(task, stream)?;
            let (begin, connections) = (&begin, streams.len());
            Ok(Box::new(move || {
                let start_ns = *begin.get_or_init(|| clock::monotonic_ns() + LEAD_NS);
                send(task, stream, sender, Schedule::of(start_ns, rate, number, connections))
            }))
        },
    )?;
    report.facts.extend(connection::facts(&streams[0]));
    Ok(report)
}

fn send(
    task: &Task,
    mut stream: &TcpStream,
    mut sender: Box<dyn crate::mechanism::Sender>,
    schedule: Schedule,
) -> Result<threads::Done> {
    let waiting = Waiting::of(&task.point);
    stream.write_all(&schedule.to_wire()).context("cannot tell the schedule")?;
    let bytes = sending::message_bytes(task)?;
    let (warm, end) = schedule.span(task.timing);
    let behind_ns = (task.timing.window_ns as f64 * BEHIND_SHARE) as u64 + BEHIND_NS;
    let give_up_ns = schedule.due_ns(end) + behind_ns;
    let mut meter = Meter::open(task.tsc_hz);
    let mut lateness = Recorder::default();
    let mut done = threads::Done { missing: meter.missing().to_vec(), ..Default::default() };
    let mut opened: Option<(Stamp, Reading)> = None;
    let mut messages = 0;
    while messages < end {
        if messages == warm {
            opened = Some((meter.stamp(), Reading::of(messages, sender.as_ref(), None, stream)?));
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
    if let Some((from, before)) = &opened {
        let (to, after) = (meter.stamp(), Reading::of(messages, sender.as_ref(), None, stream)?);
        let mut window = side::window(&meter, (from, &to), (before, &after), bytes);
        side::add_sending(&mut window, before, &after);
        window.histogram = Some(lateness.histogram());
        done.windows.push(window);
    }
    sender.settle()?;
    done.bytes = messages * bytes;
    drop(sender);
    stream.shutdown(Shutdown::Write).context("cannot close the stream")?;
    Ok(done)
}

pub fn play_receiving(task: &Task, stage: &mut dyn Stage) -> Result<RoleReport> {
    let streams = connection::accept_all(task, stage)?;
    let mut report = threads::run(
        task,
        &streams,
        stage,
        |pinned| pinned.receiver,
        |stream| Ok(Box::new(move || receive(task, stream))),
    )?;
    report.facts.extend(connection::facts(&streams[0]));
    Ok(report)
}

fn receive(task: &Task, mut socket: &TcpStream) -> Result<threads::Done> {
    let mut wire = [0; WIRE_BYTES];
    socket.read_exact(&mut wire).context("the sender told no schedule")?;
    let schedule = Schedule::from_wire(wire);
    ensure!(schedule.interval_ns > 0.0, "the sender's schedule has no interval");
    let bytes = sending::message_bytes(task)?;
    let mut arrivals = Arrivals::new(schedule, task.timing, bytes);
    let mut stream = Stream::of(task, receiver::start(task, socket)?)?;
    let mut meter = Meter::open(task.tsc_hz);
    let mut done = threads::Done { missing: meter.missing().to_vec(), ..Default::default() };
    let mut opened: Option<(Stamp, Reading)> = None;
    let mut closed: Option<(Stamp, Reading)> = None;
    loop {
        let open = stream.take_next()?;
        arrivals.took(stream.bytes, clock::monotonic_ns())?;
        let receive_calls = stream.system_calls;
        let reading = || Reading { messages: arrivals.seen, receive_calls, ..Reading::default() };
        if opened.is_none() && arrivals.warm() {
            opened = Some((meter.stamp(), reading()));
            if !task.verify_all {
                stream.verify_until = 0;
            }
        } else if closed.is_none() && opened.is_some() && (arrivals.complete() || !open) {
            closed = Some((meter.stamp(), reading()));
        }
        if !open {
            break;
        }
    }
    if let (Some((from, before)), Some((to, after))) = (&opened, &closed) {
        let mut window = side::window(&meter, (from, to), (before, after), bytes);
        window.ops = arrivals.counted() as f64;
        window.bytes = window.ops * bytes as f64;
        window.elapsed_ns = arrivals.elapsed_ns() as f64;
        window.histogram = Some(arrivals.times().histogram());
        done.windows.push(window);
    }
    stream.verify(PIECE_BYTES)?;
    ensure!(stream.bytes.is_multiple_of(bytes), "the stream ended inside a message");
    done.bytes = stream.bytes;
    Ok(done)
}
