//! `timer`: what reading each clock costs, and the loop that everything else is timed in.

use super::guide::{FOG_SKYLAKE, Guide};
use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::{Channel, Figures, OsOperation, Probe, ProbeAbout, RoleReport, Task, batch, system_call};
use std::hint::black_box;
use syscost_core::axis::DefaultValues::Of;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_sys::clock::gettime;
use syscost_sys::timer as clocks;

const CLOCK: NameAxis = NameAxis::new("clock");

pub struct Timer;

/// One way to read the time: a body that reads it N times.
struct TimedClock {
    id: &'static str,
    label: &'static str,
    /// The CSE 221 table's row for it.
    published: bool,
    /// Reads it this often; `None`: not on this processor.
    run: Option<fn(u64)>,
    theory: Theory,
}

/// What a reading should cost.
#[derive(Clone, Copy)]
enum Theory {
    /// So many core cycles on any processor, because.
    Steps(f64, &'static str),
    /// Core cycles, by a document of some processors.
    Guided(&'static [(Guide, f64)]),
    /// This clock behind a fence.
    Fenced(&'static str),
    /// The vDSO: the clock that it reads, if any, and its instructions.
    Vdso {
        reads: Option<&'static str>,
        instructions: f64,
    },
    SystemCall,
    Unpredicted,
}

fn repeat<T>(n: u64, read: impl Fn() -> T) {
    for _ in 0..n {
        black_box(read());
    }
}

impl TimedClock {
    const fn of(id: &'static str, label: &'static str, run: Option<fn(u64)>, theory: Theory) -> TimedClock {
        TimedClock { id, label, published: false, run, theory }
    }

    const fn published(self) -> TimedClock {
        TimedClock { published: true, ..self }
    }
}

const RDTSC: Theory = Theory::Guided(&[(FOG_SKYLAKE, 25.0)]);
const LFENCE: &[(Guide, f64)] = &[(FOG_SKYLAKE, 4.0)];

const EMPTY: Option<fn(u64)> = Some(|n| repeat(n, || ()));
const GETTIME: Option<fn(u64)> = Some(|n| repeat(n, || gettime(libc::CLOCK_MONOTONIC)));
const GETTIME_COARSE: Option<fn(u64)> = Some(|n| repeat(n, || gettime(libc::CLOCK_MONOTONIC_COARSE)));
const BY_CALL: Option<fn(u64)> = Some(|n| repeat(n, syscost_sys::clock::monotonic_ns_by_system_call));

const VDSO: Theory = Theory::Vdso { reads: Some("lfence_rdtsc"), instructions: 30.0 };
const VDSO_COARSE: Theory = Theory::Vdso { reads: None, instructions: 16.0 };

const CLOCKS: &[TimedClock] = &[
    TimedClock::of(
        "loop",
        "empty loop, one iteration",
        EMPTY,
        Theory::Steps(1.0, "a predicted, taken branch a cycle"),
    ),
    TimedClock::of("rdtsc", "rdtsc", clocks::RDTSC, RDTSC).published(),
    TimedClock::of("rdtscp", "rdtscp", clocks::RDTSCP, Theory::Fenced("rdtsc")),
    TimedClock::of("lfence_rdtsc", "lfence; rdtsc", clocks::LFENCE_RDTSC, Theory::Fenced("rdtsc")),
    TimedClock::of("rdtscp_lfence", "rdtscp; lfence", clocks::RDTSCP_LFENCE, Theory::Fenced("rdtscp")),
    TimedClock::of("cntvct", "cntvct_el0", clocks::CNTVCT, Theory::Unpredicted).published(),
    TimedClock::of("isb_cntvct", "isb; cntvct_el0", clocks::ISB_CNTVCT, Theory::Unpredicted),
    TimedClock::of("clock_gettime", "clock_gettime(MONOTONIC)", GETTIME, VDSO),
    TimedClock::of("clock_gettime_coarse", "clock_gettime(MONOTONIC_COARSE)", GETTIME_COARSE, VDSO_COARSE),
    TimedClock::of("clock_gettime_syscall", "clock_gettime by system call", BY_CALL, Theory::SystemCall),
];

fn find(point: &Point) -> Option<&'static TimedClock> {
    CLOCKS.iter().find(|c| Some(c.id) == point.text(CLOCK))
}

fn here() -> Vec<Value> {
    CLOCKS.iter().filter(|c| c.run.is_some()).map(|c| Value::text(c.id)).collect()
}

/// The row of one clock, as an input of other rows' predictions.
pub fn reading(clock: &'static str) -> RowRef {
    RowRef { probe: "timer", coordinates: vec![(CLOCK.id, Value::text(clock))], metric: "cost" }
}

impl Probe for Timer {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "timer",
            title: "reading the time",
            method: "Batches of about 10 us read the clock in a loop; the cost is the 5 % quantile over batches, less \
                     the same loop without the reading. The loop itself is a row of its own, with nothing subtracted.",
            source: "Paoloni, How to benchmark code execution times (2010); vdso(7); Intel SDM vol. 3, 18.17",
            roles: &["caller"],
            operation: Some(&Timer),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            CLOCK
                .names(|| CLOCKS.iter().map(|c| c.id).collect())
                .help("how the time is read")
                .default_on(Of(here)),
        ]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        if find(point).is_some_and(|c| c.run.is_some()) {
            return Ok(());
        }
        Err(Unavailable {
            reason: format!("this is {}, which has no such instruction", std::env::consts::ARCH),
            remedy: "none: syscost list names the clocks of this processor".into(),
        })
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        let clock = find(&task.point).ok_or_else(|| anyhow::anyhow!("no clock at {}", task.point))?;
        let run = clock.run.ok_or_else(|| anyhow::anyhow!("{} is not on this processor", clock.id))?;
        let facts = batch::settle_on_one_cpu();
        channel.ready()?;
        // The loop is what is subtracted elsewhere: here only the batch's own clock reading is.
        let empty = if clock.id == "loop" { |_| () } else { |n| repeat(n, || ()) };
        Ok(RoleReport { windows: batch::batches(task, run, empty), facts, ..RoleReport::default() })
    }
}

