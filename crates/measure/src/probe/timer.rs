//! `timer`: what reading each clock costs, and the loop that everything else is timed in.

use super::guide::{FOG_SKYLAKE, Guide};
use super::operation::{PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::row::Row;
use super::{Figures, Window, batch, trap};
use anyhow::{Context, Result};
use std::hint::black_box;
use syscost_core::axis::DefaultValues::Of;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_sys::clock::gettime;
use syscost_sys::timer as clocks;

const CLOCK: NameAxis = NameAxis::new("clock");

/// One way to read the time: a body that reads it N times.
struct TimedClock {
    id: &'static str,
    label: &'static str,
    /// The CSE 221 table's row for it.
    published: bool,
    /// Reads it this often; `None`: not on this processor.
    run: Option<fn(u64)>,
    predict: fn(Inputs<'_>) -> Option<PredictedCost>,
}

fn repeat<T>(n: u64, read: impl Fn() -> T) {
    for _ in 0..n {
        black_box(read());
    }
}

impl TimedClock {
    const fn of(
        id: &'static str,
        label: &'static str,
        run: Option<fn(u64)>,
        predict: fn(Inputs<'_>) -> Option<PredictedCost>,
    ) -> TimedClock {
        TimedClock { id, label, published: false, run, predict }
    }

    const fn published(self) -> TimedClock {
        TimedClock { published: true, ..self }
    }
}

const LFENCE: &[(Guide, f64)] = &[(FOG_SKYLAKE, 4.0)];

const EMPTY: Option<fn(u64)> = Some(|n| repeat(n, || ()));
const GETTIME: Option<fn(u64)> = Some(|n| repeat(n, || gettime(libc::CLOCK_MONOTONIC)));
const GETTIME_COARSE: Option<fn(u64)> = Some(|n| repeat(n, || gettime(libc::CLOCK_MONOTONIC_COARSE)));
const BY_CALL: Option<fn(u64)> = Some(|n| repeat(n, syscost_sys::clock::monotonic_ns_by_system_call));

const CLOCKS: &[TimedClock] = &[
    TimedClock::of("loop", "empty loop, one iteration", EMPTY, |mut inputs| {
        inputs.fact("core_hertz", "core_hertz", Unit::Hertz);
        inputs.constant("cycles", 1.0, Unit::Count, "a predicted, taken branch a cycle");
        Some(inputs.hardware("cycles / core_hertz"))
    }),
    TimedClock::of("rdtsc", "rdtsc", clocks::RDTSC, |mut inputs| {
        inputs.fact("core_hertz", "core_hertz", Unit::Hertz);
        inputs.guided("cycles", Unit::Count, &[(FOG_SKYLAKE, 25.0)]);
        Some(inputs.hardware("cycles / core_hertz"))
    })
    .published(),
    TimedClock::of("rdtscp", "rdtscp", clocks::RDTSCP, |inputs| fenced(inputs, "rdtsc")),
    TimedClock::of("lfence_rdtsc", "lfence; rdtsc", clocks::LFENCE_RDTSC, |inputs| fenced(inputs, "rdtsc")),
    TimedClock::of("rdtscp_lfence", "rdtscp; lfence", clocks::RDTSCP_LFENCE, |inputs| {
        fenced(inputs, "rdtscp")
    }),
    TimedClock::of("cntvct", "cntvct_el0", clocks::CNTVCT, |_| None).published(),
    TimedClock::of("isb_cntvct", "isb; cntvct_el0", clocks::ISB_CNTVCT, |_| None),
    TimedClock::of("clock_gettime", "clock_gettime(MONOTONIC)", GETTIME, |mut inputs| {
        by_vdso(&mut inputs, 30.0);
        inputs.row("counter", reading("lfence_rdtsc"));
        Some(inputs.hardware_and_software("counter", "instructions / 2 / core_hertz"))
    }),
    TimedClock::of(
        "clock_gettime_coarse",
        "clock_gettime(MONOTONIC_COARSE)",
        GETTIME_COARSE,
        |mut inputs| {
            by_vdso(&mut inputs, 16.0);
            Some(inputs.software("instructions / 2 / core_hertz"))
        },
    ),
    // The bare trap and, in the kernel, the same reading of the counter.
    TimedClock::of("clock_gettime_syscall", "clock_gettime by system call", BY_CALL, |mut inputs| {
        inputs.row("counter", reading("lfence_rdtsc"));
        inputs.row("trap", trap());
        Some(inputs.hardware_and_software("counter", "trap"))
    }),
];

/// Another clock, and a fence that waits for what came before it.
fn fenced(mut inputs: Inputs<'_>, of: &'static str) -> Option<PredictedCost> {
    inputs.fact("core_hertz", "core_hertz", Unit::Hertz);
    inputs.row("plain", reading(of));
    inputs.guided("fence", Unit::Count, LFENCE);
    Some(inputs.hardware("plain + fence / core_hertz"))
}

/// The vDSO's code, around a fenced reading of the counter where the clock is not a coarse one.
fn by_vdso(inputs: &mut Inputs<'_>, instructions: f64) {
    inputs.fact("core_hertz", "core_hertz", Unit::Hertz);
    let source = "instructions of lib/vdso/gettimeofday.c on this path, two a cycle";
    inputs.constant("instructions", instructions, Unit::Count, source);
}

fn find(point: &Point) -> Option<&'static TimedClock> {
    CLOCKS.iter().find(|c| Some(c.id) == point.text(CLOCK))
}

fn here() -> Vec<Value> {
    CLOCKS.iter().filter(|c| c.run.is_some()).map(|c| Value::text(c.id)).collect()
}

/// The row of one clock, as an input of other rows' predictions.
pub fn reading(clock: &'static str) -> RowRef {
    RowRef::cost(TIMER.id, [(CLOCK.id, Value::text(clock))])
}

pub static TIMER: SystemOperation = SystemOperation {
    id: "timer",
    title: "reading the time",
    method: "Batches of about 10 us read the clock in a loop; the cost is the 5 % quantile over batches, less \
             the same loop without the reading. The loop itself is a row of its own, with nothing subtracted.",
    source: "Paoloni, How to benchmark code execution times (2010); vdso(7); Intel SDM vol. 3, 18.17",
    axes,
    available,
    figures: Figures::of_batches,
    measure: Some(measure),
    row: Some(row),
    predict: Some(|point, inputs| (find(point)?.predict)(inputs)),
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        CLOCK
            .names(|| CLOCKS.iter().map(|c| c.id).collect())
            .help("how the time is read")
            .default_on(Of(here)),
    ]
}

fn available(point: &Point) -> Result<(), Unavailable> {
    if find(point).is_some_and(|c| c.run.is_some()) {
        return Ok(());
    }
    Err(Unavailable {
        reason: format!("this is {}, which has no such instruction", std::env::consts::ARCH),
        remedy: "none: syscost list names the clocks of this processor".into(),
    })
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let clock = find(round.point()).with_context(|| format!("no clock at {}", round.point()))?;
    let run = clock.run.with_context(|| format!("{} is not on this processor", clock.id))?;
    round.ready()?;
    // The loop is what is subtracted elsewhere: here only the batch's own clock reading is.
    let empty = if clock.id == "loop" { |_| () } else { |n| repeat(n, || ()) };
    Ok(batch::batches(round.task, run, empty))
}

fn row(point: &Point) -> Option<Row> {
    let clock = find(point)?;
    let row = Row::listed(clock.label);
    let row = if clock.id == "clock_gettime" { row.told_as("clock_gettime") } else { row };
    Some(if clock.published { row.as_published("timer_overhead", "") } else { row })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use crate::probe::Probe;

    #[test]
    fn cycles_of_one_processor_predict_no_other() {
        let predicted = |clock: &'static str| {
            let mut point = Point::default();
            point.set(CLOCK.id, Value::text(clock));
            let costs = Costs::of(&[("timer", 7.0)]);
            TIMER.predict(&point, Inputs::new(&costs)).and_then(|cost| cost.predicted)
        };
        assert_eq!(["rdtsc", "rdtscp", "lfence_rdtsc"].map(predicted), [None; 3]);
        assert_eq!(["loop", "clock_gettime"].map(predicted), [Some(1.0), Some(22.0)]);
    }
}
