//! The receiver's side of a block: a thread per rival and connection thread, and one that answers the leader.

use super::super::super::meter::{self, Meter, Stamp};
use super::super::super::streaming::null::NullTurn;
use super::super::super::streaming::receiving::{Source, SourceCounts, null_source};
use super::super::super::streaming::threads::{self, Ready};
use super::super::super::{BlockTask, Channel, Missing, RoleReport, Task, Window};
use super::super::connection;
use super::super::held::FIRST_BYTES;
use super::leader::{LeaderQuestion, SliceArrived};
use super::null::{LoopCounts, NullTaken};
use super::{BlockCarrier, Phase};
use crate::mechanism::all_connections;
use anyhow::{Context, Result, ensure};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use syscost_host::clock;

/// How often the answering thread looks whether a receiving one has ended.
const LOOK: Duration = Duration::from_millis(100);

/// One receiving thread, as the answering one sees it.
pub struct RivalArrivals {
    bytes: AtomicU64,
    /// The answering thread waits for so many; nobody is woken by a piece of a slice that goes on.
    wanted: AtomicU64,
    /// When all of it was there, where it was waited for.
    arrived_ns: AtomicU64,
    /// CPU time of the thread when all of its last turn had arrived.
    closed_cpu_ns: AtomicU64,
    /// Of the thread that receives, see [`clock::own_cpu_clock`].
    cpu_clock: OnceLock<libc::clockid_t>,
    ended: AtomicBool,
}

/// Nothing is waited for.
const NOT_ASKED: u64 = u64::MAX;

impl RivalArrivals {
    pub fn new() -> RivalArrivals {
        RivalArrivals {
            bytes: AtomicU64::new(0),
            wanted: AtomicU64::new(NOT_ASKED),
            arrived_ns: AtomicU64::new(0),
            closed_cpu_ns: AtomicU64::new(0),
            cpu_clock: OnceLock::new(),
            ended: AtomicBool::new(false),
        }
    }

    fn received_by_this_thread(&self) -> Result<()> {
        let clock = clock::own_cpu_clock().context("this thread has no CPU clock")?;
        self.cpu_clock.set(clock).ok().context("two threads receive the same")
    }

    /// CPU time of the thread that receives; none before there is one.
    fn spent_ns(&self) -> u64 {
        self.cpu_clock.get().map_or(0, |clock| clock::gettime(*clock))
    }

    /// What is waited for, where anything is.
    fn awaited(&self) -> Option<u64> {
        Some(self.wanted.load(Ordering::Relaxed)).filter(|bytes| *bytes != NOT_ASKED)
    }

    fn all_there(&self) -> bool {
        self.bytes.load(Ordering::SeqCst) >= self.wanted.load(Ordering::SeqCst)
    }
}

struct ReceivingSide<'a> {
    rivals: &'a [Task],
    /// By rival, by thread.
    arrivals: Vec<Vec<RivalArrivals>>,
    phase: AtomicU32,
    answering: Mutex<Option<std::thread::Thread>>,
}

/// What a receiving thread brings home.
#[derive(Default)]
struct RivalTaken {
    window: Option<Arrived>,
    bytes: u64,
    missing: Vec<Missing>,
    counts: LoopCounts,
    null: NullTaken,
    totals: Vec<(&'static str, u64)>,
}

/// What one thread received of a window, and when its first and its last piece came.
struct Arrived {
    window: Window,
    first_bytes: u64,
    from_ns: u64,
    to_ns: u64,
}

/// The window of all threads, and what came before its time began: where they share CPUs, none of them alone says how long it took, and some may have had no
/// turn.
fn together(threads: &mut [RivalTaken]) -> (Vec<Window>, f64) {
    let all: Vec<Arrived> = threads.iter_mut().filter_map(|taken| taken.window.take()).collect();
    let Some(first) = all.iter().min_by_key(|one| one.from_ns) else { return (Vec::new(), 0.0) };
    let to_ns = all.iter().map(|one| one.to_ns).max().unwrap_or(0);
    let (from_ns, first_bytes) = (first.from_ns, first.first_bytes as f64);
    let elapsed_ns = to_ns.saturating_sub(from_ns) as f64;
    let mut joined = meter::join(all.into_iter().map(|one| vec![one.window]).collect());
    for window in &mut joined {
        // The very first piece was on its way before the time began.
        window.ops *= 1.0 - first_bytes / window.bytes.max(1.0);
        window.bytes -= first_bytes;
        window.elapsed_ns = elapsed_ns;
        window.start_ns = Some(from_ns);
        window.quantities.insert("elapsed_ns".into(), Some(elapsed_ns));
    }
    // A rival that sent one piece in all has no rate.
    joined.retain(|window| window.elapsed_ns > 0.0 && window.bytes > 0.0);
    (joined, first_bytes)
}

/// A window that is being received.
struct Arriving {
    from: Stamp,
    /// When all of the turn before had arrived.
    closed_cpu_ns: u64,
    before: SourceCounts,
    first_bytes: u64,
    /// At its last piece so far.
    after: SourceCounts,
    to_ns: u64,
}

impl Arriving {
    /// The first piece has arrived, after so much of other turns.
    fn begin(before: SourceCounts, after: SourceCounts, closed_cpu_ns: u64, meter: &mut Meter) -> Arriving {
        let from = meter.stamp();
        let (to_ns, first_bytes) = (from.ns(), after.bytes - before.bytes);
        Arriving { from, closed_cpu_ns, before, first_bytes, after, to_ns }
    }

