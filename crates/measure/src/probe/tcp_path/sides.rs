//! The two sides of a step: they take turns on a data connection, told to by a second one.
//!
//! Nobody reads the data connection while the sender works, and the receiver's thread looks at the
//! other one again and again: what a turn costs is its own work, the kernel's interrupt part for it
//! included. Neither side sleeps between turns, since a stream does not: a CPU that went idle comes
//! back with cold caches, and its first call would pay for them.

use super::steps::{self, PathStep, StepKind};
use super::{Channel, RECEIVER, RoleReport, Task};
use crate::message::{self, PAGE};
use crate::probe::transfer::axes::{NODELAY, PLACEMENT, THREADS};
use crate::probe::transfer::connection;
use crate::probe::{Window, batch, network, streaming};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use syscost_core::axis::Value;
use syscost_core::sample::Sample;
use syscost_core::stats::{median, quantile};
use syscost_host::clock::{monotonic_ns, thread_cpu_ns};
use syscost_sys::buffer::Buffer;
use syscost_sys::clock::thread_usage;
use syscost_sys::socket::{self, Gather};

/// A receive call's buffer: that of the ordinary receiver.
pub const BUFFER_BYTES: usize = 128 * 1024;
/// Which turn stands for a window.
const TYPICAL: f64 = 0.5;
/// How long the sender waits so that the receiver goes to sleep: about as long as a stream's receiver does
/// between two calls of its sender. A CPU that is idle for longer sleeps deeper and costs more to wake.
const ASLEEP_NS: u64 = 10_000;
/// Lent pieces are not lent again before so many bytes are: a stream's memory in flight is no longer in the
/// nearest caches.
const LENT_RING_BYTES: usize = 4 << 20;
/// What the sender says of a turn: not measured, the last one was the last, else the window from 1.
const WARM: u8 = 255;
const END: u8 = 0;

/// Both connections: the data goes over the first, whose turn it is over the second.
fn with_two_connections(task: &Task) -> Task {
    let mut task = task.clone();
    task.point.set(THREADS.id, Value::Int(2));
    task.point.set(NODELAY.id, Value::text("on"));
    task
}

fn step(task: &Task) -> Result<&'static PathStep> {
    steps::find(&task.point).with_context(|| format!("no step at {}", task.point))
}

/// The turns of one window.
#[derive(Default)]
struct StepTurns {
    began: u64,
    ns: Vec<f64>,
    completion_ns: Vec<f64>,
    calls: u64,
    sleeps: u64,
}

impl StepTurns {
    fn window(&self, bytes: f64, own: [(&str, Option<f64>); 3]) -> Window {
        let turns = self.ns.len() as f64;
        let quantities = own.into_iter().chain([("turns", Some(turns))]);
        Window {
            start_ns: Some(self.began),
            elapsed_ns: (monotonic_ns() - self.began) as f64,
            ops: turns,
            bytes: turns * bytes,
            quantities: quantities.map(|(id, value)| (id.to_string(), value)).collect(),
            ..Window::default()
        }
    }
}

pub fn receive(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let (step, task) = (step(task)?, with_two_connections(task));
    let mut report =
        RoleReport { facts: network::settle(&task, task.role == RECEIVER)?, ..RoleReport::default() };
    let streams = connection::accept_all(&task, channel)?;
    let [data, control] = &streams[..] else { bail!("two connections were wanted") };
    report.facts.extend(connection::facts(data));
    let overhead = batch::overhead_ns(thread_cpu_ns);
    channel.ready()?;

    let turn_bytes = step.bytes * step.calls;
    let mut room = Buffer::zeroed(BUFFER_BYTES, PAGE);
    let (mut windows, mut received) = (BTreeMap::<u8, StepTurns>::new(), 0u64);
    let mut said = [WARM];
    loop {
        hear(control, &mut said, on_one_cpu(&task)).context("the sender went away")?;
        if said[0] == END {
            break;
        }
        let awake = thread_usage()?.voluntary_switches;
        let from = thread_cpu_ns();
        let calls = take(data, step, &mut room, turn_bytes)?;
        let ns = ((thread_cpu_ns() - from) as f64 - overhead).max(0.0);
        let sleeps = thread_usage()?.voluntary_switches - awake;
        if !step.dropped {
            // Every call of the sender carries the same bytes.
            verify(&room, step, turn_bytes)?;
        }
        received += turn_bytes as u64;
        if said[0] != WARM {
            let turns = windows
                .entry(said[0])
                .or_insert_with(|| StepTurns { began: monotonic_ns(), ..StepTurns::default() });
            turns.ns.push(ns / calls as f64);
            turns.calls += calls;
            turns.sleeps += sleeps;
        }
        (&*control).write_all(&said).context("cannot answer the sender")?;
    }
    report.windows = windows
        .values()
        .map(|turns| {
            let by_turn = |count: u64| Some(count as f64 / turns.ns.len().max(1) as f64);
            let own = [
                ("receive_ns", quantile(&turns.ns, TYPICAL)),
                ("receive_calls", by_turn(turns.calls)),
                ("sleeps", by_turn(turns.sleeps)),
            ];
            turns.window(turn_bytes as f64, own)
        })
        .collect();
    report.totals.insert("bytes".into(), received as f64);
    Ok(report)
}

