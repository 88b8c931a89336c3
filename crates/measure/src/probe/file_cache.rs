//! `file_cache`: how large a file may be that the page cache keeps, by the knee in the time of a
//! second reading.
//!
//! A file is read twice; the second reading is timed. The cache takes all memory that nobody uses, so the knee lies at
//! the size of memory. Where files up to there would be too much to write unasked, the reader moves into a memory control
//! group of its own, of a known size. Larger files than the limit are refused with the reason.

use super::batch::{self, BatchRecorder};
use super::blocks;
use super::blocks::{BLOCK_BYTES, Blocks};
use super::file_read::{ReadWay, cost_of};
use super::operation::{PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::row::{Drawing, Holder, Row, Shape};
use super::{Figures, Needs, Task, Timing, Window, directory, file_read};
use crate::probe::file_read::axes::FILE_BYTES;
use crate::probe::{metrics, quantities};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use syscost_core::axis::DefaultValues::{Ints, Of};
use syscost_core::axis::{Axis, IntAxis, Point, Value};
use syscost_core::units::{Unit, short_bytes};
use syscost_host::memory_group::{self, MemoryGroup};
use syscost_host::{Unavailable, allowance};
use syscost_sys::clock::monotonic_ns;
use syscost_sys::disk;

const ID: &str = "file_cache";
const LIMIT: IntAxis = IntAxis::new("cache_limit_bytes");
const MIB: u64 = 1 << 20;
/// Without a limit from the user. What writing and reading it costs is a second or two.
const MOST_BYTES: u64 = 256 * MIB;
/// The same where a control group limits memory to less than that: a common size of containers, and half as much again.
const MOST_IN_A_GROUP: u64 = 1 << 30;
/// A file whose size differs from the room by less than this part of it may be kept or not: what else uses memory decides.
const KNEE: u64 = 16;
/// Files beyond memory by this part show the knee.
const BEYOND: (u64, u64) = (9, 8);
/// One system call for this much.
const READ_BYTES: u64 = 64 << 10;
/// A first reading that takes longer than this, and than the slowest disk that is waited for takes, is given up.
const FIRST_READING_NS: u64 = 2_000_000_000;
const SLOWEST_DISK_BYTES_PER_NS: f64 = 0.1;
/// A second reading is cut off here, and its figure is that of what it read.
const SECOND_READING_NS: u64 = 1_000_000_000;
/// From memory, a core reads about this fast, and a disk so fast: for the plan's estimate only.
const EXPECTED_BYTES_PER_NS: u64 = 20;
const EXPECTED_FROM_DISK: u64 = 1;
/// The room that the page cache has, as a metric and as an input of predictions.
const ROOM: &str = "room";
const HELD_SHARE: &str = "cached_share";

/// The most that a run may write and cache without being told: a quarter of the free disk, and where
/// a control group limits memory, enough beyond that to see the knee.
fn default_limit() -> Vec<Value> {
    let free = disk::free_bytes(Path::new(".")).unwrap_or(u64::MAX);
    vec![Value::Int(limit_for(free, allowance::memory_limit_bytes()))]
}

fn limit_for(free_bytes: u64, memory_limit_bytes: Option<u64>) -> u64 {
    let beyond = |limit: u64| limit.saturating_mul(3) / 2;
    let limited = memory_limit_bytes.map(beyond).filter(|bytes| *bytes <= MOST_IN_A_GROUP);
    limited.unwrap_or(MOST_BYTES).min(free_bytes / 4).max(BLOCK_BYTES) / BLOCK_BYTES * BLOCK_BYTES
}

/// How much the page cache may take where a case is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CacheRoom {
    bytes: u64,
    /// Not all memory that is available: a group of the reader's own.
    own_group: bool,
}

impl CacheRoom {
    /// `None`: more than files of this size fill, and no group can be made.
    fn under(limit: u64) -> Option<CacheRoom> {
        CacheRoom::of(limit, allowance::for_page_cache(), memory_group::possible)
    }