    /// The first piece of another turn has come: until then the thread slept once, for it.
    fn end(self, meter: &mut Meter, message_bytes: u64, closed_cpu_ns: u64) -> Arrived {
        let to = meter.stamp();
        let mut window = self.after.window(&self.before, meter, (&self.from, &to), message_bytes);
        let cpu_ns = closed_cpu_ns.saturating_sub(self.closed_cpu_ns) as f64;
        if let (Some(Some(cycles)), Some(Some(spent))) =
            (window.quantities.get("tsc_cycles").copied(), window.quantities.get("cpu_ns").copied())
        {
            window.quantities.insert("tsc_cycles".into(), Some(cycles * cpu_ns / spent.max(1.0)));
        }
        if let Some(Some(slept)) = window.quantities.get_mut("voluntary_switches") {
            *slept = (*slept - 1.0).max(0.0);
        }
        window.quantities.insert("cpu_ns".into(), Some(cpu_ns));
        Arrived { window, first_bytes: self.first_bytes, from_ns: self.from.ns(), to_ns: self.to_ns }
    }
}

pub fn play(
    task: &Task,
    block: &BlockTask,
    channel: &mut dyn Channel,
    carrier: BlockCarrier,
) -> Result<RoleReport> {
    let rivals = super::rival_tasks(task, block);
    let all = 1 + rivals.iter().map(|rival| all_connections(&rival.point) as usize).sum::<usize>();
    let listener = connection::offer_listener(task, channel, &task.point, all)?;
    let mut accepted = connection::accept(&listener, &task.token, &task.point, all)?.into_iter();
    let line = accepted.next().context("the leader has a connection")?;
    let own_streams = |rival: &Task| {
        let own = accepted.by_ref().take(all_connections(&rival.point) as usize).collect();
        connection::by_thread(rival, own)
    };
    let streams: Vec<Vec<Vec<TcpStream>>> = rivals.iter().map(own_streams).collect();
    // A thread for each of the rival that has most.
    let count = streams.iter().map(Vec::len).max().context("a block has rivals")?;
    let side = ReceivingSide {
        rivals: &rivals,
        arrivals: streams.iter().map(|own| own.iter().map(|_| RivalArrivals::new()).collect()).collect(),
        phase: AtomicU32::new(Phase::WarmUp as u32),
        answering: Mutex::default(),
    };
    // Those of each rival on the CPUs that it would have alone; the answering one wherever there is room.
    let own: Vec<Vec<Option<usize>>> =
        streams.iter().map(|own| threads::cpus(task, own.len())).collect::<Result<_>>()?;
    let cpus: Vec<Option<usize>> = own.iter().flatten().copied().chain([None]).collect();
    let of_rival = |(rival, own): (usize, &Vec<_>)| (0..own.len()).map(move |thread| (rival, thread));
    let places: Vec<(usize, usize)> = own.iter().enumerate().flat_map(of_rival).collect();
    let (shared, line, places) = (&side, &line, &places);
    let mut done = threads::together(&cpus, channel, |number| {
        let ready: Ready<'_, RivalTaken> = if let Some((rival, thread)) = places.get(number).copied() {
            let source = (carrier.source)(&rivals[rival], &streams[rival][thread])?;
            // Before any turn: where CPUs are busy, a turn without a byte for this thread is over before it begins.
            shared.arrivals[rival][thread].received_by_this_thread()?;
            Box::new(move || shared.take(rival, thread, source))
        } else {
            Box::new(move || shared.answer(line, count))
        };
        Ok(ready)
    })?;
    let null = NullTaken::join(done.iter_mut().map(|taken| std::mem::take(&mut taken.null)));
    let mut report = RoleReport { missing: std::mem::take(&mut done[0].missing), ..RoleReport::default() };
    let mut left = done.as_mut_slice();
    for (rival, cpus) in own.iter().enumerate() {
        let (taken, others) = left.split_at_mut(cpus.len());
        left = others;
        let (windows, first_bytes) = together(taken);
        let stream = &streams[rival][0][0];
        let mut facts = (carrier.facts)(&rivals[rival], stream);
        facts.extend(threads::facts(cpus));
        let mut own = RoleReport { windows, facts, ..RoleReport::default() };
        own.totals.insert("bytes".into(), taken.iter().map(|taken| taken.bytes as f64).sum());
        own.totals.insert(FIRST_BYTES.into(), first_bytes);
        for (id, count) in taken.iter().flat_map(|taken| &taken.totals) {
            *own.totals.entry(id.to_string()).or_default() += *count as f64;
        }
        null.add_own(taken.iter().map(|taken| taken.counts), &mut own.totals);
        report.rivals.push(own);
    }
    Ok(report)
}

