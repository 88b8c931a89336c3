//! The figures of the assignment's table: where each comes from, and why one is not there.
//!
//! Counts are per message and cycles per byte, so that runs of different lengths compare; a counter that
//! the machine lacks is absent with the reason that the run recorded.

use super::grid::{CaseKind, CourseGrid, GridPlace};
use crate::rounded;
use std::collections::BTreeMap;
use syscost_core::stats::{Estimate, median_interval};
use syscost_core::units::Unit;

/// A figure of the table.
pub struct FigureColumn {
    /// Heading in the CSV.
    pub id: &'static str,
    /// In one sentence, for the README.
    pub help: &'static str,
    pub kind: CaseKind,
    /// Summed, round by round.
    pub metrics: &'static [&'static str],
    /// From the metric's unit to the column's.
    scale: f64,
    /// In the names of the quantities that it needs.
    quantity: &'static str,
}

/// What most columns share.
const OF_TRANSFER: FigureColumn =
    FigureColumn { id: "", help: "", kind: CaseKind::Transfer, metrics: &[], scale: 1.0, quantity: "" };

macro_rules! modelled {
    ($metric:literal, $what:literal) => {
        FigureColumn {
            id: concat!("modelled_", $metric),
            help: concat!(
                $what,
                " of both sides per message (modelled cache, emulated CPU: `syscost lab --count cache`; never a hardware counter)"
            ),
            kind: CaseKind::Modelled,
            metrics: &[$metric],
            scale: 1.0,
            quantity: $metric,
        }
    };
}

/// In the order of the table.
pub const COLUMNS: &[FigureColumn] = &[
    FigureColumn {
        id: "throughput_gbps",
        help: "payload received per second over all connections, in 10^9 bits",
        metrics: &["throughput"],
        scale: 1e-9,
        quantity: "bytes",
        ..OF_TRANSFER
    },
    FigureColumn {
        id: "latency_us",
        help: "median round trip of a request and an answer of the same size in a closed loop, each timed for itself, in \
               microseconds: an experiment of its own, not threads over throughput",
        kind: CaseKind::RoundTrip,
        metrics: &["latency_p50"],
        scale: 1e-3,
        quantity: "latency_p50",
    },
    FigureColumn {
        id: "cycles_per_byte",
        help: "core cycles of both sides, user and kernel, per byte of payload (hardware counter)",
        metrics: &["cycles_per_byte"],
        quantity: "_cycles_user",
        ..OF_TRANSFER
    },
    FigureColumn {
        id: "tsc_cycles_per_byte",
        help: "CPU time of both sides in cycles of the time-stamp counter, per byte of payload: reference cycles of a constant \
               rate, known without a hardware counter, and not core cycles",
        metrics: &["tsc_cycles_per_byte"],
        quantity: "tsc_cycles",
        ..OF_TRANSFER
    },
    FigureColumn {
        id: "cpu_ns_per_byte",
        help: "CPU time of both sides' data threads per byte of payload, in nanoseconds",
        metrics: &["total_cpu_ns_per_byte"],
        quantity: "_cpu_ns",
        ..OF_TRANSFER
    },
    FigureColumn {
        id: "l1_misses_per_message",
        help: "L1 data cache load misses of both sides per message (hardware counter)",
        metrics: &["l1d_misses_per_message"],
        quantity: "_l1d_misses",
        ..OF_TRANSFER
    },
    FigureColumn {
        id: "llc_misses_per_message",
        help: "last-level cache load misses of both sides per message (hardware counter)",
        metrics: &["llc_misses_per_message"],
        quantity: "_llc_misses",
        ..OF_TRANSFER
    },
    FigureColumn {
        id: "cache_misses_per_message",
        help: "what perf calls cache-misses, of both sides per message (hardware counter; the last level on most processors)",
        metrics: &["cache_misses_per_message"],
        quantity: "_cache_misses",
        ..OF_TRANSFER
    },
    FigureColumn {
        id: "context_switches_per_message",
        help: "voluntary and involuntary context switches of both sides' data threads per message (getrusage)",
        metrics: &[
            "sender_voluntary_switches_per_message",
            "sender_involuntary_switches_per_message",
            "receiver_voluntary_switches_per_message",
            "receiver_involuntary_switches_per_message",
        ],
        quantity: "_switches",
        ..OF_TRANSFER
    },
    modelled!("l1d_misses_per_message", "L1 data cache misses"),
    modelled!("l1i_misses_per_message", "L1 instruction cache misses"),
    modelled!("l2_misses_per_message", "L2 cache misses"),
    modelled!("llc_misses_per_message", "last-level cache misses"),
    modelled!("instructions_per_message", "instructions"),
];

impl FigureColumn {
    /// The figure at a place in the column's unit, or why there is none.
    pub fn estimate(&self, grid: &CourseGrid, place: &GridPlace) -> Result<Estimate, String> {
        let case = grid.case(self.kind, place)?;
        let found = match self.metrics {
            [one] => grid.cells(self.kind).cell(case, one).map(|cell| cell.estimate),
            several => sum(grid, (self.kind, case), several),
        };
        let scaled = |value: f64| rounded(value * self.scale);
        found
            .map(|e| Estimate { value: scaled(e.value), low: scaled(e.low), high: scaled(e.high), ..e })
            .ok_or_else(|| self.absent(grid))
    }

    /// Why the run has no figure at all; `None`: it has one.
    pub fn missing(&self, grid: &CourseGrid) -> Option<String> {
        let found: Vec<_> = grid.places().map(|place| self.estimate(grid, &place)).collect();
        let reason = || found.iter().rev().find_map(|found| found.as_ref().err());
        found.iter().all(Result::is_err).then(|| reason().cloned().unwrap_or_else(|| self.absent(grid)))
    }

    fn absent(&self, grid: &CourseGrid) -> String {
        let counts = grid.counts.filter(|_| self.kind == CaseKind::Modelled).map(|(run, _)| run);
        let missing = &counts.unwrap_or(grid.run).record.missing;
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
fn sum(grid: &CourseGrid, (kind, case): (CaseKind, usize), metrics: &[&str]) -> Option<Estimate> {
    let mut rounds: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for metric in metrics {
        for (round, value) in grid.cells(kind).cell(case, metric)?.rounds.iter() {
            let known = rounds.entry(round).or_default();
            *known = (known.0 + 1, known.1 + value);
        }
    }
    let whole: Vec<f64> = rounds.values().filter(|r| r.0 == metrics.len()).map(|r| r.1).collect();
    median_interval(&whole, grid.run.record.spec.confidence, Unit::Count)
}
