//! `clock_read`: what reading each clock of the kernel costs, beside CLOCK_MONOTONIC, which `timer` reads.
//!
//! Sources: clock_gettime(2), vdso(7).

use super::prediction::{CostAccount, Inputs};
use super::row::Row;
use super::{
    Channel, Figures, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, batch, primitive,
    timer,
};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_sys::clock::gettime;

const KERNEL_CLOCK: NameAxis = NameAxis::new("kernel_clock");
/// The wall clock may be set back while it is read: by less than this.
const STEP_NS: u64 = 3_600_000_000_000;

pub struct ClockRead;

struct KernelClock {
    id: &'static str,
    label: &'static str,
    number: libc::clockid_t,
    /// Of the CPU time that was used, which only the run queue knows; the others are read by the vDSO.
    of_cpu_time: bool,
}

const CLOCKS: &[KernelClock] = &[
    KernelClock {
        id: "realtime",
        label: "clock_gettime(REALTIME)",
        number: libc::CLOCK_REALTIME,
        of_cpu_time: false,
    },
    KernelClock {
        id: "monotonic_raw",
        label: "clock_gettime(MONOTONIC_RAW)",
        number: libc::CLOCK_MONOTONIC_RAW,
        of_cpu_time: false,
    },
    KernelClock {
        id: "boottime",
        label: "clock_gettime(BOOTTIME)",
        number: libc::CLOCK_BOOTTIME,
        of_cpu_time: false,
    },
    KernelClock {
        id: "thread_cpu_time",
        label: "clock_gettime(THREAD_CPUTIME_ID)",
        number: libc::CLOCK_THREAD_CPUTIME_ID,
        of_cpu_time: true,
    },
    KernelClock {
        id: "process_cpu_time",
        label: "clock_gettime(PROCESS_CPUTIME_ID)",
        number: libc::CLOCK_PROCESS_CPUTIME_ID,
        of_cpu_time: true,
    },
];

fn find(point: &Point) -> Option<&'static KernelClock> {
    CLOCKS.iter().find(|clock| Some(clock.id) == point.text(KERNEL_CLOCK))
}

/// Readings in a row, of which none goes back.
struct RunningClock {
    clock: &'static KernelClock,
    first_ns: u64,
    last_ns: u64,
    wrong: u64,
}

impl RunningClock {
    fn of(clock: &'static KernelClock) -> RunningClock {
        let now = gettime(clock.number);
        RunningClock { clock, first_ns: now, last_ns: now, wrong: 0 }
    }

    #[inline]
    fn read(&mut self) {
        let now = gettime(self.clock.number);
        self.take(now);
    }

    #[inline]
    fn take(&mut self, now: u64) {
        let may_step_ns = if self.clock.number == libc::CLOCK_REALTIME { STEP_NS } else { 0 };
        self.wrong += u64::from(now + may_step_ns < self.last_ns);
        self.last_ns = now;
    }

    fn check(&self) -> Result<()> {
        ensure!(self.wrong == 0, "{} went back {} times", self.clock.label, self.wrong);
        ensure!(self.last_ns != self.first_ns, "{} stands still", self.clock.label);
        Ok(())
    }
}

impl Probe for ClockRead {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "clock_read",
            title: "reading a clock of the kernel",
            method: "Batches of about 10 us read the clock by the C library's clock_gettime on one CPU; no reading may go back, and \
                     the clock has to move. The cost is the 5 % quantile over batches, less the same loop without the reading.",
            source: "clock_gettime(2), vdso(7)",
            roles: &["reader"],
            operation: Some(&ClockRead),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            KERNEL_CLOCK
                .names(|| CLOCKS.iter().map(|clock| clock.id).collect())
                .flag("kernel-clock", "clock")
                .help("which clock is read"),
        ]
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let clock = find(&task.point).with_context(|| format!("no clock at {}", task.point))?;
        let facts = batch::settle_on_one_cpu();
        channel.ready()?;
        let mut running = RunningClock::of(clock);
        let body = |n| (0..n).for_each(|_| running.read());
        let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
        running.check()?;
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for ClockRead {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        find(point).map(|clock| Row::listed(clock.label))
    }

    /// By the vDSO as the monotonic clock; time that was used is brought up to date as where a thread yields.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let clock = find(point)?;
        if clock.of_cpu_time {
            let queue = inputs.row("run_queue", primitive::fastest_of("run_queue"));
            return Some(inputs.sum("run_queue", Some(0.0), queue));
        }
        let same_way = inputs.row("monotonic", timer::reading("clock_gettime"));
        Some(inputs.sum("monotonic", Some(0.0), same_way))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use syscost_core::axis::Value;

    #[test]
    fn every_clock_runs_and_one_that_goes_back_or_stands_still_is_an_error() {
        for clock in CLOCKS {
            let mut running = RunningClock::of(clock);
            while running.last_ns == running.first_ns {
                running.read();
            }
            running.check().unwrap();
            running.take(running.last_ns);
            running.check().unwrap();
            running.take(running.last_ns.saturating_sub(2 * STEP_NS));
            assert!(running.check().is_err(), "{}", clock.id);
        }
        let standing = RunningClock { wrong: 0, clock: &CLOCKS[1], first_ns: 5, last_ns: 5 };
        assert!(standing.check().is_err());
    }

    #[test]
    fn a_clock_costs_what_another_one_that_goes_the_same_way_does() {
        let mut point = Point::default();
        point.set(KERNEL_CLOCK.id, Value::text("boottime"));
        let account = ClockRead.predict(&point, Inputs::new(&Costs::of(&[("timer", 21.0)]))).unwrap();
        assert_eq!(account.predicted, Some(21.0));
        point.set(KERNEL_CLOCK.id, Value::text("thread_cpu_time"));
        let account = ClockRead.predict(&point, Inputs::new(&Costs::of(&[("primitive", 400.0)]))).unwrap();
        assert_eq!(account.predicted, Some(400.0));
    }
}