/// A thread that receives the turns of a rival.
pub struct Taking {
    meter: Meter,
    taken: RivalTaken,
    arriving: Option<Arriving>,
    seen: Phase,
}

impl Taking {
    pub fn begin(task: &Task, seen: Phase) -> Taking {
        Taking { meter: Meter::of(task), taken: RivalTaken::default(), arriving: None, seen }
    }

    /// Takes the next piece; false when the stream has ended.
    pub fn piece(&mut self, source: &mut dyn Source, phase: &AtomicU32, own: &RivalArrivals) -> Result<bool> {
        let before = source.counts();
        let open = source.take_next()?;
        let after = source.counts();
        if open && after.bytes == before.bytes {
            // Nothing came: the turn may be another rival's.
            return Ok(true);
        }
        let phase = Phase::of(phase.load(Ordering::Relaxed));
        if phase != self.seen {
            self.seen = phase;
            let closed = own.closed_cpu_ns.load(Ordering::SeqCst);
            if let Some(window) = self.arriving.take() {
                self.taken.window = Some(window.end(&mut self.meter, source.message_bytes(), closed));
            }
            match phase {
                Phase::WarmUp => {}
                Phase::Slices => source.warmed_up(),
                Phase::Windows => {
                    self.taken.counts.windows = 1;
                    self.arriving = Some(Arriving::begin(before, after, closed, &mut self.meter));
                }
                Phase::WindDown => source.wound_up(),
            }
        } else if let Some(window) = &mut self.arriving {
            self.taken.counts.window_steps += 1;
            (window.after, window.to_ns) = (after, clock::monotonic_ns());
        } else if phase == Phase::Slices {
            self.taken.counts.slice_steps += 1;
        }
        // Last: what waits for these bytes may change the phase.
        own.bytes.store(after.bytes, Ordering::SeqCst);
        Ok(open)
    }

    fn over(mut self) -> RivalTaken {
        self.taken.missing = self.meter.missing();
        self.taken
    }
}

impl ReceivingSide<'_> {
    fn take(&self, rival: usize, thread: usize, mut source: Box<dyn Source>) -> Result<RivalTaken> {
        let own = &self.arrivals[rival][thread];
        let taken = self.take_all(&self.rivals[rival], &mut *source, own);
        own.ended.store(true, Ordering::SeqCst);
        self.wake();
        taken
    }

    fn take_all(&self, task: &Task, source: &mut dyn Source, own: &RivalArrivals) -> Result<RivalTaken> {
        let mut taking = Taking::begin(task, Phase::WarmUp);
        while taking.piece(source, &self.phase, own)? {
            if own.all_there() {
                own.arrived_ns.store(clock::monotonic_ns(), Ordering::SeqCst);
                self.wake_for(&mut taking);
            } else if let Some(bytes) = own.awaited() {
                source.owed(bytes);
            }
        }
        source.whole()?;
        taking.taken.bytes = source.counts().bytes;
        taking.taken.totals = source.totals();
        Ok(taking.over())
    }

    /// All of a turn is there. What waking costs is looked at where nothing is timed.
    fn wake_for(&self, taking: &mut Taking) {
        match taking.seen {
            Phase::Slices => taking.taken.counts.wakes += 1,
            Phase::Windows => {}
            Phase::WarmUp | Phase::WindDown => {
                let from = clock::thread_cpu_ns();
                self.wake();
                return taking.taken.null.wakes_ns.push((clock::thread_cpu_ns() - from) as f64);
            }
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(answering) = &*self.answering.lock().expect("no thread panics while it wakes another") {
            answering.unpark();
        }
    }

    /// Says after each turn what the rival's threads spent since its last one, once all of it is there.
    fn answer(&self, line: &TcpStream, count: usize) -> Result<RivalTaken> {
        *self.answering.lock().expect("no thread panics while it wakes another") =
            Some(std::thread::current());
        let mut spent = vec![0u64; self.arrivals.len()];
        let mut taken = RivalTaken::default();
        while let Some(LeaderQuestion { rival, next, bytes }) = LeaderQuestion::hear(line, count)? {
            if rival == self.rivals.len() {
                let spent = take_nothing(&self.rivals[0], &mut taken.null)?;
                self.phase.store(next as u32, Ordering::Relaxed);
                SliceArrived { cpu_ns: spent, ..SliceArrived::default() }.tell(line)?;
                continue;
            }
            let own =
                self.arrivals.get(rival).context("the leader speaks of a rival that is not in the block")?;
            let asked_ns = clock::monotonic_ns();
            for (arrivals, bytes) in own.iter().zip(bytes) {
                arrivals.arrived_ns.store(0, Ordering::SeqCst);
                arrivals.wanted.store(bytes, Ordering::SeqCst);
            }
            wait(own)?;
            let (mut now, mut arrived_ns) = (0, 0);
            for arrivals in own {
                arrived_ns = arrivals.arrived_ns.load(Ordering::SeqCst).max(arrived_ns);
                let spent = arrivals.spent_ns();
                arrivals.closed_cpu_ns.store(spent, Ordering::SeqCst);
                arrivals.wanted.store(NOT_ASKED, Ordering::SeqCst);
                now += spent;
            }
            let since = now - std::mem::replace(&mut spent[rival], now);
            // That of the turn that follows.
            self.phase.store(next as u32, Ordering::Relaxed);
            let arrived = SliceArrived {
                cpu_ns: since,
                late_ns: arrived_ns.saturating_sub(asked_ns),
                waited_ns: clock::monotonic_ns() - asked_ns,
            };
            arrived.tell(line)?;
        }
        Ok(taken)
    }
}

