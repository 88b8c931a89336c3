//! `contention`: adding to a counter alone and beside threads that add to the same word, to its neighbours on one
//! cache line, to words of their own, or under the same mutex.
//!
//! Every thread has a CPU of its own; those that are not timed add without a pause. At the end the counters have to
//! hold every addition. Sources: Schweizer, Besta and Hoefler, "Evaluating the cost of atomic operations on modern
//! architectures" (PACT 2015); Bolosky and Scott, "False sharing and its effect on shared memory performance" (1993).

use super::batch::BatchRecorder;
use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::transfer::axes::THREADS;
use super::{
    Channel, OS_MORE_SUITE, OsOperation, OtherWay, Probe, ProbeAbout, RoleReport, Task, Window, batch,
};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use syscost_core::axis::DefaultValues::Of;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_host::topology::{Topology, pin_this_thread};

const COUNTER: NameAxis = NameAxis::new("counter");

const ID: &str = "contention";
/// Words of a cache line, on every processor with lines of 64 bytes or more.
const WORDS: usize = 8;
/// Additions of a thread between its looks at whether to end.
const STRETCH: u64 = 8;
/// A batch is about this long: many additions of every thread, and short beside a time slice.
const BATCH_NS: u64 = 50_000;
/// A window lasts so many times longer at most until all threads have run beside each other.
const PATIENCE: u64 = 50;
/// More than so many threads say nothing more, unless they are asked for.
const MOST_THREADS: usize = 8;

pub struct Contention;

/// A line, and those that a prefetcher takes with it.
#[repr(align(256))]
#[derive(Default)]
struct WordLine([AtomicU64; WORDS]);

/// What is added to: one line for all, one for each thread, and a counter under a mutex.
struct AddedWords {
    shared: WordLine,
    own: Vec<WordLine>,
    locked: Mutex<u64>,
}

impl AddedWords {
    fn for_threads(threads: usize) -> AddedWords {
        let own = (0..threads).map(|_| WordLine::default()).collect();
        AddedWords { shared: WordLine::default(), own, locked: Mutex::new(0) }
    }

    /// All that was added.
    fn total(&self) -> u64 {
        let lines = self.own.iter().chain([&self.shared]);
        let words: u64 = lines.flat_map(|line| &line.0).map(|word| word.load(Relaxed)).sum();
        words + *self.locked.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

struct CounterKind {
    id: &'static str,
    label: &'static str,
    /// Adds one so often, as this thread.
    add: fn(&AddedWords, usize, u64),
    theory: CounterTheory,
}

/// What an addition should cost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CounterTheory {
    /// The instruction, whatever other threads do.
    Alone,
    /// The line comes round once for each thread.
    LineTravels,
    /// Two atomic instructions; of waiting threads nothing is known.
    Locked,
}

fn add_to(word: &AtomicU64, times: u64) {
    for _ in 0..times {
        word.fetch_add(1, Relaxed);
    }
}

fn add_locked(counter: &Mutex<u64>, times: u64) {
    for _ in 0..times {
        *counter.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
    }
}

const KINDS: &[CounterKind] = &[
    CounterKind {
        id: "own_word",
        label: "atomic add to words on lines of their own",
        add: |counters, thread, times| add_to(&counters.own[thread].0[0], times),
        theory: CounterTheory::Alone,
    },
    CounterKind {
        id: "shared_word",
        label: "atomic add to one word",
        add: |counters, _, times| add_to(&counters.shared.0[0], times),
        theory: CounterTheory::LineTravels,
    },
    CounterKind {
        id: "shared_line",
        label: "atomic add to words of one line (false sharing)",
        add: |counters, thread, times| add_to(&counters.shared.0[thread % WORDS], times),
        theory: CounterTheory::LineTravels,
    },
    CounterKind {
        id: "mutex",
        label: "mutex locked and unlocked",
        add: |counters, _, times| add_locked(&counters.locked, times),
        theory: CounterTheory::Locked,
    },
];

fn find(point: &Point) -> Option<&'static CounterKind> {
    KINDS.iter().find(|kind| Some(kind.id) == point.text(COUNTER))
}

fn adding(counter: &'static str, threads: u64) -> RowRef {
    let coordinates = vec![(COUNTER.id, Value::text(counter)), (THREADS.id, Value::Int(threads))];
    RowRef { probe: ID, coordinates, metric: "cost" }
}

/// CPUs of this process, cores before their siblings.
fn cpus() -> Vec<usize> {
    let topology = Topology::read();
    let mut cpus: Vec<_> = topology.cpus().iter().collect();
    cpus.sort_by_key(|cpu| (cpu.sibling, !cpu.fast, cpu.node, cpu.id));
    cpus.into_iter().map(|cpu| cpu.id).collect()
}