fn on_one_cpu(task: &Task) -> bool {
    task.point.text(PLACEMENT) == Some("same")
}

/// How long a side waits for the other before it lets somebody else run: longer than a turn. Another process would leave cold
/// caches, and a stream does not make room for one so often.
const IMPATIENT_NS: u64 = 200_000;

/// Hears the other side without going to sleep; two sides on one CPU let each other run.
fn hear(control: &TcpStream, said: &mut [u8; 1], one_cpu: bool) -> Result<()> {
    let patient = if one_cpu { 0 } else { monotonic_ns() + IMPATIENT_NS };
    loop {
        match socket::receive(control.as_raw_fd(), said, libc::MSG_DONTWAIT) {
            Ok(0) => bail!("the connection ended"),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if monotonic_ns() >= patient {
                    std::thread::yield_now();
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes a turn's bytes; returns the number of calls.
fn take(data: &TcpStream, step: &PathStep, room: &mut Buffer, bytes: usize) -> Result<u64> {
    let flags = if step.dropped { libc::MSG_TRUNC } else { 0 };
    let (mut got, mut calls) = (0, 0);
    while got < bytes {
        let end = room.len().min(bytes).min(got.saturating_add(step.read_bytes));
        let now = socket::receive(data.as_raw_fd(), &mut room[got..end], flags).context("cannot receive")?;
        ensure!(now > 0, "the stream ended inside a turn");
        (got, calls) = (got + now, calls + 1);
    }
    Ok(calls)
}

fn verify(room: &Buffer, step: &PathStep, bytes: usize) -> Result<()> {
    message::verify(&room[..bytes.min(SAMPLE_BYTES)], 0, step.bytes)
        .map_err(|at| anyhow!("byte {at} of the turn is not what was sent"))
}

/// Bytes of each turn that are looked at: reading them all would warm the caches for the next turn.
const SAMPLE_BYTES: usize = 64;

/// What the sender's turns use.
struct StepSource {
    step: &'static PathStep,
    /// One after another; a step that does not lend has one.
    ring: Vec<Gather>,
    next: usize,
    _pieces: Vec<Buffer>,
}

impl StepSource {
    fn of(step: &'static PathStep) -> StepSource {
        let each = step.bytes / step.pieces;
        let piece = |number: usize| {
            let mut buffer = Buffer::zeroed(each, PAGE.min(each.next_power_of_two()));
            message::fill(&mut buffer, number % step.pieces * each);
            buffer
        };
        let large = step.how == StepKind::Lent && step.bytes > PAGE;
        let lots = if large { LENT_RING_BYTES.div_ceil(step.bytes) } else { 1 };
        let pieces: Vec<Buffer> = (0..lots * step.pieces).map(piece).collect();
        let ring = pieces.chunks(step.pieces).map(Gather::of).collect();
        StepSource { step, ring, next: 0, _pieces: pieces }
    }

    /// The calls of a turn.
    fn send(&mut self, data: &TcpStream) -> Result<()> {
        let flags = match self.step.how {
            StepKind::Copied => 0,
            StepKind::Held => libc::MSG_MORE,
            StepKind::Lent => libc::MSG_ZEROCOPY,
        };
        for _ in 0..self.step.calls {
            let at = self.next % self.ring.len();
            self.next += 1;
            self.ring[at].send(data.as_raw_fd(), flags).1.context("cannot send")?;
        }
        Ok(())
    }
}

pub fn send(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let (step, task) = (step(task)?, with_two_connections(task));
    let mut report =
        RoleReport { facts: network::settle(&task, task.role == RECEIVER)?, ..RoleReport::default() };
    let streams = connection::connect_all(&task)?;
    let [data, control] = &streams[..] else { bail!("two connections were wanted") };
    report.facts.extend(connection::facts(data));
    if step.how == StepKind::Lent {
        socket::enable_zerocopy(data.as_raw_fd())?;
    }
    let mut sender = StepSender {
        source: StepSource::of(step),
        data,
        control,
        overhead: batch::overhead_ns(thread_cpu_ns),
        one_cpu: on_one_cpu(&task),
        sent: 0,
    };
    channel.ready()?;

    let mut warm = StepTurns::default();
    let until = monotonic_ns() + task.timing.warmup_ns;
    while monotonic_ns() < until {
        sender.turn(WARM, &mut warm)?;
    }
    for window in 1..=task.timing.windows.min(u32::from(WARM) - 1) as u8 {
        let mut turns = StepTurns { began: monotonic_ns(), ..StepTurns::default() };
        while turns.ns.is_empty() || monotonic_ns() < turns.began + task.timing.window_ns {
            sender.turn(window, &mut turns)?;
        }
        let own = [
            ("call_ns", quantile(&turns.ns, TYPICAL)),
            ("completion_ns", quantile(&turns.completion_ns, TYPICAL)),
            ("clock_ns", Some(sender.overhead)),
        ];
        report.windows.push(turns.window((step.bytes * step.calls) as f64, own));
    }
    (&*control).write_all(&[END]).context("cannot end the turns")?;
    report.totals.insert("bytes".into(), sender.sent as f64);
    Ok(report)
}

struct StepSender<'a> {
    source: StepSource,
    data: &'a TcpStream,
    control: &'a TcpStream,
    overhead: f64,
    one_cpu: bool,
    sent: u64,
}

impl StepSender<'_> {
    /// One turn: what the sender does of it is timed, then the receiver takes it and answers.
    fn turn(&mut self, window: u8, turns: &mut StepTurns) -> Result<()> {
        let step = self.source.step;
        if step.asleep {
            self.hand_over(window)?;
            let asleep = monotonic_ns() + ASLEEP_NS;
            while monotonic_ns() < asleep {
                std::hint::spin_loop();
            }
        }
        let from = thread_cpu_ns();
        self.source.send(self.data)?;
        let ns = (thread_cpu_ns() - from) as f64 - self.overhead;
        turns.ns.push(ns.max(0.0) / step.calls as f64);
        if step.how == StepKind::Held {
            socket::push(self.data.as_raw_fd()).context("cannot push")?;
        }
        if !step.asleep {
            self.hand_over(window)?;
        }
        let mut answer = [0];
        hear(self.control, &mut answer, self.one_cpu).context("the receiver went away")?;
        ensure!(answer[0] == window, "the receiver answered another turn");
        self.sent += (step.bytes * step.calls) as u64;
        if step.how == StepKind::Lent { self.reap(turns) } else { Ok(()) }
    }

    fn hand_over(&self, window: u8) -> Result<()> {
        (&*self.control).write_all(&[window]).context("cannot hand over")
    }

    /// Takes the completions of the turn's calls; the pieces are used again after it.
    fn reap(&mut self, turns: &mut StepTurns) -> Result<()> {
        let (mut covered, mut looks) = (0, Vec::new());
        while covered < self.source.step.calls as u32 {
            let from = thread_cpu_ns();
            let found = socket::completion(self.data.as_raw_fd()).context("cannot take a completion")?;
            let ns = (thread_cpu_ns() - from) as f64 - self.overhead;
            match found {
                Some(completion) => {
                    covered += completion.count();
                    looks.push(ns.max(0.0));
                }
                None => socket::wait_for_completion(self.data.as_raw_fd())?,
            }
        }
        turns.completion_ns.extend(median(&looks));
        Ok(())
    }
}

/// Joins both sides' windows, once they agree on what was moved.
pub fn merge(reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
    let (received, sent) = streaming::agreed(reports)?;
    let pairs = sent.iter().zip(received).enumerate();
    Ok(pairs
        .map(|(index, (sent, received))| {
            let mut sample = sent.sample(index);
            sample.quantities.extend(received.quantities.clone());
            sample
        })
        .collect())
}