    fn of(limit: u64, available: Option<u64>, group_possible: fn() -> bool) -> Option<CacheRoom> {
        let filled = available.filter(|bytes| bytes / BEYOND.1 * BEYOND.0 <= limit);
        let whole = filled.map(|bytes| CacheRoom { bytes, own_group: false });
        whole.or_else(|| group_possible().then_some(CacheRoom { bytes: limit / 2, own_group: true }))
    }

    /// What the cache should get of it.
    fn expected(self) -> (u64, &'static str) {
        if self.own_group {
            let least = self.bytes.saturating_sub(allowance::WORKER_BYTES);
            (least, "the limit of the reader's control group, less what a worker takes")
        } else {
            (self.bytes, "memory available")
        }
    }
}

/// From a quarter of the room up, dense around it, as far as the default limit goes; whole MiB.
fn default_sizes() -> Vec<Value> {
    const SIXTEENTHS: [u64; 10] = [4, 8, 12, 14, 15, 16, 18, 20, 24, 32];
    let limit = limit_for(u64::MAX, allowance::memory_limit_bytes());
    let room = CacheRoom::under(limit).map_or(limit / 2, |room| room.bytes);
    let sizes = SIXTEENTHS.iter().map(|part| (room / 16 * part / MIB).max(1) * MIB);
    sizes.filter(|bytes| *bytes <= limit).map(Value::Int).collect()
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
             the disk again: the knee of the curve is the size of the cache. No more is written than --cache-limit. \
             Where memory is larger than that, the reader runs in a memory control group of half the limit.",
    source: "CSE 221 system measurement project; Documentation/admin-guide/mm/concepts.rst; cgroups(7)",
    roles: &["reader"],
    settled: false,
    axes,
    available: directory::available,
    needs,
    figures,
    timing: Some(|point, _| {
        let bytes = point.int(FILE_BYTES).unwrap_or(0);
        let window_ns = (bytes / EXPECTED_BYTES_PER_NS).min(SECOND_READING_NS);
        Timing { warmup_ns: bytes / EXPECTED_FROM_DISK, window_ns, windows: 1 }
    }),
    measure: Some(measure),
    row: Some(row),
    predict: Some(predict),
    drawings: &[Drawing {
        holder: Some(Holder {
            name: "the file cache",
            act: "reads of 4 KiB",
            room: ROOM,
            held_share: HELD_SHARE,
        }),
        ..Drawing::of(
            "Reading a file again",
            "cost",
            Shape { along: FILE_BYTES.id, log_y: true, levels: true },
        )
    }],
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
                 use; beyond memory, with sizes around it (--file-size), it shows the machine's own cache",
            )
            .default_on(Of(default_limit)),
        file_read::FILE_SIZE.default_on(Of(default_sizes)).quick_on(Ints(&[16 * MIB, 64 * MIB])),
    ]
}

/// One file for all sizes.
fn needs(point: &Point) -> Needs {
    let fits = sizes(point).filter(|(bytes, limit)| bytes <= limit);
    Needs::files(fits.map(|(_, limit)| directory::file(point, limit, u32::MAX)).into_iter().collect())
}

/// From memory as long as the page cache holds the file; beyond, as fast as the disk gives it, where that is slower.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let (bytes, limit) = sizes(point)?;
    let room = CacheRoom::under(limit);
    let room = room.map(CacheRoom::expected);
    // Whether the cache keeps a file that just fits is not known before it is measured.
    if room.is_some_and(|(room, _)| bytes.abs_diff(room) <= room / KNEE) {
        return None;
    }
    let room = room.map(|(room, source)| inputs.constant(ROOM, room as f64, Unit::Bytes, source));
    if room.is_none_or(|room| bytes as f64 <= room) {
        return Some(file_read::cached(inputs, bytes, READ_BYTES));
    }
    let rate_of = cost_of(ReadWay::DirectLarge, false, file_read::LARGE_BYTES, directory::of(point));
    let device = inputs.row("device_rate_read", rate_of);
    let cached = file_read::cached(inputs, bytes, READ_BYTES);
    let slower = device.zip(cached.predicted).map(|(device, cached)| device.max(cached));
    let formula = format!("max(device_rate_read, {})", cached.formula);
    Some(PredictedCost { formula, base_hardware: device, predicted: slower, ..cached })
}

