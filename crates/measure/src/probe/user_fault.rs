//! `user_fault`: a page fault that another thread of the process answers, as those that move virtual machines do.
//!
//! Both threads are on one CPU, so that the way there and back is two switches. Sources: userfaultfd(2),
//! ioctl_userfaultfd(2).

use super::prediction::{CostAccount, Inputs};
use super::row::Row;
use super::{
    Channel, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, Window, batch,
    primitive,
};
use anyhow::{Context, Result, ensure};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::mapping::page_bytes;
use syscost_sys::user_fault::{self, FaultServer, ServedMemory};

const ANSWER: NameAxis = NameAxis::new("answer");
const COPY: &str = "copy";
/// Touched one after another; the last page is for the end.
const PAGES: usize = 256;
/// What a copied page holds.
const CONTENT: u8 = 9;

pub struct UserFault;

fn content(point: &Point) -> Option<Vec<u8>> {
    (point.text(ANSWER) == Some(COPY)).then(|| vec![CONTENT; page_bytes()])
}

fn refused(error: &std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("this process may not answer its own page faults ({error})"),
        remedy: "a kernel with CONFIG_USERFAULTFD, and a sandbox that allows userfaultfd(2)".into(),
    }
}

/// Answers until it is told to end and one more fault came; how many.
fn answer_all(server: FaultServer, page: Option<&[u8]>, end: &AtomicBool) -> std::io::Result<u64> {
    let mut answered = 0;
    loop {
        let last = end.load(Acquire);
        server.answer(page)?;
        answered += 1;
        // It may have been told while it waited for this one.
        if last || end.load(Acquire) {
            return Ok(answered);
        }
    }
}

/// Times the first touch of each page; all have to hold what the other thread answered.
fn touches(task: &Task, memory: &mut ServedMemory, expected: u8) -> Result<(Vec<Window>, u64)> {
    let (mut next, mut touched) = (0, 0);
    let windows = batch::operations(task, batch::clock_overhead_ns(), || {
        if next == PAGES - 1 {
            memory.discard()?;
            next = 0;
        }
        let start = monotonic_ns();
        let found = memory.read(next);
        let ns = monotonic_ns() - start;
        ensure!(found == expected, "a page holds {found}, not {expected}");
        next += 1;
        touched += 1;
        Ok(ns)
    })?;
    Ok((windows, touched))
}

impl Probe for UserFault {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "user_fault",
            title: "userfaultfd",
            method: "The time of the first touch of a page whose fault another thread on the same CPU reads from userfaultfd(2) and \
                     answers, with a copied page or the page of zeroes. Each page has to hold that, and each touch has to be one answer.",
            source: "userfaultfd(2), ioctl_userfaultfd(2)",
            roles: &["toucher"],
            operation: Some(&UserFault),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![ANSWER.names(|| vec![COPY, "zero_page"]).help("what the other thread puts there")]
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        Timing { window_ns: base.window_ns * 2, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let content = content(&task.point);
        let expected = content.as_ref().map_or(0, |_| CONTENT);
        // The other thread starts on the CPU of this one, and stays there.
        let facts = batch::settle_on_one_cpu();
        let (mut memory, server) = user_fault::serve(PAGES).map_err(|error| refused(&error))?;
        let end = AtomicBool::new(false);
        channel.ready()?;
        let (page, told) = (content.as_deref(), &end);
        let windows = std::thread::scope(|scope| -> Result<Vec<Window>> {
            let answering =
                std::thread::Builder::new().spawn_scoped(scope, move || answer_all(server, page, told));
            let answering = answering.context("cannot start a thread")?;
            let timed = touches(task, &mut memory, expected);
            // Also where that failed: the other thread ends with the next fault.
            end.store(true, Release);
            memory.read(PAGES - 1);
            let answered = answering.join().ok().context("the answering thread failed")?;
            let (windows, touched) = timed?;
            let answered = answered.context("a fault could not be answered")?;
            // The last fault may come when nobody answers any more: the kernel then puts a page there.
            let all = touched..=touched + 1;
            ensure!(
                all.contains(&answered),
                "{touched} first touches were {answered} faults that were answered"
            );
            Ok(windows)
        })?;
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for UserFault {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let what = if point.text(ANSWER)? == COPY { "a copied page" } else { "the page of zeroes" };
        Some(Row::listed(format!("fault answered with {what}")))
    }

    /// The fault and its page, and the way to the other thread and back: woken, switched to, its two calls.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let copied = point.text(ANSWER)? == COPY;
        let mapped = inputs.row("zero_page", primitive::cost_of("zero_page"));
        let fresh =
            if copied { inputs.row("fresh_page", primitive::cost_of("fresh_page")) } else { Some(0.0) };
        let wake = inputs.row("wake_up", primitive::cost_of("wake_up"));
        let switch = inputs.row("thread_switch", primitive::fastest_of("thread_switch"));
        let entry = inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
        let ways = inputs.constant("ways", 2.0, Unit::Count, "there and back; as many calls: read and ioctl");
        let way = wake.zip(switch).zip(entry).map(|((wake, switch), entry)| wake + switch + entry);
        let software = mapped.zip(fresh).zip(way).map(|((mapped, fresh), way)| mapped + fresh + ways * way);
        let formula = if copied {
            "zero_page + fresh_page + ways * (wake_up + thread_switch + kernel_entry)"
        } else {
            "zero_page + ways * (wake_up + thread_switch + kernel_entry)"
        };
        Some(inputs.sum(formula, Some(0.0), software))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use syscost_core::axis::Value;

    fn at(answer: &str) -> Point {
        let mut point = Point::default();
        point.set(ANSWER.id, Value::text(answer));
        point
    }

    #[test]
    fn a_copied_page_costs_the_page_beside_the_way() {
        let predicted = |answer: &str| {
            let known = Costs::of(&[("primitive", 100.0)]);
            UserFault.predict(&at(answer), Inputs::new(&known)).unwrap().predicted.unwrap()
        };
        assert_eq!((predicted(COPY), predicted("zero_page")), (800.0, 700.0));
        assert_eq!((content(&at(COPY)).unwrap()[0], content(&at("zero_page"))), (CONTENT, None));
    }
}