impl OsOperation for Timer {
    fn row(&self, point: &Point) -> Option<Row> {
        let clock = find(point)?;
        let row = Row::listed(clock.label);
        let row = if clock.id == "clock_gettime" { row.told_as("clock_gettime") } else { row };
        Some(if clock.published { row.as_published("timer_overhead", "") } else { row })
    }

    fn predict(&self, point: &Point, inputs: Inputs<'_>) -> Option<CostAccount> {
        match find(point)?.theory {
            Theory::Steps(cycles, why) => {
                Some(in_cycles(inputs, |inputs| Some(inputs.constant("cycles", cycles, Unit::Count, why))))
            }
            Theory::Guided(figures) => {
                Some(in_cycles(inputs, |inputs| inputs.guided("cycles", Unit::Count, figures)))
            }
            Theory::Fenced(of) => Some(fenced(inputs, of)),
            Theory::Vdso { reads, instructions } => Some(by_vdso(inputs, reads, instructions)),
            Theory::SystemCall => Some(by_system_call(inputs)),
            Theory::Unpredicted => None,
        }
    }
}

/// So many core cycles.
fn in_cycles(mut inputs: Inputs<'_>, cycles: impl FnOnce(&mut Inputs<'_>) -> Option<f64>) -> CostAccount {
    let hertz = inputs.fact("core_hertz", "core_hertz", Unit::Hertz);
    let cycles = cycles(&mut inputs);
    let base = hertz.zip(cycles).map(|(hz, cycles)| cycles * 1e9 / hz);
    inputs.sum("cycles / core_hertz", base, Some(0.0))
}

/// Another clock, and a fence that waits for what came before it.
fn fenced(mut inputs: Inputs<'_>, of: &'static str) -> CostAccount {
    let hertz = inputs.fact("core_hertz", "core_hertz", Unit::Hertz);
    let plain = inputs.row("plain", reading(of));
    let fence = inputs.guided("fence", Unit::Count, LFENCE);
    let base = plain.zip(fence).zip(hertz).map(|((ns, fence), hz)| ns + fence * 1e9 / hz);
    inputs.sum("plain + fence / core_hertz", base, Some(0.0))
}

/// The vDSO's code around a fenced reading of the counter.
fn by_vdso(mut inputs: Inputs<'_>, reads: Option<&'static str>, instructions: f64) -> CostAccount {
    let hertz = inputs.fact("core_hertz", "core_hertz", Unit::Hertz);
    let source = "instructions of lib/vdso/gettimeofday.c on this path, two a cycle";
    let instructions = inputs.constant("instructions", instructions, Unit::Count, source);
    let counter = match reads {
        Some(clock) => inputs.row("counter", reading(clock)),
        None => Some(0.0),
    };
    let formula = if reads.is_some() {
        "counter + instructions / 2 / core_hertz"
    } else {
        "instructions / 2 / core_hertz"
    };
    inputs.sum(formula, counter, hertz.map(|hz| instructions / 2.0 * 1e9 / hz))
}

/// The bare trap and, in the kernel, the same reading of the counter.
fn by_system_call(mut inputs: Inputs<'_>) -> CostAccount {
    let counter = inputs.row("counter", reading("lfence_rdtsc"));
    let trap = inputs.row("trap", system_call::cost_of("getppid"));
    inputs.sum("counter + trap", counter, trap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;

    #[test]
    fn cycles_of_one_processor_predict_no_other() {
        let predicted = |clock: &'static str| {
            let mut point = Point::default();
            point.set(CLOCK.id, Value::text(clock));
            let costs = Costs::of(&[("timer", 7.0)]);
            Timer.predict(&point, Inputs::new(&costs)).and_then(|account| account.predicted)
        };
        assert_eq!(["rdtsc", "rdtscp", "lfence_rdtsc"].map(predicted), [None; 3]);
        assert_eq!(["loop", "clock_gettime"].map(predicted), [Some(1.0), Some(22.0)]);
    }
}
