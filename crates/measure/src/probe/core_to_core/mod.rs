//! `core_to_core`: how long a cache line takes from one CPU to another.
//!
//! Two pinned threads answer each other by storing into one cache line that both watch: no system
//! call, no sleeping. Half a round trip is the time from a store on one CPU to its sight on the
//! other. A low quantile is taken, because a hypervisor or another thread may put either one aside.
//! Sources: Hackenberg et al., "Comparing cache architectures and coherency protocols on x86-64
//! multicore SMP systems" (MICRO 2009); nviennot/core-to-core-latency.

mod pairs;

use super::operation::{PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::row::Row;
use super::{Channel, Figures, Task, Window, batch, memory_latency, primitive};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use syscost_core::axis::DefaultValues::Of;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_host::topology::{PinnedThread, Topology, pin_this_thread, was_moved};
use syscost_sys::affinity;

const ID: &str = "core_to_core";
const CPUS: NameAxis = NameAxis::new("cpus");

/// Ends the answering thread; never reached by counting.
const STOP: u64 = u64::MAX;
/// What the answering thread says when it is there.
const READY: u64 = 2;
/// A thread that does not answer for so long has been put aside for good.
const PATIENCE_NS: u64 = 2_000_000_000;
/// How many looks at the line between looks at the clock.
const LOOKS: u32 = 1 << 16;
/// Hops in a round trip.
const HOPS: f64 = 2.0;

/// The line that travels; nothing else lies on it, nor on the one that a prefetcher takes with it.
#[repr(align(256))]
struct CacheLine(AtomicU64);

/// The asking end. Odd numbers are questions, the next even number is the answer.
struct Asking<'a> {
    line: &'a CacheLine,
    last: u64,
    failed: bool,
}

impl Asking<'_> {
    #[inline]
    fn round_trip(&mut self) {
        if self.failed {
            return;
        }
        self.line.0.store(self.last + 1, Release);
        self.last += 2;
        self.failed = !self.sees(self.last);
    }

    /// Watches the line until it says so; false when that takes too long.
    #[inline]
    fn sees(&self, wanted: u64) -> bool {
        let mut limit_ns = None;
        loop {
            for _ in 0..LOOKS {
                if self.line.0.load(Acquire) == wanted {
                    return true;
                }
            }
            let now = monotonic_ns();
            if now > *limit_ns.get_or_insert(now + PATIENCE_NS) {
                return false;
            }
        }
    }
}

/// The answering end; returns the CPU on which it ended and how often it answered.
fn answer(line: &CacheLine) -> (Option<usize>, u64) {
    let mut answered = 0;
    let mut last = READY;
    line.0.store(READY, Release);
    loop {
        let seen = line.0.load(Acquire);
        if seen == STOP {
            return (affinity::current(), answered);
        }
        if seen != last {
            last = seen + 1;
            line.0.store(last, Release);
            answered += 1;
        }
    }
}

/// Runs the timed end on CPU `here` while a thread on CPU `there` answers.
fn between(task: &Task, here: usize, there: usize, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let line = CacheLine(AtomicU64::new(0));
    // A thread starts on the CPU of the thread that makes it, and stays there.
    pin_this_thread(there)?;
    std::thread::scope(|scope| {
        let partner = std::thread::Builder::new().spawn_scoped(scope, || {
            let _watched = PinnedThread::of(affinity::CALLER, there);
            answer(&line)
        });
        let partner = partner.context("cannot start a thread")?;
        let mut asking = Asking { line: &line, last: READY, failed: false };
        let windows = pin_this_thread(here).map_err(anyhow::Error::from).and_then(|()| {
            asking.failed = !asking.sees(READY);
            channel.ready()?;
            let round_trips = |n| (0..n).for_each(|_| asking.round_trip());
            Ok(batch::batches(task, round_trips, |n| (0..n).for_each(|_| black_box(()))))
        });
        line.0.store(STOP, Release);
        let (ended_on, answered) = partner.join().ok().context("the answering thread failed")?;
        let windows = windows?;
        ensure!(!asking.failed, "CPU {there} did not answer in {} s", PATIENCE_NS / 1_000_000_000);
        // What somebody else moved marks the round, which is then not used.
        let moved = was_moved();
        ensure!(moved || affinity::current() == Some(here), "the asking thread left CPU {here}");
        ensure!(moved || ended_on == Some(there), "the answering thread left CPU {there}");
        let asked = (asking.last - READY) / 2;
        ensure!(asked == answered, "{asked} asked, {answered} answered");
        Ok(windows)
    })
}