/// Alone, with one other, and with as many as there are CPUs. Two also where there is one CPU: it is then skipped with
/// the reason.
fn thread_counts() -> Vec<Value> {
    let most = cpus().len().clamp(2, MOST_THREADS) as u64;
    let mut counts = vec![1, 2, most];
    counts.dedup();
    counts.into_iter().map(Value::Int).collect()
}

/// A CPU for each thread.
fn seats(threads: usize, mut cpus: Vec<usize>) -> Result<Vec<usize>, Unavailable> {
    if cpus.len() < threads {
        return Err(Unavailable {
            reason: format!("{threads} threads need a CPU each; this process may use {}", cpus.len()),
            remedy: "fewer --threads, or allow more CPUs (taskset, cpuset)".into(),
        });
    }
    cpus.truncate(threads);
    Ok(cpus)
}

/// What the threads tell each other.
#[derive(Default)]
struct AdderSignals {
    /// Those that have begun to add.
    begun: AtomicUsize,
    stop: AtomicBool,
    /// What each has added so far, on a line of its own.
    added: Vec<WordLine>,
}

impl AdderSignals {
    fn for_threads(threads: usize) -> AdderSignals {
        AdderSignals { added: (0..threads).map(|_| WordLine::default()).collect(), ..AdderSignals::default() }
    }

    /// What every other thread has added so far.
    fn progress(&self) -> Vec<u64> {
        self.added.iter().skip(1).map(|line| line.0[0].load(Relaxed)).collect()
    }
}

/// Adds until it is told to stop; how often it did.
fn add_until_stopped(
    kind: &CounterKind,
    counters: &AddedWords,
    thread: usize,
    signals: &AdderSignals,
) -> u64 {
    let mut added = 0;
    while !signals.stop.load(Acquire) {
        (kind.add)(counters, thread, STRETCH);
        if added == 0 {
            signals.begun.fetch_add(1, Release);
        }
        added += STRETCH;
        signals.added[thread].0[0].store(added, Relaxed);
    }
    added
}

/// Windows of batches in which every other thread added too. One that was put aside meanwhile leaves the others alone:
/// such a batch is not kept.
fn contended(task: &Task, signals: &AdderSignals, mut body: impl FnMut(u64)) -> Result<Vec<Window>> {
    let ops = batch::calibrate(task.timing, 1, BATCH_NS, &mut body);
    let mut windows = Vec::new();
    for _ in 0..task.timing.windows {
        let mut recorder = BatchRecorder::start();
        let (mut kept, mut overhead) = (0u64, Vec::new());
        while kept == 0 || recorder.elapsed_ns() < task.timing.window_ns {
            let before = signals.progress();
            let start = monotonic_ns();
            body(ops);
            let ns = monotonic_ns() - start;
            if signals.progress().iter().zip(&before).all(|(now, before)| now > before) {
                recorder.record(ns as f64, ops);
                kept += 1;
            }
            let start = monotonic_ns();
            (0..ops).for_each(|i| _ = black_box(i));
            overhead.push((monotonic_ns() - start) as f64 / ops as f64);
            if kept == 0 && recorder.elapsed_ns() > PATIENCE * task.timing.window_ns {
                return Err(Unavailable {
                    reason: "the threads never ran at the same time".into(),
                    remedy: "free the machine of other work".into(),
                }
                .into());
            }
        }
        windows.push(recorder.window(task, ops as f64, syscost_core::stats::median(&overhead)));
    }
    Ok(windows)
}

/// Times additions on the first CPU while a thread on each other one adds too.
fn beside_others(
    task: &Task,
    kind: &CounterKind,
    cpus: &[usize],
    channel: &mut dyn Channel,
) -> Result<Vec<Window>> {
    let counters = AddedWords::for_threads(cpus.len());
    let signals = AdderSignals::for_threads(cpus.len());
    std::thread::scope(|scope| {
        // Also where this thread leaves by an error: the scope waits for the others.
        let _stop = StopAtEnd(&signals.stop);
        let mut others = Vec::new();
        for (number, cpu) in cpus.iter().enumerate().skip(1) {
            let (counters, signals, cpu) = (&counters, &signals, *cpu);
            let run = move || {
                let pinned = pin_this_thread(cpu);
                (pinned, add_until_stopped(kind, counters, number, signals))
            };
            others
                .push(std::thread::Builder::new().spawn_scoped(scope, run).context("cannot start a thread")?);
        }
        pin_this_thread(cpus[0])?;
        while signals.begun.load(Acquire) < others.len() {
            std::thread::yield_now();
        }
        channel.ready()?;
        let mut added = 0;
        let body = |times| {
            (kind.add)(&counters, 0, times);
            added += times;
        };
        let windows = contended(task, &signals, body)?;
        signals.stop.store(true, Release);
        for other in others {
            let (pinned, times) = other.join().ok().context("an adding thread failed")?;
            pinned?;
            added += times;
        }
        let total = counters.total();
        ensure!(total == added, "{added} additions gave {total}");
        Ok(windows)
    })
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Release);
    }
}

