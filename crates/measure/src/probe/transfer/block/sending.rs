//! The sender's side of a block: all threads take each turn together, thread 0 leads.

use super::super::super::meter::{self, Meter};
use super::super::super::streaming::many;
use super::super::super::streaming::null::NullTurn;
use super::super::super::streaming::sending::{Pump, add_sending, null_pump, window};
use super::super::super::streaming::threads::{self, Ready};
use super::super::super::{BlockTask, Channel, Missing, RoleReport, Slice, Task, Window};
use super::super::connection;
use super::super::held::{self, WindowTurn};
use super::leader::{self, LeaderQuestion};
use super::null::{LoopCounts, NullTaken};
use super::{BlockCarrier, CONTROL, Phase, Turn};
use crate::mechanism::{self, ProgramTally, all_connections};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use syscost_host::clock;
use syscost_sys::baton::Baton;

/// Messages that a slice holds at the least: of fewer, what starting costs would be most of it.
const LEAST_MESSAGES: u64 = 8;
/// A receiver's thread goes on for so long after a turn, until it sleeps.
const NOT_ASLEEP_NS: u64 = 200_000;
const WHOLE: &str = "no thread panics while it holds its share";

/// What one sender thread did in a turn.
#[derive(Clone, Copy, Default)]
struct Share {
    start_ns: u64,
    end_ns: u64,
    cpu_ns: u64,
    messages: u64,
    /// Of this rival on this thread since the round began.
    bytes: u64,
}

/// Where the threads of a rival wait for one another; an error of one sends all home.
struct TurnGate {
    threads: usize,
    /// How many have come since it last opened, and how often it did.
    state: Mutex<(usize, u64)>,
    opened: Condvar,
}

impl TurnGate {
    fn of(threads: usize) -> TurnGate {
        TurnGate { threads, state: Mutex::default(), opened: Condvar::new() }
    }

    fn wait(&self, failed: &AtomicBool) {
        let mut state = self.state.lock().expect(WHOLE);
        state.0 += 1;
        if state.0 == self.threads {
            *state = (0, state.1 + 1);
            return self.opened.notify_all();
        }
        let opened = state.1;
        while state.1 == opened && !failed.load(Ordering::SeqCst) {
            state = self.opened.wait(state).expect(WHOLE);
        }
    }

    fn send_home(&self) {
        // Whoever looks at the error now waits by the time that the lock is free.
        drop(self.state.lock().expect(WHOLE));
        self.opened.notify_all();
    }
}

/// The sender's threads in step.
struct Step<'a> {
    rivals: &'a [Task],
    turns: Vec<Turn>,
    /// Of each rival, and of the null rival: rivals with as many threads have one gate.
    gates: Vec<Arc<TurnGate>>,
    /// When the slice ends, for all threads: those that share a CPU take turns in it.
    deadline_ns: AtomicU64,
    /// An error of one thread ends all at their next meeting.
    failed: AtomicBool,
    /// Slices take too long here: the rest of them is left out.
    enough: AtomicBool,
    shares: Vec<Mutex<Share>>,
    /// The leader's line.
    line: TcpStream,
    carrier: BlockCarrier,
    /// Another run measures beside this one, slice by slice.
    baton: Option<Baton>,
}

impl Step<'_> {
    /// Messages that a thread sends in a slice however late it is.
    fn least(&self, number: usize) -> u64 {
        if number == 0 { LEAST_MESSAGES } else { 0 }
    }

    /// How many threads take part in a turn: the first ones.
    fn threads(&self, turn: &Turn) -> usize {
        self.gates[turn.rival].threads
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
        self.gates.iter().for_each(|gate| gate.send_home());
    }

    /// After a slice, the run beside this one has one. Returns for how long.
    fn let_the_other(&self, turn: &Turn) -> Result<u64> {
        let Some(baton) = self.baton.as_ref().filter(|_| turn.phase == Phase::Slices) else { return Ok(0) };
        let from = clock::monotonic_ns();
        baton.pass().context("the run beside this one went away with who started it")?;
        Ok(clock::monotonic_ns() - from)
    }
}

/// What a thread brings home.
struct Played {
    slices: Vec<(usize, Slice)>,
    /// By rival.
    windows: Vec<Vec<Window>>,
    /// By rival, where this thread leads.
    turns: BTreeMap<usize, WindowTurn>,
    /// The quickest answer of the receiver: a round trip.
    quickest_ns: u64,
    bytes: Vec<u64>,
    missing: Vec<Missing>,
    /// By rival.
    counts: Vec<LoopCounts>,
    null: NullTaken,
    /// By rival: of a program that sends.
    programs: Vec<Option<ProgramTally>>,
}