fn pair(point: &Point) -> Option<(usize, usize)> {
    pairs::parse(point.text(CPUS)?)
}

pub static CORE_TO_CORE: SystemOperation = SystemOperation {
    id: ID,
    title: "cache line from core to core",
    method: "Two pinned threads answer each other through one cache line that both watch, in batches of about \
             10 us. The cost is half the round trip, 5 % quantile over batches, less the loop.",
    source: "Hackenberg et al., MICRO 2009; nviennot/core-to-core-latency",
    roles: &["asker"],
    settled: false,
    axes,
    available,
    figures: Figures::of_batches,
    measure: Some(measure),
    row: Some(row),
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        CPUS.checked_text(pairs::check)
            .flag("cpus", "CPUs")
            .help("the pair of CPUs between which the line travels")
            .default_on(Of(pairs::by_default))
            .quick_on(Of(pairs::quick)),
    ]
}

fn available(point: &Point) -> Result<(), Unavailable> {
    let topology = Topology::read();
    let allowed = |id: usize| topology.cpus().iter().any(|cpu| cpu.id == id);
    let missing = pair(point).and_then(|(a, b)| [a, b].into_iter().find(|cpu| !allowed(*cpu)));
    match missing {
        None => Ok(()),
        Some(cpu) => Err(Unavailable {
            reason: format!("CPU {cpu} does not exist or is not allowed to this process"),
            remedy: format!("choose from CPUs {}, or allow more (taskset, cpuset)", topology.show()),
        }),
    }
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let (here, there) =
        pair(round.point()).with_context(|| format!("no pair of CPUs at {}", round.point()))?;
    let mut windows = between(round.task, here, there, round.channel)?;
    windows.iter_mut().for_each(|window| window.of_each(HOPS));
    round.fact("cpus", format!("{here} and {there}"));
    Ok(windows)
}

fn row(point: &Point) -> Option<Row> {
    let (a, b) = pair(point)?;
    let label = format!("CPU {a} to CPU {b}");
    // One line of the matrix is enough for the table; results.csv has all.
    Some(if a == 0 { Row::listed(label) } else { Row::drawn(label) })
}

fn predict(_: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    inputs.row("shared_cache_load", primitive::cost_of(memory_latency::levels::BEYOND));
    let trips = "through the shared cache: the writer takes the line for itself, the reader fetches it back \
                 (MESI; Hackenberg et al. 2009)";
    inputs.constant("trips", 2.0, Unit::Count, trips);
    Some(inputs.hardware("trips * shared_cache_load"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        let timing = crate::probe::Timing { warmup_ns: 1000, window_ns: 100_000, windows: 2 };
        Task { role: "asker".into(), ..Task::of(Point::default(), timing) }
    }

    #[test]
    fn a_stage_that_closes_ends_both_threads() {
        struct Closed;
        impl Channel for Closed {
            fn offer(&mut self, _: serde_json::Value) -> Result<()> {
                Ok(())
            }
            fn ready(&mut self) -> Result<()> {
                anyhow::bail!("closed")
            }
        }
        let cpu = affinity::allowed().unwrap()[0];
        let error = std::thread::spawn(move || between(&task(), cpu, cpu, &mut Closed)).join().unwrap();
        assert_eq!(error.unwrap_err().to_string(), "closed");
    }
}
