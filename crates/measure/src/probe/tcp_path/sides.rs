//! The two sides of a step: they take turns on a data connection, told to by a second one.
//!
//! Nobody reads the data connection while the sender works, and the receiver's thread looks at the
//! other one again and again: what a turn costs is its own work, the kernel's interrupt part for it
//! included. Neither side sleeps between turns, since a stream does not: a CPU that went idle comes
//! back with cold caches, and its first call would pay for them.
//!
//! One visit does all the steps that it is told, each on a connection of its own, with windows in random order: what a
//! neighbour on the machine costs then falls on all of them, and not on the difference of two.

use super::source::{StepSource, wait_for};
use super::step_at;
use super::steps::{PathStep, Sleeper, StepKind};
use super::{Channel, RECEIVER, RoleReport, Task};
use crate::message::{self, PAGE};
use crate::probe::transfer::axes::{NODELAY, PLACEMENT, THREADS};
use crate::probe::transfer::{connection, held};
use crate::probe::{Window, batch, network, streaming};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::slice;
use syscost_core::axis::Value;
use syscost_core::sample::Sample;
use syscost_core::stats::random::Random;
use syscost_core::stats::{median, quantile};
use syscost_host::clock::{monotonic_ns, thread_cpu_ns};
use syscost_sys::buffer::Buffer;
use syscost_sys::clock::thread_usage;
use syscost_sys::socket;

/// A receive call's buffer: that of the ordinary receiver.
pub const BUFFER_BYTES: usize = 128 * 1024;
/// Turns beyond this one were disturbed: where the mean stands for a window, they count as this one does.
const DISTURBED: f64 = 0.95;
/// A sender that was itself kept from the CPU while it handed over waits no longer than this for the receiver to sleep.
const ASLEEP_AT_MOST_NS: u64 = 50_000;
/// What the sender says of a turn after its step: not measured, the last one was the last, else the window from 1.
const WARM: u8 = 255;
const END: u8 = 0;
/// Turns before a window of a step that is not the one of the window before: its connection was warm once.
const LEAD_NS: u64 = 500_000;

/// Turns that a window waits for, and how many times as long it lasts for them at most. Beside other work on its CPUs a side gets no
/// turn for milliseconds, and the first one after that finds cold caches: alone in its window it would stand for a turn.
const ENOUGH_TURNS: usize = 16;
const PATIENCE: u64 = 20;

/// A connection of each step for its data, and the last for whose turn it is.
fn with_connections(task: &Task, steps: usize) -> Task {
    let mut task = task.clone();
    task.point.set(THREADS.id, Value::Int(steps as u64 + 1));
    task.point.set(NODELAY.id, Value::text("on"));
    task
}

/// The steps of the visit: that of the task, or those of its block.
fn steps_of(task: &Task) -> Result<Vec<&'static PathStep>> {
    let points = task.block.as_ref().map_or(slice::from_ref(&task.point), |block| &block.rivals);
    points.iter().map(|point| step_at(point).with_context(|| format!("no step at {point}"))).collect()
}

/// One report of each step where there is a block of them.
fn report_of(task: &Task, mut each: Vec<RoleReport>) -> Result<RoleReport> {
    if task.block.is_some() {
        return Ok(RoleReport { rivals: each, ..RoleReport::default() });
    }
    each.pop().context("a visit has a step")
}

/// The turns of one window.
#[derive(Default)]
struct StepTurns {
    began: u64,
    ended: u64,
    ns: Vec<f64>,
    completion_ns: Vec<f64>,
    calls: u64,
    sleeps: u64,
}

impl StepTurns {
    /// What stands for a window: the median turn. Waking has two prices, of a CPU that went to sleep and of one that was about to,
    /// and a stream pays both: where somebody sleeps the mean stands.
    fn typical(&self, step: &PathStep) -> Option<f64> {
        if step.asleep == Sleeper::Nobody {
            return median(&self.ns);
        }
        let most = quantile(&self.ns, DISTURBED)?;
        Some(self.ns.iter().map(|ns| ns.min(most)).sum::<f64>() / self.ns.len() as f64)
    }

    fn window(&self, bytes: f64, own: [(&str, Option<f64>); 3]) -> Window {
        let turns = self.ns.len() as f64;
        let quantities = own.into_iter().chain([("turns", Some(turns))]);
        Window {
            start_ns: Some(self.began),
            elapsed_ns: self.ended.saturating_sub(self.began).max(1) as f64,
            ops: turns,
            bytes: turns * bytes,
            quantities: quantities.map(|(id, value)| (id.to_string(), value)).collect(),
            ..Window::default()
        }
    }
}