impl Probe for Contention {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: ID,
            title: "shared counter",
            method: "A pinned thread adds to a counter in batches of about 50 us while a thread on each other CPU adds without a \
                     pause; the cost is that of one addition of one thread, median over batches in which every other thread \
                     added too, less the loop. The counters have to hold every addition of every thread.",
            source: "Schweizer, Besta and Hoefler (PACT 2015); Bolosky and Scott (1993); futex(2)",
            roles: &["adder"],
            operation: Some(&Contention),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            COUNTER.names(|| KINDS.iter().map(|kind| kind.id).collect()).help("what the threads add to"),
            THREADS
                .count(1, 1024)
                .help("threads that add at the same time, each on a CPU of its own")
                .default_on(Of(thread_counts)),
        ]
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let kind = find(&task.point).with_context(|| format!("no counter at {}", task.point))?;
        let threads = task.point.int(THREADS).context("no number of threads")? as usize;
        let cpus = seats(threads, cpus())?;
        let windows = beside_others(task, kind, &cpus, channel)?;
        let named: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        let facts = [("cpus".to_string(), named.join(", "))].into();
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for Contention {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn other_ways(&self) -> &'static [OtherWay] {
        const OTHERS: &[OtherWay] = &[
            OtherWay { axis: COUNTER.id, from: "mutex", to: "shared_word", how: "an atomic addition" },
            OtherWay {
                axis: COUNTER.id,
                from: "shared_word",
                to: "own_word",
                how: "a word for each thread on its own cache line",
            },
            OtherWay {
                axis: COUNTER.id,
                from: "shared_line",
                to: "own_word",
                how: "words on cache lines of their own",
            },
        ];
        OTHERS
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let (kind, threads) = (find(point)?, point.int(THREADS)?);
        let many = if threads == 1 { "1 thread".to_string() } else { format!("{threads} threads") };
        Some(Row::listed(format!("{}, {many}", kind.label)))
    }

    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let (kind, threads) = (find(point)?, point.int(THREADS)?);
        match (kind.theory, threads) {
            (CounterTheory::Locked, 1) => {
                let add = inputs.row("add", adding("own_word", 1));
                let atomics = inputs.constant("atomics", 2.0, Unit::Count, "one to lock, one to unlock");
                Some(inputs.sum("atomics * add", add.map(|add| atomics * add), Some(0.0)))
            }
            // How long a core keeps a line that others ask for is the processor's choice, and in no document; what a locked
            // instruction takes by itself is 18 cycles on some of today's, and 7 on others.
            (CounterTheory::Locked | CounterTheory::LineTravels, _) | (_, 1) => None,
            (CounterTheory::Alone, _) => {
                let add = inputs.row("add", adding("own_word", 1));
                Some(inputs.sum("add", add, Some(0.0)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;

    struct Begun;
    impl Channel for Begun {
        fn offer(&mut self, _: serde_json::Value) -> Result<()> {
            Ok(())
        }
        fn ready(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// Also several threads on one CPU: what is counted does not hang on how they are placed.
    #[test]
    fn no_addition_is_lost_to_another_thread() {
        let cpu = cpus()[0];
        for kind in KINDS {
            let timing = crate::probe::Timing { warmup_ns: 1000, window_ns: 100_000, windows: 1 };
            let run = move || beside_others(&Task::of(Point::default(), timing), kind, &[cpu; 3], &mut Begun);
            match std::thread::spawn(run).join().unwrap() {
                Ok(windows) => assert!(windows[0].ops >= 1.0, "{}", kind.id),
                // They take turns on their CPU: seldom do all add within one batch.
                Err(why) => assert!(why.is::<Unavailable>(), "{}: {why}", kind.id),
            }
        }
    }

    #[test]
    fn more_threads_than_cpus_are_refused_with_the_reason() {
        assert_eq!(seats(2, vec![4, 2, 7]).unwrap(), [4, 2]);
        let why = seats(3, vec![0]).unwrap_err();
        assert!(why.reason.contains("3 threads") && !why.remedy.is_empty(), "{why}");
    }

    #[test]
    fn threads_on_lines_of_their_own_cost_what_one_does_and_a_line_that_travels_is_not_predicted() {
        let known = Costs::of(&[(ID, 6.0)]);
        let predicted = |counter: &'static str, threads: u64| {
            let mut point = Point::default();
            adding(counter, threads).coordinates.into_iter().for_each(|(axis, value)| point.set(axis, value));
            Contention.predict(&point, Inputs::new(&known)).and_then(|account| account.predicted)
        };
        assert_eq!((predicted("shared_word", 4), predicted("shared_line", 2)), (None, None));
        assert_eq!(predicted("own_word", 1), None, "it is a part of others");
        assert_eq!((predicted("own_word", 4), predicted("mutex", 1)), (Some(6.0), Some(12.0)));
        assert_eq!(predicted("mutex", 2), None, "nothing says how threads wait");
    }
}
