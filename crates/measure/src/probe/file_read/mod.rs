//! `file_read`: what reading 4 KiB of a local file costs, with the page cache really dropped.
//!
//! Sequential and random, through the page cache and past it (O_DIRECT), over file sizes; and the
//! same with the file cached, which is what the software alone costs. The device's own rate is
//! a row too: reads of 1 MiB past the page cache.

pub mod axes;
mod predict;
mod reads;

use crate::probe::file_read::axes::{FILE_BYTES, PAGE_CACHE, READ_MODE, READ_PATTERN};
use crate::probe::metrics;
pub use axes::FILE_SIZE;
pub use predict::cached;

use super::operation::SystemOperation;
use super::prediction::RowRef;
use super::row::{Drawing, Row};
use super::{Figures, Needs, directory};
use syscost_core::axis::{Point, Value};
use syscost_host::Unavailable;
use syscost_host::scratch::{self};

/// How a block is read, as another row's prediction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWay {
    /// 4 KiB past the page cache.
    Direct,
    /// 1 MiB at a time past the page cache: the device's rate.
    DirectLarge,
    /// Through an empty page cache.
    Dropped,
    /// From the page cache.
    Cached,
}

/// The row of reading 4 KiB of a file of this size in this directory, as an input of other rows'
/// predictions.
pub fn cost_of(way: ReadWay, random: bool, bytes: u64, directory: &str) -> RowRef {
    let (mode, cache) = match way {
        ReadWay::Direct => (axes::DIRECT, None),
        ReadWay::DirectLarge => (axes::DIRECT_LARGE, None),
        ReadWay::Dropped => (axes::BUFFERED, Some(axes::DROPPED)),
        ReadWay::Cached => (axes::BUFFERED, Some(axes::WARM)),
    };
    let mut coordinates =
        vec![(READ_MODE.id, Value::text(mode)), (FILE_BYTES.id, Value::Int(bytes)), directory_of(directory)];
    coordinates.extend(cache.map(|cache| (PAGE_CACHE.id, Value::text(cache))));
    if way != ReadWay::DirectLarge {
        let pattern = if random { axes::RANDOM } else { axes::SEQUENTIAL };
        coordinates.push((READ_PATTERN.id, Value::text(pattern)));
    }
    RowRef { probe: ID, coordinates, metric: "cost" }
}

fn directory_of(directory: &str) -> (&'static str, Value) {
    (super::directory::ID.id, Value::text(directory))
}

const ID: &str = "file_read";
/// The operation in published tables, which holds remote reads too.
pub const PUBLISHED: &str = ID;
/// From here on a file is large enough for the published rows.
pub const LARGE_BYTES: u64 = 64 << 20;

pub static FILE_READ: SystemOperation = SystemOperation {
    id: ID,
    title: "reading 4 KiB of a file",
    method: "A file of random bytes is read in blocks of 4 KiB after its pages were dropped from the page cache \
             (POSIX_FADV_DONTNEED, looked up with mincore before timing). Random reads take every block at most \
             once, without read-ahead (POSIX_FADV_RANDOM, checked afterwards), and are timed one by one; sequential \
             reads are timed as one batch with the default read-ahead, and their cost is its time over its blocks.",
    source: "posix_fadvise(2), mincore(2), open(2) on O_DIRECT; CSE 221 system measurement project",
    roles: &["reader"],
    settled: false,
    applies: |axis, point| match axis {
        _ if axis == PAGE_CACHE.id => point.text(READ_MODE) == Some(axes::BUFFERED),
        _ if axis == READ_PATTERN.id => point.text(READ_MODE) != Some(axes::DIRECT_LARGE),
        _ => true,
    },
    axes: axes::all,
    available,
    needs: |point| Needs::files(vec![directory::file(point, point.int(FILE_BYTES).unwrap_or(0), 0)]),
    figures,
    timing: Some(reads::timing),
    measure: Some(reads::measure),
    row: Some(row),
    predict: Some(predict::cost),
    drawings: &[Drawing::of_cost("Reading 4 KiB of a file", FILE_BYTES.id)],
    ..SystemOperation::DEFAULTS
};

fn available(point: &Point) -> Result<(), Unavailable> {
    directory::available(point)?;
    if point.text(READ_MODE) == Some(axes::BUFFERED) {
        return Ok(());
    }
    scratch::allows_direct_reads(directory::of(point))
}

fn figures() -> Figures {
    Figures::of_single_operations().with(
        reads::QUANTITIES,
        metrics! {
            "read_rate", BytesPerSecond, Higher, "rate",
                "bytes read per second of reading, from the same time as the cost",
                |s, _| {
                    let ns = s.get("median_ns")? - s.get("overhead_ns")?;
                    (ns > 0.0).then(|| super::blocks::BLOCK_BYTES as f64 * 1e9 / ns)
                };
            "file_share", Ratio, Neither, "share of the file read",
                "share of the file that a pass read before its time was over";
            "cached_per_read", Ratio, Neither, "blocks cached per block read",
                "blocks in the page cache after a pass over blocks read: 1 where nothing was read ahead";
        },
    )
}

fn row(point: &Point) -> Option<Row> {
    let label = axes::label(point);
    if point.int(FILE_BYTES)? < LARGE_BYTES {
        return Some(Row::drawn(label));
    }
    let row = Row::listed(label);
    let published = match (point.text(PAGE_CACHE), point.text(READ_PATTERN)) {
        (Some(axes::DROPPED), Some(axes::SEQUENTIAL)) => "local sequential",
        (Some(axes::DROPPED), Some(axes::RANDOM)) => "local random",
        _ => return Some(row),
    };
    let random = published == "local random";
    let row = if random { row.told_as("a random 4 KiB read from the disk") } else { row };
    Some(row.as_published(ID, published))
}

#[cfg(test)]
mod tests;