/// What the receiver's side of one step has seen.
#[derive(Default)]
struct StepReceived {
    windows: BTreeMap<u8, StepTurns>,
    bytes: u64,
}

pub fn receive(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let steps = steps_of(task)?;
    let task = &with_connections(task, steps.len());
    let settled = network::settle(task, task.role == RECEIVER)?;
    let streams = connection::accept_all(task, channel)?;
    let (control, data) = streams.split_last().context("a connection of whose turn it is was wanted")?;
    let overhead = batch::overhead_ns(thread_cpu_ns);
    channel.ready()?;

    let mut room = Buffer::zeroed(BUFFER_BYTES, PAGE);
    let mut received: Vec<StepReceived> = steps.iter().map(|_| StepReceived::default()).collect();
    let mut said = [0, WARM];
    loop {
        hear(control, &mut said, on_one_cpu(task)).context("the sender went away")?;
        let [number, window] = said;
        if window == END {
            break;
        }
        let step = steps.get(usize::from(number)).context("the sender takes a turn of no step")?;
        let turn_bytes = step.bytes * step.calls;
        let stream = &data[usize::from(number)];
        if step.asleep == Sleeper::Both {
            // From here on the sender sleeps when it is answered.
            answer(stream, step, &mut room, 1)?;
        }
        let awake = thread_usage()?.voluntary_switches;
        let from = thread_cpu_ns();
        let calls = match step.asleep {
            Sleeper::Both => answer(stream, step, &mut room, step.calls)?,
            _ => take(stream, step, &mut room, turn_bytes)?,
        };
        let ns = ((thread_cpu_ns() - from) as f64 - overhead).max(0.0);
        let sleeps = thread_usage()?.voluntary_switches - awake;
        if !step.dropped {
            // Every call of the sender carries the same bytes.
            verify(&room, step, turn_bytes)?;
        }
        let own = &mut received[usize::from(number)];
        own.bytes += turn_bytes as u64;
        if window != WARM {
            let began = || StepTurns { began: monotonic_ns(), ..StepTurns::default() };
            let turns = own.windows.entry(window).or_insert_with(began);
            turns.ns.push(ns);
            turns.calls += calls;
            turns.sleeps += sleeps;
            turns.ended = monotonic_ns();
        }
        (&*control).write_all(&said).context("cannot answer the sender")?;
    }
    let each = steps.iter().zip(received).zip(data);
    let reports = each.map(|((step, own), stream)| own.report(step, stream, &settled)).collect();
    report_of(task, reports)
}

impl StepReceived {
    fn report(&self, step: &PathStep, data: &TcpStream, settled: &BTreeMap<String, String>) -> RoleReport {
        let window = |turns: &StepTurns| {
            let by_turn = |count: u64| count as f64 / turns.ns.len().max(1) as f64;
            let calls = by_turn(turns.calls);
            let own = [
                ("receive_ns", turns.typical(step).map(|ns| ns / calls)),
                ("receive_calls", Some(calls)),
                ("sleeps", Some(by_turn(turns.sleeps))),
            ];
            turns.window((step.bytes * step.calls) as f64, own)
        };
        report(self.windows.values().map(window).collect(), self.bytes, data, settled)
    }
}

/// What a side says of one step.
fn report(
    windows: Vec<Window>,
    bytes: u64,
    data: &TcpStream,
    settled: &BTreeMap<String, String>,
) -> RoleReport {
    let mut facts = settled.clone();
    facts.extend(connection::facts(data));
    let totals = [("bytes".to_string(), bytes as f64)].into();
    RoleReport { windows, facts, totals, ..RoleReport::default() }
}

fn on_one_cpu(task: &Task) -> bool {
    task.point.text(PLACEMENT) == Some("same")
}

/// How long a side waits for the other before it lets somebody else run: longer than a turn. Another process would leave cold
/// caches, and a stream does not make room for one so often.
const IMPATIENT_NS: u64 = 200_000;