pub fn play(
    task: &Task,
    block: &BlockTask,
    channel: &mut dyn Channel,
    carrier: BlockCarrier,
) -> Result<RoleReport> {
    let rivals = super::rival_tasks(task, block);
    let address = connection::offered_address(task)?;
    let line = connection::connect(address, &task.token, &task.point, CONTROL)?;
    let mut streams = Vec::with_capacity(rivals.len());
    let mut first = CONTROL + 1;
    for rival in &rivals {
        let end = first + all_connections(&rival.point) as u32;
        streams.push(connection::by_thread(rival, connection::connect_numbers(rival, first..end)?));
        first = end;
    }
    let counts: Vec<usize> = streams.iter().map(Vec::len).collect();
    let count = counts.iter().copied().max().context("a block has rivals")?;
    ensure!(counts.iter().all(|own| *own > 0), "a rival has a thread");
    let mut by_count: BTreeMap<usize, Arc<TurnGate>> = BTreeMap::new();
    let mut gate =
        |threads: usize| by_count.entry(threads).or_insert_with(|| Arc::new(TurnGate::of(threads))).clone();
    let gates = counts.iter().copied().chain([count]).map(&mut gate).collect();
    let step = Step {
        rivals: &rivals,
        turns: super::turns(block, task.timing),
        gates,
        deadline_ns: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        enough: AtomicBool::new(false),
        shares: (0..count).map(|_| Mutex::default()).collect(),
        line,
        carrier,
        baton: block.baton.map(Baton::inherited).transpose().context("cannot take turns with another run")?,
    };
    let cpus = threads::cpus(task, count)?;
    let (shared, streams) = (&step, &streams);
    let done = threads::together(&cpus, channel, |number| {
        let start = |(rival, own): (&Task, &Vec<Vec<TcpStream>>)| {
            let Some(own) = own.get(number) else { return Ok(null_pump()) };
            let senders = own.iter().map(|s| (carrier.start)(rival, s)).collect::<Result<Vec<_>>>()?;
            Pump::of(many::InTurn::of(senders, mechanism::per_call(&rival.point))?, rival)
        };
        let pumps = rivals.iter().zip(streams).map(start).collect::<Result<Vec<_>>>()?;
        let own = streams.iter().map(|own| own.get(number).map_or(&[][..], Vec::as_slice)).collect();
        let ready: Ready<'_, Played> = Box::new(move || Thread::new(shared, number, pumps, own).play());
        Ok(ready)
    })?;
    streams.iter().flatten().flatten().try_for_each(connection::end)?;
    let mut report = joined(done);
    for ((own, streams), rival) in report.rivals.iter_mut().zip(streams).zip(&rivals) {
        own.facts.extend((carrier.facts)(rival, &streams[0][0]));
        own.facts.extend(threads::facts(&threads::cpus(task, streams.len())?));
    }
    Ok(report)
}

/// The threads' windows and bytes as a report of each rival.
fn joined(mut done: Vec<Played>) -> RoleReport {
    let rivals = done.first().map_or(0, |played| played.bytes.len());
    let mut report = RoleReport::default();
    let null = NullTaken::join(done.iter_mut().map(|played| std::mem::take(&mut played.null)));
    for rival in 0..rivals {
        let windows = done.iter_mut().map(|played| std::mem::take(&mut played.windows[rival])).collect();
        let bytes = done.iter().map(|played| played.bytes[rival] as f64).sum();
        let mut own = RoleReport { windows: meter::join(windows), ..RoleReport::default() };
        own.totals.insert("bytes".into(), bytes);
        let turn = done.first().and_then(|leader| Some((leader.turns.get(&rival)?, leader.quickest_ns)));
        own.totals.extend(turn.into_iter().flat_map(|(turn, quickest_ns)| turn.totals(quickest_ns)));
        null.add_own(done.iter().map(|played| played.counts[rival]), &mut own.totals);
        let programs = done.iter().filter_map(|played| played.programs[rival]);
        own.facts = programs.flat_map(|program| program.facts()).collect();
        report.rivals.push(own);
    }
    if let Some(leader) = done.first_mut() {
        report.slices = std::mem::take(&mut leader.slices);
        report.missing = std::mem::take(&mut leader.missing);
    }
    report
}

struct Thread<'a> {
    step: &'a Step<'a>,
    number: usize,
    /// By rival, and the null rival's.
    pumps: Vec<Pump>,
    /// The connections of each rival.
    streams: Vec<&'a [TcpStream]>,
    meter: Meter,
    played: Played,
    /// When this thread had handed over the last message of a window: completions may come much later.
    handed_ns: u64,
}

