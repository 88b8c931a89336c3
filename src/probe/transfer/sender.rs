//! The sender's side of a transfer: streams messages by the case's mechanism.

use super::super::{RoleReport, Stage, Task, Timing, Window, meter::Meter};
use super::{audit, connection, threads};
use crate::host::clock;
use crate::mechanism::{self, Sender, Setup, Tally};
use crate::message::{Alignment, Message};
use crate::sys::socket;
use anyhow::{Context, Result, anyhow};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

/// How often a thread looks at the clock: the dispatch into the mechanism is once per chunk.
const CHUNK_NS: u64 = 100_000;
/// After the last window the stream goes on a little, so that the receiver's last window, which
/// started a little later, is full too.
const TAIL_NS: u64 = 1_000_000;

pub fn play(task: &Task, stage: &mut dyn Stage) -> Result<RoleReport> {
    let address: SocketAddr = task
        .peer
        .as_ref()
        .and_then(|offer| offer["address"].as_str())
        .and_then(|text| text.parse().ok())
        .context("the receiver offered no address")?;
    let count = task.point.int("threads").unwrap_or(1);
    let streams = (0..count)
        .map(|number| connection::connect(address, &task.token, &task.point, number as u32))
        .collect::<Result<Vec<TcpStream>>>()?;
    let mut report = threads::run(
        task,
        &streams,
        stage,
        |pinned| pinned.sender,
        |stream| {
            let sender = start(task, stream)?;
            Ok(Box::new(move || stream_messages(task, stream, sender)))
        },
    )?;
    report.facts.extend(connection::facts(&streams[0]));
    Ok(report)
}

fn start(task: &Task, stream: &TcpStream) -> Result<Box<dyn Sender>> {
    let id = task.point.text("mechanism").context("the point names no mechanism")?;
    let mechanism = mechanism::find(id).with_context(|| format!("no mechanism {id}"))?;
    let alignment =
        if task.point.text("alignment") == Some("page") { Alignment::Page } else { Alignment::Heap };
    let bytes = message_bytes(task)?;
    let setup = Setup {
        socket: stream.as_raw_fd(),
        message: Message::new(bytes as usize, alignment),
        point: &task.point,
    };
    mechanism.start(setup).map_err(|error| threads::cannot_start(id, error))
}

fn message_bytes(task: &Task) -> Result<u64> {
    task.point.int("message_bytes").context("the point has no message size")
}

/// Warm-up, then one window after the other without a pause, then the end of the stream.
fn stream_messages(task: &Task, stream: &TcpStream, sender: Box<dyn Sender>) -> Result<threads::Done> {
    let bytes = message_bytes(task)?;
    let Timing { warmup_ns, window_ns, windows } = task.timing;
    let began = clock::thread_cpu_ns();
    let mut meter = Meter::open(task.tsc_hz);
    let call = mechanism::per_call(&task.point);
    let mut pump = Pump { sender, call, chunk: call, messages: 0 };
    let mut done = threads::Done { missing: meter.missing().to_vec(), ..Default::default() };

    pump.until(clock::monotonic_ns() + warmup_ns)?;
    pump.sender.settle()?;
    let mut before = pump.reading(stream)?;
    let mut from = meter.stamp();
    for _ in 0..windows {
        // From the window's own start: a thread that was held up must not squeeze the next window.
        pump.until(from.ns + window_ns)?;
        pump.sender.settle()?;
        let to = meter.stamp();
        let after = pump.reading(stream)?;
        done.windows.push(window(&meter, (&from, &to), (&before, &after), bytes));
        (from, before) = (to, after);
    }
    pump.until(from.ns + TAIL_NS)?;
    pump.sender.settle()?;
    done.bytes = pump.messages * bytes;
    let tally = pump.sender.tally();
    done.totals = vec![
        (audit::USER_COPIED, tally.user_copied_bytes),
        (audit::COMPLETIONS, tally.completions),
        (audit::COMPLETIONS_COPIED, tally.completions_copied),
        (audit::CPU, clock::thread_cpu_ns() - began),
    ];
    drop(pump);
    stream.shutdown(Shutdown::Write).context("cannot close the stream")?;
    Ok(done)
}

/// A mechanism and how many messages it is given at a time.
struct Pump {
    sender: Box<dyn Sender>,
    /// Messages per call: a chunk is so many, or a multiple.
    call: u64,
    chunk: u64,
    messages: u64,
}

/// Counts at one moment.
struct Reading {
    messages: u64,
    tally: Tally,
    retransmits: u32,
}

impl Pump {
    /// Sends until the deadline has passed, looking at the clock about every [`CHUNK_NS`].
    fn until(&mut self, deadline: u64) -> Result<()> {
        let mut now = clock::monotonic_ns();
        while now < deadline {
            self.sender.send(self.chunk).map_err(|error| anyhow!(error).context("cannot send"))?;
            self.messages += self.chunk;
            let then = std::mem::replace(&mut now, clock::monotonic_ns());
            if now - then < CHUNK_NS / 2 {
                self.chunk *= 2;
            } else if now - then > CHUNK_NS * 2 && self.chunk > self.call {
                self.chunk /= 2;
            }
        }
        Ok(())
    }

    fn reading(&self, stream: &TcpStream) -> Result<Reading> {
        let retransmits = socket::total_retransmits(stream.as_raw_fd()).context("cannot read TCP_INFO")?;
        Ok(Reading { messages: self.messages, tally: self.sender.tally(), retransmits })
    }
}

fn window(
    meter: &Meter,
    (from, to): (&super::super::meter::Stamp, &super::super::meter::Stamp),
    (before, after): (&Reading, &Reading),
    bytes: u64,
) -> Window {
    let messages = (after.messages - before.messages) as f64;
    let mut window = meter.window(from, to, messages, messages * bytes as f64);
    let mut put = |id: &str, n: u64| window.quantities.insert(id.into(), Some(n as f64));
    put("messages", after.messages - before.messages);
    put("system_calls", after.tally.system_calls - before.tally.system_calls);
    put("completions", after.tally.completions - before.tally.completions);
    put("completions_copied", after.tally.completions_copied - before.tally.completions_copied);
    put("queue_entries", after.tally.queue_entries - before.tally.queue_entries);
    put("enobufs", after.tally.enobufs - before.tally.enobufs);
    put("retransmits", u64::from(after.retransmits.wrapping_sub(before.retransmits)));
    window
}