/// Hears the other side without going to sleep; two sides on one CPU let each other run.
fn hear(control: &TcpStream, said: &mut [u8; 2], one_cpu: bool) -> Result<()> {
    let patient = if one_cpu { 0 } else { monotonic_ns() + IMPATIENT_NS };
    let mut heard = 0;
    loop {
        match socket::receive(control.as_raw_fd(), &mut said[heard..], libc::MSG_DONTWAIT) {
            Ok(0) => bail!("the connection ended"),
            Ok(now) => heard += now,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if monotonic_ns() >= patient {
                    std::thread::yield_now();
                }
            }
            Err(error) => return Err(error.into()),
        }
        if heard == said.len() {
            return Ok(());
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

/// Takes so many calls' bytes one by one and sends as many back; returns the number of receive calls.
fn answer(data: &TcpStream, step: &PathStep, room: &mut Buffer, calls: usize) -> Result<u64> {
    for call in 0..calls {
        let (from, to) = (call * step.bytes, (call + 1) * step.bytes);
        wait_for(data, &mut room[from..to])?;
        (&*data).write_all(&room[from..to]).context("cannot answer")?;
    }
    Ok(calls as u64)
}

fn verify(room: &Buffer, step: &PathStep, bytes: usize) -> Result<()> {
    message::verify(&room[..bytes.min(SAMPLE_BYTES)], 0, step.bytes)
        .map_err(|at| anyhow!("byte {at} of the turn is not what was sent"))
}

/// Bytes of each turn that are looked at: reading them all would warm the caches for the next turn.
const SAMPLE_BYTES: usize = 64;

pub fn send(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let steps = steps_of(task)?;
    let task = &with_connections(task, steps.len());
    let settled = network::settle(task, task.role == RECEIVER)?;
    let streams = connection::connect_all(task)?;
    let (control, data) = streams.split_last().context("a connection of whose turn it is was wanted")?;
    let overhead = batch::overhead_ns(thread_cpu_ns);
    let seed = task.block.as_ref().map_or(0, |block| block.seed);
    let each = steps.iter().zip(data).enumerate().map(|(number, (step, data))| {
        if step.how == StepKind::Lent {
            socket::enable_zerocopy(data.as_raw_fd())?;
        }
        let source = StepSource::of(step);
        let one_cpu = on_one_cpu(task);
        Ok(StepSender {
            number: number as u8,
            source,
            data,
            control,
            overhead,
            one_cpu,
            sent: 0,
            windows: Vec::new(),
            random: Random::new(Random::derived(seed, number as u64)),
        })
    });
    let mut senders: Vec<StepSender<'_>> = each.collect::<Result<_>>()?;
    channel.ready()?;

    for sender in &mut senders {
        sender.turns(WARM, task.timing.warmup_ns)?;
    }
    let mut order: Vec<usize> = (0..senders.len()).collect();
    let mut random = Random::new(seed);
    for window in 1..=task.timing.windows.min(u32::from(WARM) - 1) as u8 {
        random.shuffle(&mut order);
        for number in &order {
            let sender = &mut senders[*number];
            sender.turns(WARM, LEAD_NS)?;
            let turns = sender.turns(window, task.timing.window_ns)?;
            sender.keep(&turns);
        }
    }
    (&*control).write_all(&[0, END]).context("cannot end the turns")?;
    let reports = senders.into_iter().map(|own| report(own.windows, own.sent, own.data, &settled)).collect();
    report_of(task, reports)
}

/// The sender's side of one step.
struct StepSender<'a> {
    number: u8,
    source: StepSource,
    data: &'a TcpStream,
    control: &'a TcpStream,
    overhead: f64,
    one_cpu: bool,
    sent: u64,
    windows: Vec<Window>,
    random: Random,
}

impl StepSender<'_> {
    /// Turns for so long, one at the least; a window has [`ENOUGH_TURNS`] if it can.
    fn turns(&mut self, window: u8, ns: u64) -> Result<StepTurns> {
        let mut turns = StepTurns { began: monotonic_ns(), ..StepTurns::default() };
        let (enough, patience) = if window == WARM { (1, 1) } else { (ENOUGH_TURNS, PATIENCE) };
        let (least, most) = (turns.began + ns, turns.began + patience * ns);
        loop {
            self.turn(window, &mut turns)?;
            let now = monotonic_ns();
            if now >= most || now >= least && turns.ns.len() >= enough {
                break;
            }
        }
        turns.ended = monotonic_ns();
        Ok(turns)
    }

    fn keep(&mut self, turns: &StepTurns) {
        let step = self.source.step;
        let own = [
            ("call_ns", turns.typical(step)),
            ("completion_ns", median(&turns.completion_ns)),
            ("clock_ns", Some(self.overhead)),
        ];
        self.windows.push(turns.window((step.bytes * step.calls) as f64, own));
    }

    /// One turn: what the sender does of it is timed, then the receiver takes it and answers.
    fn turn(&mut self, window: u8, turns: &mut StepTurns) -> Result<()> {
        let step = self.source.step;
        match step.asleep {
            Sleeper::Nobody => {}
            Sleeper::Receiver => self.let_sleep(window)?,
            Sleeper::Both => {
                self.hand_over(window)?;
                self.source.exchange(self.data, 1)?;
            }
        }
        let from = thread_cpu_ns();
        match step.asleep {
            Sleeper::Both => self.source.exchange(self.data, step.calls)?,
            _ => self.source.send(self.data)?,
        }
        let ns = (thread_cpu_ns() - from) as f64 - self.overhead;
        turns.ns.push(ns.max(0.0) / step.calls as f64);
        if step.how == StepKind::Held {
            socket::push(self.data.as_raw_fd()).context("cannot push")?;
        }
        if step.asleep == Sleeper::Nobody {
            self.hand_over(window)?;
        }
        let mut answer = [0; 2];
        hear(self.control, &mut answer, self.one_cpu).context("the receiver went away")?;
        ensure!(answer == [self.number, window], "the receiver answered another turn");
        self.sent += (step.bytes * step.calls) as u64;
        if step.how == StepKind::Lent { self.reap(turns) } else { Ok(()) }
    }

    /// Hands over and waits for a random time of up to two calls: the receiver hears of it in about half a call and goes to
    /// sleep before the first of the turn's calls.
    fn let_sleep(&mut self, window: u8) -> Result<()> {
        let from = monotonic_ns();
        self.hand_over(window)?;
        let handed = monotonic_ns();
        let calls = (2 * (handed - from)).min(ASLEEP_AT_MOST_NS);
        let until = handed + (self.random.unit() * calls as f64) as u64;
        while monotonic_ns() < until {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn hand_over(&self, window: u8) -> Result<()> {
        (&*self.control).write_all(&[self.number, window]).context("cannot hand over")
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

/// A receiver on another host took every turn that the sender gave it, in the time that this took.
pub fn held(reports: &[RoleReport]) -> Result<(), String> {
    let (received, sent) = streaming::agreed(reports)?;
    let of = held::quantity;
    for (theirs, ours) in received.iter().zip(sent) {
        let turns = of(ours, "turns");
        if theirs.ops != turns || of(theirs, "turns") != turns || theirs.bytes != ours.bytes {
            return Err(format!(
                "the receiver took {} or {} turns, {} bytes in all, and the sender gave it {turns}, {} bytes",
                theirs.ops,
                of(theirs, "turns"),
                theirs.bytes,
                ours.bytes
            ));
        }
        let (calls, call_ns) = (of(theirs, "receive_calls"), of(theirs, "receive_ns"));
        let most_ns = ours.elapsed_ns * held::CLOCKS;
        // Half of the turns took no less than the median one.
        let spent_ns = calls * call_ns * turns / 2.0;
        if calls < 1.0 || call_ns <= 0.0 || spent_ns > most_ns || theirs.elapsed_ns > most_ns {
            return Err(format!(
                "the receiver's {turns} turns of {calls} calls of {call_ns} ns, in {} ns, do not fit into the sender's {:.0}",
                theirs.elapsed_ns, ours.elapsed_ns
            ));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::path_steps as steps;

    #[test]
    fn waking_stands_for_its_mean_whatever_disturbs_a_turn_and_every_other_step_for_its_median() {
        let step = |id| steps::ALL.iter().find(|step| step.id == id).expect("a step");
        // Three of ten turns wake a CPU that halted, and one in a hundred is disturbed.
        let ns = |turn: u32| if turn == 99 { 1e9 } else { [8.0, 1.0][usize::from(turn % 10 < 7)] };
        let turns = StepTurns { ns: (0..100).map(ns).collect(), ..StepTurns::default() };
        assert_eq!(turns.typical(step(steps::CAUGHT_UP)), Some(3.1));
        assert_eq!(turns.typical(step(steps::SINGLE)), Some(1.0));
        assert_eq!(StepTurns::default().typical(step(steps::CAUGHT_UP)), None);
    }
}
