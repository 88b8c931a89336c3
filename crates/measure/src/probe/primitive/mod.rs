//! `primitive`: the parts that predictions are made of, each measured by other means than the rows that it predicts.
//!
//! A run measures them first, because every row that asks for one comes after it. None is predicted: a part has no parts
//! here. What each stands for is said in its entry, and in the formula of the row that asks for it.

mod calls;
mod memory;
mod names;
mod other_core;
mod pages;
mod tasks;

use super::batch::{self, BatchRecorder};
use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::{
    Channel, Needs, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, Window, context_switch,
    memory_latency,
};
use anyhow::{Context, Result};
use memory_latency::levels;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_host::topology::{Pinned, Placement, Topology};

const ID: &str = "primitive";
const PART: NameAxis = NameAxis::new("primitive");

pub struct Primitive;

/// One part of the kernel's work.
struct PrimitivePart {
    id: &'static str,
    label: &'static str,
    two_cores: bool,
    /// Of a level of memory.
    is_load: bool,
    /// Windows are so many times longer where one operation takes long.
    stretch: u64,
    measure: MeasurePart,
}

type MeasurePart = fn(&Task, Pinned, &mut dyn Channel) -> Result<Vec<Window>>;

const fn part(id: &'static str, label: &'static str, stretch: u64, measure: MeasurePart) -> PrimitivePart {
    PrimitivePart { id, label, two_cores: false, is_load: false, stretch, measure }
}

const fn between_cores(id: &'static str, label: &'static str, measure: MeasurePart) -> PrimitivePart {
    PrimitivePart { two_cores: true, ..part(id, label, 3, measure) }
}

impl PrimitivePart {
    /// In bytes; 0: it has none of a size that matters.
    fn working_set(&self) -> Result<u64, Unavailable> {
        if self.is_load { memory::bytes(self.id) } else { Ok(0) }
    }
}

const fn load(id: &'static str, label: &'static str) -> PrimitivePart {
    PrimitivePart { is_load: true, ..part(id, label, 1, memory::load) }
}

const PARTS: &[PrimitivePart] = &[
    part("kernel_entry", "a refused system call: into the kernel and out", 1, calls::kernel_entry),
    part("run_queue", "sched_yield with nobody else to run", 1, calls::run_queue),
    part("cached_byte", "one byte of a cached file", 1, calls::cached_byte),
    part("thread_switch", "switch of threads that yield, without a wake-up", 2, |task, pins, channel| {
        context_switch::by_yielding(task, false, pins, channel)
    }),
    part("process_switch", "switch of processes that yield, without a wake-up", 2, |task, pins, channel| {
        context_switch::by_yielding(task, true, pins, channel)
    }),
    part("wake_up", "wake-up of one more thread on the same CPU, which does not run yet", 3, tasks::wake_up),
    between_cores(
        "wake_other_core",
        "wake-up of a thread on another core, until it runs",
        other_core::until_it_runs,
    ),
    between_cores(
        "wake_sender",
        "the same, until the waking thread goes on",
        other_core::until_sender_goes_on,
    ),
    part("task", "a task that shares everything, made and ended by bare clone", 2, tasks::task),
    part("fork_base", "fork, exit, wait of a process with no memory beside its own", 6, tasks::fork_base),
    part("fork_page", "what each touched page adds to a fork", 6, tasks::fork_page),
    part("zero_page", "fault that maps the page of zeroes", 1, pages::zero_page),
    part("fresh_page", "page that a file in memory grows by", 2, pages::fresh_page),
    part("freed_page", "page that a file in memory gives back", 4, pages::freed_page),
    part("root_name", "look-up of a path: the root", 1, names::root_name),
    part("each_name", "what each name of a path adds to it", 1, names::each_name),
    part("descriptor", "a descriptor with its file, made and closed", 1, names::descriptor),
    load(levels::IN_L1, "dependent load that the first cache serves"),
    load(levels::IN_HALF_L2, "dependent load in less than half of the second cache"),
    load(levels::IN_L2, "dependent load in more than half of the second cache"),
    load(levels::BEYOND, "dependent load that the last cache serves"),
    load(levels::EIGHTH, "dependent load in an eighth of the last cache"),
    load(levels::QUARTER, "dependent load in a quarter of the last cache"),
    load(levels::WHOLE, "dependent load in as much as the last cache"),
    load(levels::MEMORY, "dependent load that memory serves"),
];

fn find(point: &Point) -> Option<&'static PrimitivePart> {
    PARTS.iter().find(|part| Some(part.id) == point.text(PART))
}

/// The row of a part, as an input of other rows' predictions.
pub fn cost_of(part: &'static str) -> RowRef {
    RowRef { probe: ID, coordinates: vec![(PART.id, Value::text(part))], metric: "cost" }
}

