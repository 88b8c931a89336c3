//! `yield_cpu`: what sched_yield(2) costs when nothing else wants the CPU.
//!
//! Template of an operation of one process: data over the skeleton `SystemOperation`. What each field is for:
//! - `id`, `title`, `method`, `source`: `list`, help, reports and docs derive from them.
//! - `axes`: the dimensions of its cases. Each becomes a flag and a CSV column. Default: none.
//! - `figures`: what is recorded, what is computed from it, and what decides when there are enough rounds.
//! - `measure`: the operation, in a fresh process. An error that is an `Unavailable` skips the case.
//! - `row`, `predict`: a row of `syscost run os`, and what it should cost.
//! - `variants`: rows that differ in one axis, instead of these three.
//! - `available`, `needs`, `timing`: what a case asks of the machine. Default: nothing.
//!
//! A probe of several processes implements `Probe` itself.

use super::operation::SystemOperation;
use super::row::Row;
use super::{Figures, system_call};

pub static YIELD_CPU: SystemOperation = SystemOperation {
    id: "yield_cpu",
    title: "giving up the CPU to nobody",
    method: "Batches of sched_yield(2) on a pinned thread; the cost is the 5 % quantile over \
             batches, less the same loop without the call.",
    source: "sched_yield(2)",
    figures: Figures::of_batches,
    // The timing loop belongs to the harness: it is handed the operation, which says whether it did its work.
    measure: Some(|round| {
        round.checked("the CPU was not given up", || {
            std::thread::yield_now();
            true
        })
    }),
    row: Some(|_| Some(Row::listed("sched_yield"))),
    // Written down before the first sample: other rows, facts and constants, each by name.
    predict: Some(|_, mut inputs| {
        inputs.row("trap", system_call::cost_of("getppid"));
        Some(inputs.software("trap"))
    }),
    ..SystemOperation::DEFAULTS
};
