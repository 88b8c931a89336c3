//! The quantities and metrics of an operation's cost, shared by every probe of one operation.
//!
//! A window holds many batches (or single operations); its sample records the distribution of
//! their time per operation, and what was measured as overhead beside them. Two readings of it:
//! nanosecond operations take a low quantile over batches, because a disturbance only ever adds
//! (Chen and Revels, "Robust benchmarking in noisy environments", 2016); system operations take
//! the median, because their spread is theirs. The overhead is subtracted in the metric, in the
//! open: the gross figure and the overhead are recorded and shown.

use super::{Figures, Probe, metrics, quantities};
use syscost_core::axis::Point;
use syscost_core::sample::{Better, Metric, Quantity, Sample};
use syscost_core::units::Unit;

/// Which quantile over batches is the cost of a nanosecond operation.
pub const LOW: f64 = 0.05;

/// What a batch holds beside its operations differs from the empty loop's by its ends: the clock's reading, a misjudged end
/// of the loop. That is below this share of it.
const UNRESOLVED: f64 = 0.01;

/// The least cost that can be told from what is subtracted, where operations take so long with it.
pub fn resolution(gross: f64) -> f64 {
    UNRESOLVED * gross
}

pub const QUANTITIES: &[Quantity] = quantities! {
    "low_ns", Nanoseconds, "5 % quantile over the window's batches of the time per operation, overhead included";
    "median_ns", Nanoseconds, "median over the window's batches of the time per operation, overhead included";
    "p90_ns", Nanoseconds, "90 % quantile over the window's batches, overhead included";
    "p99_ns", Nanoseconds, "99 % quantile over the window's batches, overhead included";
    "max_ns", Nanoseconds, "the slowest batch of the window, per operation, overhead included";
    "overhead_ns", Nanoseconds, "time per operation of the same batches without the operation (timer, loop)";
    "batches", Count, "batches timed in the window";
    "batch_ops", Count, "operations in each batch";
    "involuntary_switches", Count, "times that the measuring thread was put aside in the window";
    "tsc_hertz", Hertz, "rate of the time-stamp counter, where it is constant";
};

const IN_CYCLES: &str = "the cost at the constant rate of the time-stamp counter: not core cycles";
const GROSS: &str = "the same before the overhead is subtracted";
const OVERHEAD: &str = "what was measured beside the operation and subtracted";
const WORST: &str = "the slowest batch or operation of a window, overhead included";

/// Instructions in a nanosecond: a quantity of samples whose clock counts instructions, which no file holds.
pub const CLOCK_INSTRUCTIONS: &str = "clock_instructions";
/// What is compared of a stream of messages where clocks count instructions.
pub const MESSAGE_INSTRUCTIONS: &str = "instructions_per_message";
/// The same of an operation.
pub const INSTRUCTIONS: &str = "instructions_per_operation";
const EXECUTED: &str = "instructions of an operation, less the loop's: the 5 % quantile where an emulated machine's clock counts them, the mean beside modelled caches";

/// For operations of nanoseconds: loads, calls, timer reads, system calls.
pub const NANOSECOND: &[Metric] = metrics! {
    "cost", Nanoseconds, Lower, "cost",
        "5 % quantile over batches of the time per operation, less the measured overhead",
        low_net;
    "cost_tsc", TscCycles, Lower, "cost in TSC cycles", IN_CYCLES, |s, p| in_cycles(s, low_net(s, p));
    "gross", Nanoseconds, Neither, "with overhead", GROSS, |s, _| s.get("low_ns");
    "overhead", Nanoseconds, Neither, "timer and loop", OVERHEAD, |s, _| s.get("overhead_ns");
    "typical", Nanoseconds, Lower, "median batch",
        "median over batches of the time per operation, less the overhead",
        median_net;
    "p99", Nanoseconds, Lower, "99 % quantile", "99 % quantile, overhead included", |s, _| s.get("p99_ns");
    "worst", Nanoseconds, Neither, "largest", WORST, |s, _| s.get("max_ns");
    "instructions_per_operation", Count, Lower, "instructions", EXECUTED, |s, p| executed(s, low_net(s, p));
};

/// For operations of microseconds and more: the distribution of single operations.
pub const SYSTEM: &[Metric] = metrics! {
    "cost", Nanoseconds, Lower, "cost", "median time of an operation, less the measured overhead", median_net;
    "cost_tsc", TscCycles, Lower, "cost in TSC cycles", IN_CYCLES, |s, p| in_cycles(s, median_net(s, p));
    "gross", Nanoseconds, Neither, "with overhead", GROSS, |s, _| s.get("median_ns");
    "overhead", Nanoseconds, Neither, "timer and loop", OVERHEAD, |s, _| s.get("overhead_ns");
    "fastest", Nanoseconds, Lower, "5 % quantile",
        "5 % quantile of the time of an operation, less the overhead",
        low_net;
    "p90", Nanoseconds, Lower, "90 % quantile", "90 % quantile, overhead included", |s, _| s.get("p90_ns");
    "p99", Nanoseconds, Lower, "99 % quantile", "99 % quantile, overhead included", |s, _| s.get("p99_ns");
    "worst", Nanoseconds, Neither, "largest", WORST, |s, _| s.get("max_ns");
    "instructions_per_operation", Count, Lower, "instructions", EXECUTED, |s, p| executed(s, low_net(s, p));
};

