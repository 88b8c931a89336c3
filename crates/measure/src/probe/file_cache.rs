//! `file_cache`: how large a file may be that the page cache keeps, by the knee in the time of a
//! second reading.
//!
//! A file is read twice; the second reading is timed. It may use no more disk and page cache than
//! its limit: larger sizes are refused with the reason, and a reading that takes too long is too.

use super::batch::{self, BatchRecorder};
use super::blocks;
use super::blocks::{BLOCK_BYTES, Blocks};
use super::operation::{PlayedRound, SystemOperation};
use super::row::{Drawing, Row, Shape};
use super::{Figures, Needs, Task, Timing, Window, directory, file_read};
use crate::probe::file_read::axes::FILE_BYTES;
use crate::probe::{metrics, quantities};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use syscost_core::axis::DefaultValues::{Ints, Of};
use syscost_core::axis::{Axis, IntAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::{Unavailable, allowance};
use syscost_sys::clock::monotonic_ns;
use syscost_sys::disk;

const ID: &str = "file_cache";
const LIMIT: IntAxis = IntAxis::new("cache_limit_bytes");
const SMALLEST_BYTES: u64 = 64 << 20;
const LARGEST_BYTES: u64 = 16 << 30;
/// Without a limit from the user: what writing and reading costs a second or two.
const MOST_BYTES: u64 = 512 << 20;
/// One system call for this much.
const READ_BYTES: u64 = 64 << 10;
/// A first reading that takes longer is given up: the case is skipped and says so.
const FIRST_READING_NS: u64 = 2_000_000_000;
/// A second reading is cut off here, and its figure is that of what it read.
const SECOND_READING_NS: u64 = 1_000_000_000;
/// From memory, a core reads about this fast: for the plan's estimate only.
const EXPECTED_BYTES_PER_NS: u64 = 20;

/// The most that a run may write and cache without being told: a quarter of the free disk, and where
/// a control group limits memory, enough beyond that to see the knee.
fn default_limit() -> Vec<Value> {
    let free = disk::free_bytes(Path::new(".")).unwrap_or(u64::MAX);
    vec![Value::Int(limit_for(free, allowance::memory_limit_bytes()))]
}

fn limit_for(free_bytes: u64, memory_limit_bytes: Option<u64>) -> u64 {
    let beyond = |limit: u64| (limit.saturating_mul(3) / 2).min(1 << 62).next_power_of_two();
    let most = MOST_BYTES.min(free_bytes / 4).min(memory_limit_bytes.map_or(u64::MAX, beyond));
    // A power of two, so that it is one of the sizes.
    (1 << most.max(1).ilog2()).max(BLOCK_BYTES)
}

fn doubling() -> Vec<Value> {
    let sizes = std::iter::successors(Some(SMALLEST_BYTES), |bytes| Some(bytes * 2));
    sizes.take_while(|bytes| *bytes <= LARGEST_BYTES).map(Value::Int).collect()
}

/// The size of a case and its limit.
fn sizes(point: &Point) -> Option<(u64, u64)> {
    Some((point.int(FILE_BYTES)?, point.int(LIMIT)?))
}

pub static FILE_CACHE: SystemOperation = SystemOperation {
    id: ID,
    title: "reading a file again",
    method: "The first bytes of one file are read from beginning to end twice, 64 KiB a system call, and the second \
             reading is timed, per 4 KiB. Where the file no longer fits the page cache the second reading goes to \
             the disk again: the knee of the curve is the size of the cache. No more is written than --cache-limit.",
    source: "CSE 221 system measurement project; Documentation/admin-guide/mm/concepts.rst",
    roles: &["reader"],
    settled: false,
    axes,
    available: directory::available,
    needs,
    figures,
    timing: Some(|point, _| {
        let window_ns = point.int(FILE_BYTES).unwrap_or(0) / EXPECTED_BYTES_PER_NS;
        Timing { warmup_ns: 0, window_ns, windows: 1 }
    }),
    measure: Some(measure),
    row: Some(row),
    // As long as the page cache holds the file.
    predict: Some(|point, inputs| Some(file_read::cached(inputs, point.int(FILE_BYTES)?, READ_BYTES))),
    drawings: &[Drawing::of(
        "Reading a file again",
        "cost",
        Shape { along: FILE_BYTES.id, log_y: true, levels: true },
    )],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        directory::axis(),
        LIMIT
            .bytes(BLOCK_BYTES, 1 << 44)
            .flag("cache-limit", "limit of the page cache's use")
            .help(
                "no larger file is written or read: the disk space and page cache that the search may \
                 use",
            )
            .default_on(Of(default_limit)),
        file_read::FILE_SIZE.default_on(Of(doubling)).quick_on(Ints(&[SMALLEST_BYTES, 4 * SMALLEST_BYTES])),
    ]
}

