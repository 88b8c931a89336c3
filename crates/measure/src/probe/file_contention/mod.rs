//! `file_contention`: random 4 KiB reads by several processes at once, each of its own file.
//!
//! What the device and the kernel's block layer make of parallel readers. The files' pages are
//! dropped before each window; the readers are forked by the worker and die with it.

mod readers;

use super::operation::SystemOperation;
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::row::{Drawing, Row, Shape};
use super::{Figures, Needs, Timing, directory, file_read};
use crate::probe::metrics;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point, Value};
use syscost_core::units::{self, Unit};

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
    RowRef::cost(ID, [(PROCESSES.id, Value::Int(processes)), (directory::ID.id, Value::text(directory))])
}

const ALONG: Shape = Shape { along: PROCESSES.id, log_y: false, levels: false };

pub static FILE_CONTENTION: SystemOperation = SystemOperation {
    id: ID,
    title: "reading files at the same time",
    method: "Processes read random 4 KiB blocks, each of its own file, at the same time, with the page cache dropped \
             before each window and no read-ahead. The cost is the median over the processes of the median time of \
             their reads; every block is checked.",
    source: "posix_fadvise(2), mincore(2), fork(2); CSE 221 system measurement project",
    roles: &["readers"],
    settled: false,
    axes,
    available: directory::available,
    needs: |point| {
        let file = |number| directory::file(point, FILE_SIZE, number as u32);
        Needs::files((0..point.int(PROCESSES).unwrap_or(1)).map(file).collect())
    },
    figures,
    timing: Some(|_, base| Timing { window_ns: WINDOW_NS, windows: WINDOWS, ..base }),
    measure: Some(readers::measure),
    row: Some(row),
    predict: Some(predict),
    drawings: &[
        Drawing::of("Random reads by processes at the same time: time of a read", "cost", ALONG),
        Drawing::of("Random reads by processes at the same time: rate of all", "total_rate", ALONG),
    ],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        directory::axis(),
        PROCESSES
            .count(1, 256)
            .help("processes that read at the same time, each its own file")
            .default_on(Ints(&[1, 2, 4, 8, 16]))
            .quick_on(Ints(&[1, 2, 16])),
    ]
}

fn figures() -> Figures {
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

fn row(point: &Point) -> Option<Row> {
    let processes = point.int(PROCESSES)?;
    Some(Row::drawn(units::count(processes as usize, "process")))
}

/// Two readers are served at once, as solid-state devices do, and wait for a core. What the second one of two waits
/// shows how long the device takes for each that stands before a reader: that much for each more.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let directory = directory::of(point);
    let processes = inputs.constant(PROCESSES.id, point.int(PROCESSES)? as f64, Unit::Count, "the case");
    if processes > 2.0 {
        inputs.row("one", cost_of(1, directory));
        inputs.row("two", cost_of(2, directory));
        return Some(inputs.hardware_and_software("one", "(processes - 1) * max(0, two - one)"));
    }
    let alone = |way| file_read::cost_of(way, true, ALONE_BYTES, directory);
    inputs.row("direct_read", alone(file_read::ReadWay::Direct));
    inputs.row("cached_read", alone(file_read::ReadWay::Cached));
    inputs.fact("cores", "cpu_cores", Unit::Count);
    Some(inputs.hardware_and_software("direct_read", "cached_read * max(1, processes / cores)"))
}

#[cfg(test)]
mod tests;
