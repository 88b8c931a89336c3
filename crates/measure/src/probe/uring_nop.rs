//! `uring_nop`: a request to io_uring that does nothing, entered by a call or polled by a thread of the kernel.
//!
//! Sources: io_uring_enter(2), io_uring_setup(2), IORING_SETUP_SQPOLL.

use super::prediction::{CostAccount, Inputs};
use super::rights::{RINGS, Rights};
use super::row::Row;
use super::{
    Channel, Figures, OS_MORE_SUITE, OsOperation, OtherWay, Probe, ProbeAbout, RoleReport, Task, batch,
    primitive,
};
use anyhow::{Context, Result, bail};
use std::hint::black_box;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::topology::{Placement, Topology};
use syscost_host::{Unavailable, uring};
use syscost_sys::uring::nop::Nops;

const SUBMISSION: NameAxis = NameAxis::new("submission");
const AT_ONCE: IntAxis = IntAxis::new("requests_at_once");
const POLLED: &str = "sqpoll";

pub struct UringNop;

/// A CPU for this thread and another for the kernel's: on one they would wait for each other's time slices.
fn poller_cpu() -> Result<usize, Unavailable> {
    let pins = Topology::read().place(&Placement::Different, 1)?;
    pins.first().and_then(|pin| pin.receiver).ok_or_else(|| Unavailable {
        reason: "a polling thread of the kernel needs a CPU of its own".into(),
        remedy: "allow two CPUs (taskset, cpuset)".into(),
    })
}

fn is_polled(point: &Point) -> bool {
    point.text(SUBMISSION) == Some(POLLED)
}

fn refused(error: &std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("the kernel polls no ring of this process ({error})"),
        remedy: "Linux 5.11 or newer; before, as root".into(),
    }
}

impl Probe for UringNop {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "uring_nop",
            title: "io_uring",
            method: "A pinned thread queues requests that do nothing and takes their completions, each by its number, in batches of \
                     about 10 us; a call of io_uring_enter(2) submits them, or a thread of the kernel on another CPU sees them. The \
                     cost is that of one request, 5 % quantile over batches, less the loop.",
            source: "io_uring_enter(2), io_uring_setup(2)",
            roles: &["submitter"],
            operation: Some(&UringNop),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            SUBMISSION.names(|| vec!["enter", POLLED]).help("who hands requests to the kernel"),
            AT_ONCE
                .count(1, 4096)
                .flag("at-once", "requests")
                .help("requests submitted before their completions are taken")
                .default_on(Ints(&[1, 32])),
        ]
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        uring::available()?;
        if is_polled(point) { poller_cpu().map(|_| ()) } else { Ok(()) }
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(uring::needs_right().then_some(RINGS).into_iter().collect())
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let at_once = task.point.int(AT_ONCE).context("no number of requests")?;
        // Before this thread is on one CPU: the other would not be its to use.
        let poller = if is_polled(&task.point) { Some(poller_cpu()?) } else { None };
        let mut facts = batch::settle_on_one_cpu();
        let mut nops = match poller {
            Some(cpu) => Nops::polled(at_once as u32, cpu as u32).map_err(|error| refused(&error))?,
            None => Nops::entered(at_once as u32)?,
        };
        if let Some(cpu) = poller {
            facts.insert("poller_cpu".into(), cpu.to_string());
        }
        channel.ready()?;
        let mut failed = None;
        let body = |rounds| {
            for _ in 0..rounds {
                if let (Err(error), None) = (nops.round(), &failed) {
                    failed = Some(error);
                }
            }
        };
        let mut windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
        if let Some(error) = failed {
            bail!("a request was not done: {error}");
        }
        windows.iter_mut().for_each(|window| window.of_each(at_once as f64));
        let (enters, requests) = nops.enters_and_requests();
        facts.insert("requests_per_enter".into(), format!("{:.1}", requests as f64 / enters.max(1) as f64));
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for UringNop {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn other_ways(&self) -> &'static [OtherWay] {
        const OTHERS: &[OtherWay] = &[OtherWay {
            axis: SUBMISSION.id,
            from: "enter",
            to: POLLED,
            how: "a polling thread of the kernel",
        }];
        OTHERS
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let by = if is_polled(point) { "polled by the kernel" } else { "io_uring_enter" };
        let at_once = point.int(AT_ONCE)?;
        let many =
            if at_once == 1 { "one at a time".to_string() } else { format!("{at_once} at once, each") };
        Some(Row::listed(format!("nop, {by}, {many}")))
    }

    /// The call, shared by the requests that it takes, and what the kernel does for each. When a polling thread looks is
    /// in no primitive.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        if is_polled(point) {
            return None;
        }
        let entry = inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
        let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
        let at_once = point.int(AT_ONCE)? as f64;
        let at_once = inputs.constant("requests", at_once, Unit::Count, "submitted by one call");
        let per_cycle =
            inputs.constant("instructions_per_cycle", 2.0, Unit::Ratio, "cache-hot kernel code; 1 to 3");
        let each = inputs.constant(
            "each",
            200.0,
            Unit::Count,
            "instructions: a request taken from the cache, filled, checked, completed and read: io_uring/io_uring.c, estimated",
        );
        let call = inputs.constant(
            "call",
            400.0,
            Unit::Count,
            "instructions of io_uring_enter beside its entry: the ring's lock, a wait that finds all done: estimated",
        );
        let software = entry.zip(hertz).map(|(entry, hertz)| {
            let ns = |instructions: f64| instructions / per_cycle * 1e9 / hertz;
            (entry + ns(call)) / at_once + ns(each)
        });
        let formula = "(kernel_entry + call / instructions_per_cycle / frequency) / requests + each / instructions_per_cycle / frequency";
        Some(inputs.sum(formula, Some(0.0), software))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use syscost_core::axis::Value;

    #[test]
    fn requests_share_the_call() {
        let predicted = |submission: &str, at_once: u64| {
            let mut point = Point::default();
            point.set(SUBMISSION.id, Value::text(submission));
            point.set(AT_ONCE.id, Value::Int(at_once));
            UringNop
                .predict(&point, Inputs::new(&Costs::of(&[("primitive", 120.0)])))
                .and_then(|a| a.predicted)
        };
        assert_eq!((predicted("enter", 1), predicted("enter", 32)), (Some(420.0), Some(110.0)));
        assert_eq!(predicted(POLLED, 1), None);
    }
}