/// Until all of a rival's bytes are there.
fn wait(own: &[RivalArrivals]) -> Result<()> {
    while !own.iter().all(RivalArrivals::all_there) {
        ensure!(
            !own.iter().any(|a| a.ended.load(Ordering::SeqCst)),
            "a stream ended before its slice was there"
        );
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}

/// Pieces of a receiver's null turn beside the first.
const PIECES: u64 = 256;

/// Takes pieces of nothing as a receiving thread would; returns the CPU time.
fn take_nothing(task: &Task, taken: &mut NullTaken) -> Result<u64> {
    let mut source = null_source();
    let mut all_ns = 0;
    for phase in [Phase::Slices, Phase::Windows] {
        let shown = AtomicU32::new(phase as u32);
        for steps in [1, PIECES] {
            let cpu_ns = pieces(task, &mut *source, &shown, steps)?;
            let turn = NullTurn { stepping: steps > 1, steps, cpu_ns };
            let list = if phase == Phase::Slices { &mut taken.slices } else { &mut taken.windows };
            list.push(turn);
            all_ns += cpu_ns;
        }
    }
    Ok(all_ns)
}

fn pieces(task: &Task, source: &mut dyn Source, phase: &AtomicU32, steps: u64) -> Result<u64> {
    let mut taking = Taking::begin(task, Phase::Slices);
    let own = RivalArrivals::new();
    let from = clock::thread_cpu_ns();
    for _ in 0..steps {
        taking.piece(source, phase, &own)?;
    }
    Ok(clock::thread_cpu_ns() - from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Timing;
    use crate::probe::streaming::null::OwnCost;
    use syscost_core::axis::Point;

    #[test]
    fn a_thread_that_has_not_begun_has_spent_nothing_and_not_the_time_of_day() {
        let arrivals = RivalArrivals::new();
        assert_eq!(arrivals.spent_ns(), 0);
        arrivals.received_by_this_thread().unwrap();
        let spent = arrivals.spent_ns();
        assert!(spent > 0 && spent <= clock::thread_cpu_ns(), "{spent}");
        assert!(arrivals.received_by_this_thread().is_err(), "one thread receives it");
    }

    #[test]
    fn a_receiver_of_nothing_pays_for_pieces_and_more_for_them_in_a_window() {
        let task = Task::of(Point::default(), Timing { warmup_ns: 0, window_ns: 0, windows: 0 });
        let mut taken = NullTaken::default();
        assert!((0..8).all(|_| take_nothing(&task, &mut taken).unwrap() > 0));
        let (slices, windows) = (OwnCost::of(&taken.slices), OwnCost::of(&taken.windows));
        assert!(slices.step_ns > 0.0 && windows.step_ns > slices.step_ns, "{slices:?} {windows:?}");
        assert!(windows.turn_ns > 0.0, "its clocks are read when it begins");
    }
}
