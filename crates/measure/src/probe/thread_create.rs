//! `thread_create`: making a thread and joining it, by the C library's pthread calls.
//!
//! The thread returns at once. Its stack's size is an axis, because the C library maps a new stack
//! unless it kept one of that size; no thread library of a language is in between.
//! Sources: pthread_create(3), pthread_attr_setstacksize(3); the CSE 221 measurement project.

use super::operation::{PlayedRound, SystemOperation, whole_pages};
use super::prediction::{Inputs, PredictedCost};
use super::row::Row;
use super::{Window, primitive, trap};
use anyhow::{Context, Result, ensure};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point};
use syscost_core::units::Unit;
use syscost_host::clock::monotonic_ns;
use syscost_sys::pthread::{self, Attributes};

const STACK_BYTES: IntAxis = IntAxis::new("stack_bytes");

/// What a thread gets on Linux unless it asks otherwise (RLIMIT_STACK of a login).
const USUAL_STACK_BYTES: u64 = 8 << 20;
/// Enough for any thread on any architecture.
const SMALL_STACK_BYTES: u64 = 128 << 10;

pub static THREAD_CREATE: SystemOperation = SystemOperation {
    id: "thread_create",
    title: "thread creation",
    method: "The time from before pthread_create until pthread_join returns, one thread at a time, maker and \
             thread on one CPU. The thread adds one to a counter and returns; the counter is checked.",
    source: "pthread_create(3), pthread_join(3); CSE 221 measurement project",
    roles: &["maker"],
    axes,
    available: |point| whole_pages(point, STACK_BYTES, "--stack"),
    timing: Some(|_, base| base.stretched(3)),
    measure: Some(measure),
    row: Some(row),
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        STACK_BYTES
            .bytes(SMALL_STACK_BYTES, 1 << 30)
            .flag("stack", "stack")
            .help("size of the thread's stack")
            .default_on(Ints(&[SMALL_STACK_BYTES, USUAL_STACK_BYTES]))
            .quick_on(Ints(&[USUAL_STACK_BYTES])),
    ]
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let stack_bytes = round.point().int(STACK_BYTES).context("no size of stack")?;
    let attributes = Attributes::with_stack(stack_bytes as usize).context("the stack's size")?;
    let mut made = 0;
    round.operations(|| {
        let start = monotonic_ns();
        let counted = pthread::create_and_join(&attributes, made);
        let ns = monotonic_ns() - start;
        made += 1;
        ensure!(counted? == made, "the thread did not run");
        Ok(ns)
    })
}

fn row(point: &Point) -> Option<Row> {
    let stack_bytes = point.int(STACK_BYTES)?;
    let row =
        Row::listed(format!("pthread_create and join; stack of {}", Unit::Bytes.format(stack_bytes as f64)));
    let usual = stack_bytes == USUAL_STACK_BYTES;
    Some(if usual {
        row.as_published("thread_create", "pthread").told_as("a thread created and joined")
    } else {
        row
    })
}

/// The kernel's task without the C library, and the library's calls.
fn predict(_: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    inputs.row("task", primitive::cost_of("task"));
    inputs.row("trap", trap());
    let calls = "beside the task: mprotect or none, two rt_sigprocmask, set_robust_list, rseq, madvise: glibc's \
                 pthread_create and start_thread";
    inputs.constant("calls", 6.0, Unit::Count, calls);
    Some(inputs.software("task + calls * trap"))
}