fn figures() -> Figures {
    Figures::of_single_operations().with(
        quantities! {
            ROOM, Bytes, "memory that the page cache may take: the reader's control group, or what is available";
            "cached_share", Ratio, "share of the file's bytes in the page cache (mincore) after the first reading";
            "file_share", Ratio, "share of the file that the second reading read before its time was over";
        },
        metrics! {
            "room", Bytes, Neither, "room for the page cache",
                "memory that the page cache may take: the reader's control group, or what is available";
            "cached_share", Ratio, Neither, "share of the file that is cached",
                "share of the file's bytes in the page cache after the first reading";
        },
    )
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let (bytes, limit) = sizes(round.point()).context("the point has no sizes")?;
    ensure!(
        bytes <= limit,
        Unavailable {
            reason: format!("files above {} are not written unasked", Unit::Bytes.format(limit as f64)),
            remedy: format!("allow it with --cache-limit {}", short_bytes(bytes)),
        }
    );
    let mut file = Blocks::open(round.task, 0, bytes, READ_BYTES, false)?;
    round.settle();
    let room = CacheRoom::under(limit);
    let group = room.filter(|room| room.own_group).map(|room| MemoryGroup::enter(room.bytes)).transpose()?;
    // What another process read is charged to its group.
    file.drop_cached()?;
    read_first(&mut file)?;
    let cached_share = file.cached_bytes()? as f64 / bytes as f64;
    round.ready()?;
    let mut window = read_again(round.task, &mut file)?;
    // A group that is removed keeps its pages.
    file.drop_cached()?;
    drop(group);
    let room = room.map_or_else(allowance::for_page_cache, |room| Some(room.bytes));
    window.quantities.insert(ROOM.into(), room.map(|bytes| bytes as f64));
    window.quantities.insert(HELD_SHARE.into(), Some(cached_share));
    Ok(vec![window])
}

fn row(point: &Point) -> Option<Row> {
    let size = Unit::Bytes.format(point.int(FILE_BYTES)? as f64);
    Some(Row::drawn(format!("a file of {size}, read again")))
}

/// The first reading, in which every block is checked.
fn read_first(file: &mut Blocks) -> Result<()> {
    let patience_ns = FIRST_READING_NS.max((file.bytes as f64 / SLOWEST_DISK_BYTES_PER_NS) as u64);
    let deadline = monotonic_ns() + patience_ns;
    for block in 0..file.count() {
        file.read(block)?;
        file.verify(block)?;
        ensure!(
            monotonic_ns() < deadline,
            Unavailable {
                reason: "the disk did not give the file in time (2 s, or at 100 MB/s), and the page cache did not have it"
                    .into(),
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
        assert_eq!(limit_for(1 << 29, None), 128 * MIB, "a quarter of the free disk");
        assert_eq!(limit_for(u64::MAX, Some(300 * MIB)), 450 * MIB, "beyond a control group's limit");
        assert_eq!(limit_for(u64::MAX, Some(u64::MAX)), MOST_BYTES);
        assert_eq!(limit_for(0, None), BLOCK_BYTES, "a full disk: every size is refused");
    }

    #[test]
    fn the_knee_is_looked_for_where_files_reach_it() {
        let whole = CacheRoom::of(450 * MIB, Some(300 * MIB), || false);
        assert_eq!(whole, Some(CacheRoom { bytes: 300 * MIB, own_group: false }));
        let own = CacheRoom::of(256 * MIB, Some(8 << 30), || true);
        assert_eq!(own, Some(CacheRoom { bytes: 128 * MIB, own_group: true }));
        assert_eq!(CacheRoom::of(256 * MIB, Some(8 << 30), || false), None, "files end before memory does");
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
