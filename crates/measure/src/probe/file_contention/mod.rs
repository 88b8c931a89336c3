//! `file_contention`: random 4 KiB reads by several processes at once, each of its own file.
//!
//! What the device and the kernel's block layer make of parallel readers. The files' pages are
//! dropped before each window; the readers are forked by the worker and die with it.

mod readers;

use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::{Drawing, Row, Shape};
use super::{
    Channel, Figures, Needs, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, directory, file_read,
};
use crate::probe::metrics;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point, Value};
use syscost_core::units::{self, Unit};
use syscost_host::Unavailable;

pub struct FileContention;

const ID: &str = "file_contention";
const PROCESSES: IntAxis = IntAxis::new("processes");
/// A thousand blocks: more than a window reads, so that none is read twice.
const FILE_SIZE: u64 = 4 << 20;
const WINDOW_NS: u64 = 15_000_000;
const WINDOWS: u32 = 2;
/// The size of file whose rows say what one reader alone costs.
const ALONE_BYTES: u64 = 1 << 20;

/// The row of this many processes reading in this directory, as an input of other rows' predictions.
pub fn cost_of(processes: u64, directory: &str) -> RowRef {
    let coordinates = vec![(PROCESSES.id, Value::Int(processes)), (directory::ID.id, Value::text(directory))];
    RowRef { probe: ID, coordinates, metric: "cost" }
}

impl Probe for FileContention {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: ID,
            title: "reading files at the same time",
            method: "Processes read random 4 KiB blocks, each of its own file, at the same time, with the page cache dropped \
                     before each window and no read-ahead. The cost is the median over the processes of the median time of \
                     their reads; every block is checked.",
            source: "posix_fadvise(2), mincore(2), fork(2); CSE 221 system measurement project",
            roles: &["readers"],
            operation: Some(&FileContention),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            directory::axis(),
            PROCESSES
                .count(1, 256)
                .help("processes that read at the same time, each its own file")
                .default_on(Ints(&[1, 2, 4, 8, 16]))
                .quick_on(Ints(&[1, 2, 16])),
        ]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        directory::available(point)
    }

    fn needs(&self, point: &Point) -> Needs {
        let file = |number| directory::file(point, FILE_SIZE, number as u32);
        Needs::files((0..point.int(PROCESSES).unwrap_or(1)).map(file).collect())
    }

    fn figures(&self) -> Figures {
        Figures::of_single_operations().with(
            readers::QUANTITIES,
            metrics! {
                "total_rate", BytesPerSecond, Higher, "rate of all processes",
                    "bytes read per second by all processes together";
                "slowest_process", Nanoseconds, Lower, "slowest process",
                    "the largest of the processes' median times of a read: how unfairly they are served";
            },
        )
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        readers::play(task, channel)
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        Timing { window_ns: WINDOW_NS, windows: WINDOWS, ..base }
    }
}

impl OsOperation for FileContention {
    fn row(&self, point: &Point) -> Option<Row> {
        let processes = point.int(PROCESSES)?;
        Some(Row::drawn(units::count(processes as usize, "process")))
    }

    /// Two readers are served at once, as solid-state devices do, and wait for a core. What the second one of two waits
    /// shows how long the device takes for each that stands before a reader: that much for each more.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let directory = directory::of(point);
        let processes = inputs.constant(PROCESSES.id, point.int(PROCESSES)? as f64, Unit::Count, "the case");
        if processes > 2.0 {
            let one = inputs.row("one", cost_of(1, directory));
            let two = inputs.row("two", cost_of(2, directory));
            let waits = one.zip(two).map(|(one, two)| (processes - 1.0) * (two - one).max(0.0));
            return Some(inputs.sum("one + (processes - 1) * max(0, two - one)", one, waits));
        }
        let alone = |way| file_read::cost_of(way, true, ALONE_BYTES, directory);
        let device = inputs.row("direct_read", alone(file_read::ReadWay::Direct));
        let cached = inputs.row("cached_read", alone(file_read::ReadWay::Cached));
        let cores = inputs.fact("cores", "cpu_cores", Unit::Count);
        let software = cached.zip(cores).map(|(ns, cores)| ns * (processes / cores).max(1.0));
        Some(inputs.sum("direct_read + cached_read * max(1, processes / cores)", device, software))
    }

    fn drawings(&self) -> Vec<Drawing> {
        let along = |metric, title| Drawing {
            title,
            metric,
            shape: Shape::Curve { along: PROCESSES.id, log_y: false, levels: false },
            includes: |_| true,
        };
        vec![
            along("cost", "Random reads by processes at the same time: time of a read"),
            along("total_rate", "Random reads by processes at the same time: rate of all"),
        ]
    }
}

#[cfg(test)]
mod tests;
