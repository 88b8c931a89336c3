//! The quantities and metrics of an operation's cost, shared by every probe of one operation.
//!
//! A window holds many batches (or single operations); its sample records the distribution of
//! their time per operation, and what was measured as overhead beside them. Two readings of it:
//! nanosecond operations take a low quantile over batches, because a disturbance only ever adds
//! (Chen and Revels, "Robust benchmarking in noisy environments", 2016); system operations take
//! the median, because their spread is theirs. The overhead is subtracted in the metric, in the
//! open: the gross figure and the overhead are recorded and shown.

use syscost_core::axis::Point;
use syscost_core::sample::{Better, Metric, Quantity, Sample};
use syscost_core::units::Unit;

/// Which quantile over batches is the cost of a nanosecond operation.
pub const LOW: f64 = 0.05;

pub const QUANTITIES: &[Quantity] = &[
    quantity("low_ns", "5 % quantile over the window's batches of the time per operation, overhead included"),
    quantity("median_ns", "median over the window's batches of the time per operation, overhead included"),
    quantity("p90_ns", "90 % quantile over the window's batches, overhead included"),
    quantity("p99_ns", "99 % quantile over the window's batches, overhead included"),
    quantity("max_ns", "the slowest batch of the window, per operation, overhead included"),
    quantity("overhead_ns", "time per operation of the same batches without the operation (timer, loop)"),
    Quantity { id: "batches", unit: Unit::Count, help: "batches timed in the window" },
    Quantity { id: "batch_ops", unit: Unit::Count, help: "operations in each batch" },
    Quantity {
        id: "involuntary_switches",
        unit: Unit::Count,
        help: "times that the measuring thread was put aside in the window",
    },
    Quantity {
        id: "tsc_hertz",
        unit: Unit::Hertz,
        help: "rate of the time-stamp counter, where it is constant",
    },
];

/// For operations of nanoseconds: loads, calls, timer reads, system calls.
pub const NANOSECOND: &[Metric] = &[
    cost("5 % quantile over batches of the time per operation, less the measured overhead", low_net),
    cycles(|s, p| in_cycles(s, low_net(s, p))),
    metric(
        "gross",
        "with overhead",
        Better::Neither,
        "the same before the overhead is subtracted",
        |s, _| s.get("low_ns"),
    ),
    OVERHEAD,
    metric(
        "typical",
        "median batch",
        Better::Lower,
        "median over batches of the time per operation, less the overhead",
        median_net,
    ),
    P99,
    WORST,
];

/// For operations of microseconds and more: the distribution of single operations.
pub const SYSTEM: &[Metric] = &[
    cost("median time of an operation, less the measured overhead", median_net),
    cycles(|s, p| in_cycles(s, median_net(s, p))),
    metric(
        "gross",
        "with overhead",
        Better::Neither,
        "the same before the overhead is subtracted",
        |s, _| s.get("median_ns"),
    ),
    OVERHEAD,
    metric(
        "fastest",
        "5 % quantile",
        Better::Lower,
        "5 % quantile of the time of an operation, less the overhead",
        low_net,
    ),
    metric("p90", "90 % quantile", Better::Lower, "90 % quantile, overhead included", |s, _| s.get("p90_ns")),
    P99,
    WORST,
];

const OVERHEAD: Metric = metric(
    "overhead",
    "timer and loop",
    Better::Neither,
    "what was measured beside the operation and subtracted",
    |s, _| s.get("overhead_ns"),
);
const P99: Metric =
    metric("p99", "99 % quantile", Better::Lower, "99 % quantile, overhead included", |s, _| s.get("p99_ns"));
const WORST: Metric = metric(
    "worst",
    "largest",
    Better::Neither,
    "the slowest batch or operation of a window, overhead included",
    |s, _| s.get("max_ns"),
);

const fn quantity(id: &'static str, help: &'static str) -> Quantity {
    Quantity { id, unit: Unit::Nanoseconds, help }
}

type Of = fn(&Sample, &Point) -> Option<f64>;

const fn metric(id: &'static str, title: &'static str, better: Better, help: &'static str, of: Of) -> Metric {
    Metric { id, title, unit: Unit::Nanoseconds, better, help, of }
}

/// The headline of every probe of one operation.
pub const fn cost(help: &'static str, of: Of) -> Metric {
    metric("cost", "cost", Better::Lower, help, of)
}

const fn cycles(of: Of) -> Metric {
    Metric {
        id: "cost_tsc",
        title: "cost in TSC cycles",
        unit: Unit::TscCycles,
        better: Better::Lower,
        help: "the cost at the constant rate of the time-stamp counter: not core cycles",
        of,
    }
}

fn low_net(sample: &Sample, _: &Point) -> Option<f64> {
    Some(sample.get("low_ns")? - sample.get("overhead_ns")?)
}

fn median_net(sample: &Sample, _: &Point) -> Option<f64> {
    Some(sample.get("median_ns")? - sample.get("overhead_ns")?)
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