/// What an emulator with modelled caches counts of the operations of a window: [`super::counted`].
macro_rules! counts {
    ($($id:literal, $title:literal;)+) => {
        const COUNTS: &[Quantity] = quantities! { $(
            concat!($id, "_user"), Count, concat!($title, " of the window's operations in user mode, less the loop's (modelled cache, emulated CPU)");
            concat!($id, "_kernel"), Count, concat!($title, " of the window's operations in the kernel, less the loop's (modelled cache, emulated CPU)");
        )+ };
        const COUNTED: &[Metric] = &[$(
            per_operation(concat!($id, "_per_operation"), $title,
                concat!($title, " of an operation, user and kernel: the window's mean, of all threads but idle ones"),
                |s, _| of_modes(s, concat!($id, "_user"), concat!($id, "_kernel"))),
            per_operation(concat!($id, "_user_per_operation"), concat!($title, " in user mode"),
                concat!($title, " of an operation in user mode"), |s, _| of_each(s, concat!($id, "_user"))),
            per_operation(concat!($id, "_kernel_per_operation"), concat!($title, " in the kernel"),
                concat!($title, " of an operation in the kernel, softirqs included"), |s, _| of_each(s, concat!($id, "_kernel"))),
        )+];
    };
}

counts! {
    "instructions", "instructions";
    "l1i_misses", "L1i misses";
    "l1d_misses", "L1d misses";
    "l2_misses", "L2 misses";
    "llc_misses", "LLC misses";
}

const fn per_operation(
    id: &'static str,
    title: &'static str,
    help: &'static str,
    of: fn(&Sample, &Point) -> Option<f64>,
) -> Metric {
    let (unit, better) = (Unit::Count, Better::Lower);
    Metric { id, title, unit, better, help, of, counted: false, of_times: None }
}

fn of_each(sample: &Sample, count: &str) -> Option<f64> {
    Some(sample.get(count)? / Some(sample.ops).filter(|n| *n > 0.0)?)
}

fn of_modes(sample: &Sample, user: &str, kernel: &str) -> Option<f64> {
    Some(of_each(sample, user)? + of_each(sample, kernel)?)
}

impl Figures {
    /// Of an operation of nanoseconds, timed in batches ([`super::batch::batches`]).
    pub fn of_batches() -> Figures {
        Figures::of(QUANTITIES, NANOSECOND, &["cost"]).with(COUNTS, &COUNTED[1..])
    }

    /// Of an operation of microseconds and more, each timed for itself.
    pub fn of_single_operations() -> Figures {
        Figures::of(QUANTITIES, SYSTEM, &["cost"]).with(COUNTS, &COUNTED[1..])
    }
}

/// What a probe's cases show and are compared by where clocks count instructions.
pub fn counted_metric(probe: &dyn Probe) -> Option<Metric> {
    let metrics = probe.metrics();
    let named = |id: &str| metrics.iter().find(|metric| metric.id == id).copied();
    named(MESSAGE_INSTRUCTIONS).or_else(|| named(INSTRUCTIONS))
}

fn low_net(sample: &Sample, _: &Point) -> Option<f64> {
    Some(sample.get("low_ns")? - sample.get("overhead_ns")?)
}

fn median_net(sample: &Sample, _: &Point) -> Option<f64> {
    Some(sample.get("median_ns")? - sample.get("overhead_ns")?)
}

fn executed(sample: &Sample, ns: Option<f64>) -> Option<f64> {
    let rate = sample.get(CLOCK_INSTRUCTIONS);
    rate.map_or_else(|| of_modes(sample, "instructions_user", "instructions_kernel"), |rate| Some(ns? * rate))
}

fn in_cycles(sample: &Sample, ns: Option<f64>) -> Option<f64> {
    Some(ns? * sample.get("tsc_hertz")? / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_the_quantile_less_the_overhead() {
        let mut sample = Sample::default();
        for (id, value) in [("low_ns", 12.0), ("median_ns", 20.0), ("overhead_ns", 2.0), ("tsc_hertz", 2e9)] {
            sample.quantities.insert(id.into(), Some(value));
        }
        let of = |metrics: &[Metric], id: &str| {
            let metric = metrics.iter().find(|m| m.id == id).unwrap();
            (metric.of)(&sample, &Point::default())
        };
        assert_eq!(of(NANOSECOND, "cost"), Some(10.0));
        assert_eq!(of(NANOSECOND, "cost_tsc"), Some(20.0));
        assert_eq!(of(SYSTEM, "cost"), Some(18.0));
        sample.quantities.insert("tsc_hertz".into(), None);
        let metric = SYSTEM.iter().find(|m| m.id == "cost_tsc").unwrap();
        assert_eq!((metric.of)(&sample, &Point::default()), None, "no rate, no cycles");
    }
}