impl<'a> Thread<'a> {
    fn new(
        step: &'a Step<'a>,
        number: usize,
        mut pumps: Vec<Pump>,
        streams: Vec<&'a [TcpStream]>,
    ) -> Thread<'a> {
        let windows = pumps.iter().map(|_| Vec::new()).collect();
        let counts = vec![LoopCounts::default(); pumps.len()];
        let (slices, bytes, missing, null) = (Vec::new(), Vec::new(), Vec::new(), NullTaken::default());
        let (turns, quickest_ns) = (BTreeMap::new(), u64::MAX);
        let programs = Vec::new();
        let played = Played { slices, windows, turns, quickest_ns, bytes, missing, counts, null, programs };
        pumps.push(null_pump());
        Thread { step, number, pumps, streams, meter: Meter::of(&step.rivals[0]), played, handed_ns: 0 }
    }

    /// Every turn, until one thread is in trouble.
    fn play(mut self) -> Result<Played> {
        let step = self.step;
        let mut trouble = None;
        let mut note = |result: Result<()>| {
            if let Err(error) = result {
                step.fail();
                trouble.get_or_insert(error);
            }
        };
        let mut began_ns = clock::monotonic_ns();
        for (at, turn) in step.turns.iter().enumerate() {
            if self.number >= step.threads(turn) {
                continue;
            }
            let gate = &step.gates[turn.rival];
            if self.number == 0 {
                step.deadline_ns.store(clock::monotonic_ns() + turn.slice_ns, Ordering::SeqCst);
            }
            gate.wait(&step.failed);
            if step.failed.load(Ordering::SeqCst) {
                break;
            }
            // Behind the gate, where the leader has said so to all.
            if turn.phase == Phase::Slices && step.enough.load(Ordering::SeqCst) {
                continue;
            }
            note(self.take(turn));
            gate.wait(&step.failed);
            if self.number == 0 && !step.failed.load(Ordering::SeqCst) {
                // All others wait at the gate: they see it in their next turn.
                let over = clock::monotonic_ns() - began_ns > super::most_ns(&step.turns);
                step.enough.fetch_or(over && super::ends_a_pass(&step.turns, at), Ordering::SeqCst);
                let next = super::next(&step.turns, at, step.enough.load(Ordering::SeqCst));
                note(self.close(turn, next));
                if !self.is_null(turn) {
                    // Its own limit is of its own time.
                    note(step.let_the_other(turn).map(|ns| began_ns += ns));
                }
            }
        }
        if let Some(error) = trouble {
            return Err(error);
        }
        self.played.bytes = self.pumps[..step.rivals.len()].iter().map(Pump::bytes).collect();
        self.played.programs = self.pumps.iter().map(|pump| pump.sender.tally().program).collect();
        self.played.missing = self.meter.missing();
        Ok(self.played)
    }

    /// This thread's part of a turn.
    fn take(&mut self, turn: &Turn) -> Result<()> {
        let mut deadline_ns = self.step.deadline_ns.load(Ordering::SeqCst);
        if self.is_null(turn) {
            // Its own: that of all is over before a thread that slept at the gate has begun.
            deadline_ns = clock::monotonic_ns() + turn.slice_ns;
        }
        let pump = &mut self.pumps[turn.rival];
        let steps = pump.steps;
        let elsewhere = pump.program_cpu_ns();
        let (before, cpu, start_ns) = (pump.messages, clock::thread_cpu_ns(), clock::monotonic_ns());
        match turn.phase {
            Phase::WarmUp | Phase::Slices => {
                pump.until(deadline_ns)?;
                pump.at_least(before + self.step.least(self.number))?;
            }
            Phase::WindDown => pump.at_least(before + 1)?,
            Phase::Windows => self.window(turn.rival, deadline_ns)?,
        }
        let pump = &mut self.pumps[turn.rival];
        pump.sender.settle()?;
        let cpu_ns = clock::thread_cpu_ns() - cpu;
        let end_ns = clock::monotonic_ns();
        let cpu_ns = cpu_ns.saturating_add_signed(pump.program_cpu_ns() - elsewhere);
        let share = Share { start_ns, end_ns, cpu_ns, messages: pump.messages - before, bytes: pump.bytes() };
        *self.step.shares[self.number].lock().expect(WHOLE) = share;
        let steps = pump.steps - steps;
        self.count(turn, steps, cpu_ns);
        Ok(())
    }

    fn is_null(&self, turn: &Turn) -> bool {
        turn.rival == self.step.rivals.len()
    }

    /// Takes down how often the loop went round, and what it took where that is all that was done.
    fn count(&mut self, turn: &Turn, steps: u64, cpu_ns: u64) {
        if self.is_null(turn) {
            let (from, to) = (self.meter.stamp(), self.meter.stamp());
            let stepping = turn.slice_ns > 0;
            let null = &mut self.played.null;
            null.slices.push(NullTurn { stepping, steps, cpu_ns });
            // The step of a window is that of a slice; only its clocks differ.
            let clocks = self.meter.window(&from, &to, 0.0, 0.0);
            let clocks_ns = clocks.quantities.get("cpu_ns").copied().flatten().unwrap_or(0.0) as u64;
            null.windows.push(NullTurn {
                stepping,
                steps,
                cpu_ns: if stepping { cpu_ns } else { clocks_ns },
            });
            return;
        }
        let counts = &mut self.played.counts[turn.rival];
        match turn.phase {
            Phase::Slices => {
                (counts.slices, counts.slice_steps) = (counts.slices + 1, counts.slice_steps + steps)
            }
            // With those of its lead, which are few.
            Phase::Windows => (counts.windows, counts.window_steps) = (1, steps),
            Phase::WarmUp | Phase::WindDown => {}
        }
    }

    /// The window of a rival: a slice that is long enough for queues to fill, which a lead has done.
    fn window(&mut self, rival: usize, deadline_ns: u64) -> Result<()> {
        let (step, streams) = (self.step, self.streams[rival]);
        let pump = &mut self.pumps[rival];
        let carried = || (step.carrier.segments)(streams);
        pump.until(deadline_ns.saturating_sub(step.rivals[rival].timing.window_ns))?;
        pump.sender.settle()?;
        let before = pump.reading(&carried)?;
        let from = self.meter.stamp();
        pump.until(deadline_ns)?;
        pump.at_least(before.messages + step.least(self.number))?;
        self.handed_ns = clock::monotonic_ns();
        pump.sender.settle()?;
        let to = self.meter.stamp();
        let after = pump.reading(&carried)?;
        let mut window = window(&self.meter, (&from, &to), (&before, &after), pump.message_bytes());
        add_sending(&mut window, &before, &after);
        self.played.windows[rival].push(window);
        Ok(())
    }

    /// Waits until everything of the turn has arrived, and writes down a slice.
    fn close(&mut self, turn: &Turn, next: Phase) -> Result<()> {
        let shared = &self.step.shares[..self.step.threads(turn)];
        let shares: Vec<Share> = shared.iter().map(|share| *share.lock().expect(WHOLE)).collect();
        let mut bytes: Vec<u64> = shares.iter().map(|share| share.bytes).collect();
        bytes.resize(self.step.shares.len(), 0);
        let asked_ns = clock::monotonic_ns();
        LeaderQuestion { rival: turn.rival, next, bytes }.ask(&self.step.line)?;
        let arrived = leader::wait_for_answer(&self.step.line)?;
        let answered_ns = clock::monotonic_ns() - asked_ns;
        self.played.quickest_ns = self.played.quickest_ns.min(answered_ns);
        if self.is_null(turn) {
            return Ok(());
        }
        // A thread that had no CPU until the slice was over sent nothing, and is not waited for.
        let sent = || shares.iter().filter(|share| share.messages > 0);
        let start_ns = sent().map(|share| share.start_ns).min().unwrap_or(0);
        let end_ns = sent().map(|share| share.end_ns).max().unwrap_or(0);
        let late_ns = arrived.after_question_ns(answered_ns);
        let end_ns = if late_ns > 0 { end_ns.max(asked_ns + late_ns) } else { end_ns };
        let messages = shares.iter().map(|share| share.messages).sum::<u64>();
        let heard_ns = asked_ns + answered_ns - start_ns;
        if turn.phase == Phase::Windows {
            let bytes = messages * self.pumps[turn.rival].message_bytes();
            let there_ns = if late_ns > 0 { asked_ns + late_ns } else { self.handed_ns };
            let arrived_ns = there_ns.saturating_sub(start_ns);
            self.played.turns.insert(turn.rival, WindowTurn { bytes, arrived_ns, heard_ns });
        }
        if turn.phase != Phase::Slices {
            return Ok(());
        }
        // One that spins does so in turns of others too.
        let spins = held::spins(&self.step.rivals[turn.rival].point);
        let most_ns = if spins { u64::MAX / 2 } else { heard_ns + heard_ns / 100 + NOT_ASLEEP_NS };
        arrived.fits(answered_ns, most_ns.saturating_mul(shares.len() as u64))?;
        let slice = Slice {
            pass: turn.pass,
            position: turn.position,
            length_ns: turn.slice_ns,
            start_ns,
            wall_ns: end_ns - start_ns,
            messages,
            sender_cpu_ns: shares.iter().map(|share| share.cpu_ns).sum(),
            receiver_cpu_ns: arrived.cpu_ns,
        };
        self.played.slices.push((turn.rival, slice));
        Ok(())
    }
}
