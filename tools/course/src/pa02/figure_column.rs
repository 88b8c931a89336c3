//! The figures of the assignment's table: where each comes from, and why one is not there.
//!
//! Counts are per message and cycles per byte, so that runs of different lengths compare; a counter that
//! the machine lacks is absent with the reason that the run recorded.

use super::grid::{CaseKind, CourseGrid, GridPlace};
use crate::scaled;
use std::collections::BTreeMap;
use syscost_core::stats::{Estimate, median_interval};
use syscost_core::units::Unit;

/// A figure of the table.
pub struct FigureColumn {
    /// Heading in the CSV.
    pub id: &'static str,
    /// Axis of a plot: name and unit.
    pub title: &'static str,
    /// In one sentence, for the README.
    pub help: &'static str,
    kind: CaseKind,
    /// Summed, round by round.
    metrics: &'static [&'static str],
    /// From the metric's unit to the column's.
    scale: f64,
    /// In the names of the quantities that it needs.
    quantity: &'static str,
}

/// What most columns share.
const OF_TRANSFER: FigureColumn = FigureColumn {
    id: "",
    title: "",
    help: "",
    kind: CaseKind::Transfer,
    metrics: &[],
    scale: 1.0,
    quantity: "",
};

pub const THROUGHPUT: &FigureColumn = &FigureColumn {
    id: "throughput_gbps",
    title: "throughput, Gbit/s",
    help: "payload received per second over all connections, in 10^9 bits",
    metrics: &["throughput"],
    scale: 1e-9,
    quantity: "bytes",
    ..OF_TRANSFER
};
pub const LATENCY: &FigureColumn = &FigureColumn {
    id: "latency_us",
    title: "median round trip, us",
    help: "median round trip of a request and an answer of the same size in a closed loop, each timed for itself, in \
           microseconds: an experiment of its own, not threads over throughput",
    kind: CaseKind::RoundTrip,
    metrics: &["latency_p50"],
    scale: 1e-3,
    quantity: "latency_p50",
};
pub const CYCLES: &FigureColumn = &FigureColumn {
    id: "cycles_per_byte",
    title: "CPU cycles per byte",
    help: "core cycles of both sides, user and kernel, per byte of payload (hardware counter)",
    metrics: &["cycles_per_byte"],
    quantity: "_cycles_user",
    ..OF_TRANSFER
};
pub const TSC: &FigureColumn = &FigureColumn {
    id: "tsc_cycles_per_byte",
    title: "TSC reference cycles per byte",
    help: "CPU time of both sides in cycles of the time-stamp counter, per byte of payload: reference cycles of a constant \
           rate, known without a hardware counter, and not core cycles",
    metrics: &["tsc_cycles_per_byte"],
    quantity: "tsc_cycles",
    ..OF_TRANSFER
};
pub const L1: &FigureColumn = &FigureColumn {
    id: "l1_misses_per_message",
    title: "L1d misses per message",
    help: "L1 data cache load misses of both sides per message (hardware counter)",
    metrics: &["l1d_misses_per_message"],
    quantity: "_l1d_misses",
    ..OF_TRANSFER
};
pub const LLC: &FigureColumn = &FigureColumn {
    id: "llc_misses_per_message",
    title: "LLC misses per message",
    help: "last-level cache load misses of both sides per message (hardware counter)",
    metrics: &["llc_misses_per_message"],
    quantity: "_llc_misses",
    ..OF_TRANSFER
};
pub const CACHE: &FigureColumn = &FigureColumn {
    id: "cache_misses_per_message",
    title: "cache misses per message",
    help: "what perf calls cache-misses, of both sides per message (hardware counter; the last level on most processors)",
    metrics: &["cache_misses_per_message"],
    quantity: "_cache_misses",
    ..OF_TRANSFER
};
const SWITCHES: &FigureColumn = &FigureColumn {
    id: "context_switches_per_message",
    title: "context switches per message",
    help: "voluntary and involuntary context switches of both sides' data threads per message (getrusage)",
    metrics: &[
        "sender_voluntary_switches_per_message",
        "sender_involuntary_switches_per_message",
        "receiver_voluntary_switches_per_message",
        "receiver_involuntary_switches_per_message",
    ],
    quantity: "_switches",
    ..OF_TRANSFER
};
const CPU: &FigureColumn = &FigureColumn {
    id: "cpu_ns_per_byte",
    title: "CPU time, ns per byte",
    help: "CPU time of both sides' data threads per byte of payload, in nanoseconds",
    metrics: &["total_cpu_ns_per_byte"],
    quantity: "_cpu_ns",
    ..OF_TRANSFER
};

/// In the order of the table.
pub const COLUMNS: &[&FigureColumn] = &[THROUGHPUT, LATENCY, CYCLES, TSC, CPU, L1, LLC, CACHE, SWITCHES];

impl FigureColumn {
    /// The figure at a place in the column's unit, or why there is none.
    pub fn estimate(&self, grid: &CourseGrid, place: &GridPlace) -> Result<Estimate, String> {
        let case = grid.case(self.kind, place)?;
        let found = match self.metrics {
            [one] => grid.cells.cell(case, one).map(|cell| cell.estimate),
            several => sum(grid, case, several),
        };
        found.map(|e| scaled(e, self.scale)).ok_or_else(|| self.absent(grid))
    }

    /// Is there any figure in the run?
    pub fn anywhere(&self, grid: &CourseGrid) -> bool {
        grid.places().any(|place| self.estimate(grid, &place).is_ok())
    }

    /// Why nothing was measured, in words for a reader of the plot.
    pub fn why(&self, grid: &CourseGrid) -> String {
        let reasons = grid.places().filter_map(|place| self.estimate(grid, &place).err());
        format!("Not measured: {}.", reasons.last().unwrap_or_else(|| self.absent(grid)))
    }

    fn absent(&self, grid: &CourseGrid) -> String {
        let missing = &grid.run.record.missing;
        let names = |m: &&syscost_experiment::run::MissingQuantities| {
            m.quantities.iter().any(|q| q.contains(self.quantity))
        };
        match missing.iter().find(names) {
            Some(known) => format!("{} (what to do: {})", known.why.reason, known.why.remedy),
            None => "no usable sample has it".into(),
        }
    }
}

/// Of the rounds that have every part.
fn sum(grid: &CourseGrid, case: usize, metrics: &[&str]) -> Option<Estimate> {
    let mut rounds: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for metric in metrics {
        for (round, value) in grid.cells.cell(case, metric)?.rounds.iter() {
            let known = rounds.entry(round).or_default();
            *known = (known.0 + 1, known.1 + value);
        }
    }
    let whole: Vec<f64> = rounds.values().filter(|r| r.0 == metrics.len()).map(|r| r.1).collect();
    median_interval(&whole, grid.run.record.spec.confidence, Unit::Count)
}
