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

use super::batch::BatchRecorder;
use super::context_switch::ends::by_yielding;
use super::operation::{OperationRow, PlayedRound, SystemOperation};
use super::prediction::RowRef;
use super::{Needs, Timing, Window, memory_latency};
use anyhow::Result;
use memory_latency::levels;
use syscost_core::axis::{NameAxis, Point};
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_host::topology::Placement;

const PART: NameAxis = NameAxis::new("primitive");
const THREAD_SWITCH: &str = "thread_switch";
const PROCESS_SWITCH: &str = "process_switch";
const WAKE_OTHER_CORE: &str = "wake_other_core";
const WAKE_SENDER: &str = "wake_sender";

const fn part(
    id: &'static str,
    label: &'static str,
    stretch: u64,
    measure: fn(&mut PlayedRound<'_>) -> Result<Vec<Window>>,
) -> OperationRow {
    OperationRow { stretch, ..OperationRow::new(id, label, measure) }
}

/// Of a level of memory.
const fn load(id: &'static str, label: &'static str) -> OperationRow {
    part(id, label, 1, memory::load)
}

const PARTS: &[OperationRow] = &[
    OperationRow {
        told_as: Some("into the kernel and out"),
        ..part("kernel_entry", "a refused system call: into the kernel and out", 1, calls::kernel_entry)
    },
    part("run_queue", "sched_yield with nobody else to run", 1, calls::run_queue),
    part("cached_byte", "one byte of a cached file", 1, calls::cached_byte),
    part(THREAD_SWITCH, "switch of threads that yield, without a wake-up", 2, |round| {
        by_yielding(round, false)
    }),
    part(PROCESS_SWITCH, "switch of processes that yield, without a wake-up", 2, |round| {
        by_yielding(round, true)
    }),
    part("wake_up", "wake-up of one more thread on the same CPU, which does not run yet", 3, tasks::wake_up),
    part(WAKE_OTHER_CORE, "wake-up of a thread on another core, until it runs", 3, other_core::until_it_runs),
    part(WAKE_SENDER, "the same, until the waking thread goes on", 3, other_core::until_sender_goes_on),
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

/// In bytes; 0: it has none of a size that matters.
fn working_set(part: &str) -> Result<u64, Unavailable> {
    if part.starts_with("load_") { memory::bytes(part) } else { Ok(0) }
}

/// The row of a part, as an input of other rows' predictions.
pub fn cost_of(part: &'static str) -> RowRef {
    PRIMITIVE.cost_of(part)
}

/// The same where nothing disturbed it: of parts that give the CPU to whoever else wants it.
pub fn fastest_of(part: &'static str) -> RowRef {
    RowRef { metric: "fastest", ..cost_of(part) }
}

/// What `large` takes beyond `small` for each of the `units` that it is larger by; both return the time they took.
fn slope(
    round: &mut PlayedRound<'_>,
    units: u64,
    mut small: impl FnMut() -> Result<u64>,
    mut large: impl FnMut() -> Result<u64>,
) -> Result<Vec<Window>> {
    round.ready()?;
    let task = round.task;
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

pub static PRIMITIVE: SystemOperation = SystemOperation {
    id: "primitive",
    title: "primitive",
    method: "Each by itself: calls in batches of about 10 us; switches and wake-ups between pinned threads, each checked; \
             what a page adds as the difference of two sizes that no row has; loads in sizes that no row has. Predictions of other rows are made of them.",
    source: "sched_yield(2), futex(2), clone(2), madvise(2), memfd_create(2)",
    roles: &["player"],
    placement: |point| match point.text(PART)? {
        THREAD_SWITCH | PROCESS_SWITCH => Some(Placement::Same),
        WAKE_OTHER_CORE | WAKE_SENDER => Some(Placement::Different),
        _ => None,
    },
    variants: (PART, PARTS),
    axes: || vec![PART.names(|| PRIMITIVE.names()).help("which part of the kernel's work")],
    available: |point| point.text(PART).map_or(Ok(0), working_set).map(|_| ()),
    needs: |point| Needs::memory(point.text(PART).and_then(|part| working_set(part).ok()).unwrap_or(0)),
    timing: Some(timing),
    ..SystemOperation::DEFAULTS
};

fn timing(point: &Point, base: Timing) -> Timing {
    match point.text(PART).map(working_set) {
        Some(Ok(bytes)) if bytes > 0 => memory_latency::timing_of(bytes, base),
        _ => base.stretched(PRIMITIVE.variant(point).map_or(1, |part| part.stretch)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Task;

    #[test]
    fn a_slope_is_the_difference_for_each_unit() {
        let task = Task::of(Point::default(), Timing { warmup_ns: 0, window_ns: 0, windows: 1 });
        static SLOPE: SystemOperation = SystemOperation {
            measure: Some(|round| slope(round, 10, || Ok(50), || Ok(250))),
            ..SystemOperation::DEFAULTS
        };
        let report = SLOPE.play_alone(task).unwrap();
        assert_eq!(report.windows[0].quantities["median_ns"], Some(20.0));
    }
}
