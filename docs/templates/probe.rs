//! `yield_cpu`: what sched_yield(2) costs when nothing else wants the CPU.
//!
//! Template of a probe. Why each method is there:
//! - `about()`: `list`, help, reports and docs derive from it; it names the extensions that this probe has.
//! - `axes()`: the dimensions of its cases. Each becomes a flag and a CSV column.
//! - `figures()`: what is recorded, what is computed from it, and what decides when there are enough rounds.
//! - `play()`: the operation, in a fresh process. An error that is an `Unavailable` skips the case.
//! - `available()`, `needs()`, `timing()`, `rights()`: what a case asks of the machine. Default: nothing.
//! - `merge()`: joins the samples of several roles. Default: the samples of the only one.
//! - `OsOperation::row()` and `predict()`: a row of `syscost run os`, and what it should cost.

use super::prediction::{CostAccount, Inputs};
use super::row::Row;
use super::{Channel, Figures, OsOperation, Probe, ProbeAbout, RoleReport, Task, batch, system_call};
use std::hint::black_box;
use syscost_core::axis::{Axis, Point};

pub struct YieldCpu;

impl Probe for YieldCpu {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "yield_cpu",
            title: "giving up the CPU to nobody",
            method: "Batches of sched_yield(2) on a pinned thread; the cost is the 5 % quantile over \
                     batches, less the same loop without the call.",
            source: "sched_yield(2)",
            roles: &["caller"],
            // What makes it a row of `syscost run os`.
            operation: Some(&YieldCpu),
            ..ProbeAbout::DEFAULTS
        }
    }

    // Dimensions of its cases; each would become a flag and a CSV column.
    fn axes(&self) -> Vec<Axis> {
        Vec::new()
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    // Runs in a fresh process. The timing loop belongs to the harness: it is handed the operation
    // N times, and the same loop without it.
    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        let facts = batch::settle_on_one_cpu();
        channel.ready()?;
        let body = |n| (0..n).for_each(|_| std::thread::yield_now());
        let empty = |n| (0..n).for_each(|i| _ = black_box(i));
        Ok(RoleReport { windows: batch::batches(task, body, empty), facts, ..RoleReport::default() })
    }
}

impl OsOperation for YieldCpu {
    fn row(&self, _: &Point) -> Option<Row> {
        Some(Row::listed("sched_yield"))
    }

    // Written down before the first sample: other rows, facts and constants, each by name.
    fn predict(&self, _: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let trap = inputs.row("trap", system_call::cost_of("getppid"));
        Some(inputs.sum("trap", Some(0.0), trap))
    }
}