fn needs(point: &Point) -> Needs {
    match sizes(point) {
        Some((bytes, limit)) if bytes <= limit => {
            let largest = if limit <= LARGEST_BYTES { limit } else { bytes };
            Needs::files(vec![directory::file(point, largest, u32::MAX)])
        }
        _ => Needs::default(),
    }
}

fn figures() -> Figures {
    Figures::of_single_operations().with(
        quantities! {
            "cached_share", Ratio, "share of the file's bytes in the page cache (mincore) after the first reading";
            "file_share", Ratio, "share of the file that the second reading read before its time was over";
        },
        metrics! {
            "cached_share", Ratio, Neither, "share of the file that is cached",
                "share of the file's bytes in the page cache after the first reading";
        },
    )
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let (bytes, limit) = sizes(round.point()).context("the point has no sizes")?;
    if bytes > limit {
        return Err(Unavailable {
            reason: format!(
                "files above {} are not written: the page cache may be larger",
                Unit::Bytes.format(limit as f64)
            ),
            remedy: "allow more with --cache-limit, up to twice the memory".into(),
        }
        .into());
    }
    let mut file = Blocks::open(round.task, 0, bytes, READ_BYTES, false)?;
    round.settle();
    read_first(&mut file)?;
    let cached_share = file.cached_bytes()? as f64 / bytes as f64;
    round.ready()?;
    let mut window = read_again(round.task, &mut file)?;
    window.quantities.insert("cached_share".into(), Some(cached_share));
    Ok(vec![window])
}

fn row(point: &Point) -> Option<Row> {
    let size = Unit::Bytes.format(point.int(FILE_BYTES)? as f64);
    Some(Row::drawn(format!("a file of {size}, read again")))
}

/// The first reading, in which every block is checked.
fn read_first(file: &mut Blocks) -> Result<()> {
    let deadline = monotonic_ns() + FIRST_READING_NS;
    for block in 0..file.count() {
        file.read(block)?;
        file.verify(block)?;
        ensure!(
            monotonic_ns() < deadline,
            Unavailable {
                reason: format!(
                    "the disk did not give {} within {} s, and the page cache did not have them",
                    Unit::Bytes.format(file.bytes as f64),
                    FIRST_READING_NS / 1_000_000_000
                ),
                remedy: "name smaller sizes with --file-size, or a faster disk with --dir".into(),
            }
        );
    }
    Ok(())
}

/// The second reading, as one batch.
fn read_again(task: &Task, file: &mut Blocks) -> Result<Window> {
    let overhead_ns = batch::clock_overhead_ns();
    let mut recorder = BatchRecorder::start();
    let (mut read, mut last) = (0, 0);
    let start = monotonic_ns();
    let mut now = start;
    for block in 0..file.count() {
        read += file.read(block)?;
        last = block;
        now = monotonic_ns();
        if now - start > SECOND_READING_NS {
            break;
        }
    }
    let ops = (read / blocks::BLOCK_BYTES).max(1);
    recorder.record((now - start) as f64, ops);
    file.verify(last)?;
    // The clock was read after every system call.
    let per_block = overhead_ns * BLOCK_BYTES as f64 / READ_BYTES as f64;
    let mut window = recorder.window(task, ops as f64, Some(per_block));
    window.bytes = read as f64;
    window.quantities.insert("file_share".into(), Some(read as f64 / file.bytes as f64));
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Probe;

    #[test]
    fn the_limit_fits_disk_and_memory() {
        let none = limit_for(u64::MAX, None);
        assert_eq!(none, MOST_BYTES);
        assert_eq!(limit_for(1 << 30, None), 256 << 20, "a quarter of the free disk");
        assert_eq!(limit_for(u64::MAX, Some(100 << 20)), 256 << 20, "beyond a control group's limit");
        assert_eq!(limit_for(u64::MAX, Some(u64::MAX)), MOST_BYTES);
        assert_eq!(limit_for(0, None), BLOCK_BYTES, "a full disk: every size is refused");
    }

    #[test]
    fn a_size_above_the_limit_makes_no_file() {
        let mut point = Point::default();
        point.set(LIMIT.id, Value::Int(128 << 20));
        for (bytes, files) in [(64u64 << 20, 1), (128 << 20, 1), (256 << 20, 0)] {
            point.set(FILE_BYTES.id, Value::Int(bytes));
            let made = FILE_CACHE.needs(&point).files;
            assert_eq!(made.len(), files, "{bytes}");
            assert!(made.iter().all(|file| file.bytes == 128 << 20), "one file for all sizes");
        }
    }
}