/// The same where nothing disturbed it: of parts that give the CPU to whoever else wants it.
pub fn fastest_of(part: &'static str) -> RowRef {
    RowRef { metric: "fastest", ..cost_of(part) }
}

fn pins(part: &PrimitivePart) -> Result<Pinned, Unavailable> {
    let placement = if part.two_cores { Placement::Different } else { Placement::Same };
    let pins = Topology::read().place(&placement, 1)?;
    Ok(pins.first().copied().unwrap_or_default())
}

/// What `large` takes beyond `small` for each of the `units` that it is larger by; both return the time they took.
fn slope(
    task: &Task,
    units: u64,
    mut small: impl FnMut() -> Result<u64>,
    mut large: impl FnMut() -> Result<u64>,
) -> Result<Vec<Window>> {
    small()?;
    large()?;
    let mut windows = Vec::new();
    for _ in 0..task.timing.windows {
        let mut recorder = BatchRecorder::start();
        let start = monotonic_ns();
        while recorder.is_empty() || monotonic_ns() - start < task.timing.window_ns {
            let small = small()? as f64;
            recorder.record(large()? as f64 - small, units);
        }
        windows.push(recorder.window(task, units as f64, Some(0.0)));
    }
    Ok(windows)
}

/// How long this takes; it has to succeed.
fn timed<T>(work: impl FnOnce() -> std::io::Result<T>) -> Result<u64> {
    let start = monotonic_ns();
    let done = work();
    let ns = monotonic_ns() - start;
    done?;
    Ok(ns)
}

impl Probe for Primitive {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: ID,
            title: "primitive",
            method: "Each by itself: calls in batches of about 10 us; switches and wake-ups between pinned threads, each checked; \
                     what a page adds as the difference of two sizes that no row has; loads in sizes that no row has. Predictions of other rows are made of them.",
            source: "sched_yield(2), futex(2), clone(2), madvise(2), memfd_create(2), mprotect(2)",
            roles: &["player"],
            operation: Some(&Primitive),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            PART.names(|| PARTS.iter().map(|part| part.id).collect()).help("which part of the kernel's work"),
        ]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        let Some(part) = find(point) else {
            return Ok(());
        };
        part.working_set()?;
        pins(part).map(|_| ())
    }

    fn needs(&self, point: &Point) -> Needs {
        let bytes = find(point).and_then(|part| part.working_set().ok());
        Needs::memory(bytes.unwrap_or(0))
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        let Some(part) = find(point) else {
            return base;
        };
        if let (true, Ok(bytes)) = (part.is_load, part.working_set()) {
            return memory_latency::timing_of(bytes, base);
        }
        Timing { window_ns: base.window_ns * part.stretch, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let part = find(&task.point).with_context(|| format!("no primitive at {}", task.point))?;
        // Before this thread is on one CPU: the other would not be its to use.
        let pins = pins(part)?;
        let facts = batch::settle_on_one_cpu();
        Ok(RoleReport { windows: (part.measure)(task, pins, channel)?, facts, ..RoleReport::default() })
    }
}

impl OsOperation for Primitive {
    fn row(&self, point: &Point) -> Option<Row> {
        let part = find(point)?;
        let row = Row::listed(part.label);
        Some(if part.id == "kernel_entry" { row.told_as("into the kernel and out") } else { row })
    }

    fn predict(&self, _: &Point, _: Inputs<'_>) -> Option<CostAccount> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Begun;
    impl Channel for Begun {
        fn offer(&mut self, _: serde_json::Value) -> Result<()> {
            Ok(())
        }
        fn ready(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// Each on a thread of its own, because it is moved to a CPU.
    #[test]
    fn every_part_that_is_offered_does_its_work() {
        for part in PARTS {
            let mut point = Point::default();
            point.set(PART.id, Value::text(part.id));
            if Primitive.available(&point).is_err() {
                continue;
            }
            let task = Task::of(point, Timing { warmup_ns: 0, window_ns: 200_000, windows: 2 });
            let played = std::thread::spawn(move || Primitive.play(&task, &mut Begun)).join().unwrap();
            let report = played.unwrap_or_else(|why| panic!("{}: {why:#}", part.id));
            assert_eq!(report.windows.len(), 2, "{}", part.id);
        }
    }

    #[test]
    fn a_slope_is_the_difference_for_each_unit() {
        let task = Task::of(Point::default(), Timing { warmup_ns: 0, window_ns: 0, windows: 1 });
        let windows = slope(&task, 10, || Ok(50), || Ok(250)).unwrap();
        assert_eq!(windows[0].quantities["median_ns"], Some(20.0));
    }
}
