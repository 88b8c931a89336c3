//! The reader: passes over a file, each after its cache was put into the state that the case names.

use super::super::batch::{self, BatchRecorder};
use super::super::blocks::{self, BLOCK_BYTES, Blocks};
use super::super::operation::PlayedRound;
use super::super::{Task, Timing, Window};
use super::axes;
use crate::probe::file_read::axes::{FILE_BYTES, PAGE_CACHE, READ_MODE, READ_PATTERN};
use crate::probe::quantities;
use anyhow::{Context, Result, ensure};
use syscost_core::axis::Point;
use syscost_core::sample::Quantity;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::page_cache::Advice;

pub const QUANTITIES: &[Quantity] = quantities! {
    "file_share", Ratio, "share of the file that the last pass read before its time was over";
    "cached_per_read", Ratio, "bytes in the page cache after the last pass over bytes that it read (page cache dropped)";
};

const LARGE_BLOCK_BYTES: u64 = 1 << 20;
/// A device below this rate does not finish a large file in one window: its share is then recorded.
const EXPECTED_BYTES_PER_NS: f64 = 1.0;
/// The page cache is faster.
const CACHED_BYTES_PER_NS: f64 = 5.0;
const SHORTEST_WINDOW_NS: u64 = 3_000_000;
const LONGEST_WINDOW_NS: u64 = 60_000_000;
/// For reads that are timed one by one, each of which waits for the device.
const WINDOW_OF_SINGLES_NS: u64 = 10_000_000;
/// Other programs may push pages out while the file is read.
const TRIES_TO_CACHE: u32 = 3;
/// How often a pass looks at the clock.
const LOOK_EVERY: u64 = 16;

/// What a case reads, and how.
#[derive(Clone, Copy)]
struct ReadKind {
    direct: bool,
    /// Is the file cached when a pass begins?
    warm: bool,
    random: bool,
    block_bytes: u64,
}

impl ReadKind {
    fn of(point: &Point) -> ReadKind {
        let mode = point.text(READ_MODE);
        ReadKind {
            direct: mode != Some(axes::BUFFERED),
            warm: point.text(PAGE_CACHE) == Some(axes::WARM),
            random: point.text(READ_PATTERN) == Some(axes::RANDOM),
            block_bytes: if mode == Some(axes::DIRECT_LARGE) { LARGE_BLOCK_BYTES } else { BLOCK_BYTES },
        }
    }

    /// Does every read wait for the device?
    fn waits(self) -> bool {
        self.block_bytes == BLOCK_BYTES && !self.warm && (self.random || self.direct)
    }
}

pub fn timing(point: &Point, base: Timing) -> Timing {
    let kind = ReadKind::of(point);
    if kind.waits() {
        return Timing { window_ns: WINDOW_OF_SINGLES_NS, windows: 1, ..base };
    }
    let rate = if kind.warm { CACHED_BYTES_PER_NS } else { EXPECTED_BYTES_PER_NS };
    let whole = (point.int(FILE_BYTES).unwrap_or(0) as f64 / rate) as u64;
    let window_ns = whole.clamp(SHORTEST_WINDOW_NS, LONGEST_WINDOW_NS);
    Timing { window_ns, windows: if window_ns > WINDOW_OF_SINGLES_NS { 1 } else { 2 }, ..base }
}

pub fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let task = round.task;
    let kind = ReadKind::of(&task.point);
    let bytes = task.point.int(FILE_BYTES).context("the point has no file size")?;
    let mut reader = FileReader {
        file: Blocks::open(task, 0, bytes, kind.block_bytes, kind.direct)?,
        kind,
        order: Vec::new(),
        verify: task.verify_all,
    };
    if kind.random {
        reader.file.advise(Advice::Random)?;
        reader.order = reader.file.shuffled(blocks::seed(task));
    }
    if kind.random && !kind.warm && !kind.direct {
        reader.file.refuse_read_ahead(&reader.order)?;
    }
    round.settle();
    let overhead_ns = batch::clock_overhead_ns();
    reader.verify_first(task.timing.warmup_ns)?;
    round.ready()?;
    (0..task.timing.windows).map(|_| reader.window(task, overhead_ns)).collect()
}

struct FileReader {
    file: Blocks,
    kind: ReadKind,
    /// The order of a random pass; empty for a sequential one.
    order: Vec<u64>,
    /// Check the bytes of every block in sequential passes too.
    verify: bool,
}

/// What one pass read.
struct Pass {
    blocks: u64,
    bytes: u64,
}

impl FileReader {
    fn block(&self, index: u64) -> u64 {
        if self.kind.random { self.order[index as usize] } else { index }
    }

    /// The warm-up: blocks in the case's order, each checked.
    fn verify_first(&mut self, warmup_ns: u64) -> Result<()> {
        let deadline = monotonic_ns() + warmup_ns;
        for index in 0..self.file.count() {
            let block = self.block(index);
            self.file.read(block)?;
            self.file.verify(block)?;
            if monotonic_ns() > deadline && !self.verify {
                break;
            }
        }
        Ok(())
    }

    /// Passes until the window is over; each begins in the case's state of the cache.
    fn window(&mut self, task: &Task, overhead_ns: f64) -> Result<Window> {
        let mut recorder = BatchRecorder::start();
        let mut last = None;
        let (mut blocks, mut passes) = (0, 0);
        while last.is_none() || recorder.elapsed_ns() < task.timing.window_ns {
            self.prepare()?;
            let deadline = monotonic_ns() + task.timing.window_ns;
            let pass = if self.kind.random || self.kind.waits() {
                self.one_by_one(&mut recorder, deadline)?
            } else {
                self.as_a_batch(&mut recorder, deadline)?
            };
            blocks += pass.bytes.div_ceil(BLOCK_BYTES);
            passes += 1;
            last = Some(pass);
        }
        let singles = self.kind.random || self.kind.waits();
        let batch_blocks = if singles { 1.0 } else { blocks as f64 / f64::from(passes) };
        let mut window = recorder.window(task, batch_blocks, Some(overhead_ns / batch_blocks));
        window.bytes = window.ops * BLOCK_BYTES as f64;
        let pass = last.context("no pass")?;
        let put = &mut window.quantities;
        put.insert("file_share".into(), Some(pass.bytes as f64 / self.file.bytes as f64));
        let ratio = self.cached_per_read(&pass)?;
        put.insert("cached_per_read".into(), ratio);
        if self.kind.random && ratio.is_some_and(|ratio| ratio > blocks::MOST_CACHED_PER_READ) {
            window.marks.push(blocks::READ_AHEAD.into());
        }
        Ok(window)
    }

    fn prepare(&mut self) -> Result<()> {
        if !self.kind.warm {
            return self.file.drop_cached();
        }
        for _ in 0..TRIES_TO_CACHE {
            if self.file.cached_bytes()? >= self.file.bytes {
                return Ok(());
            }
            for block in 0..self.file.count() {
                self.file.read(block)?;
            }
        }
        ensure!(
            self.file.cached_bytes()? >= self.file.bytes,
            Unavailable {
                reason: "the page cache does not keep a file of this size here".into(),
                remedy: "name a smaller file size with --file-size, or allow more memory".into(),
            }
        );
        Ok(())
    }

    /// Every read timed for itself.
    fn one_by_one(&mut self, recorder: &mut BatchRecorder, deadline: u64) -> Result<Pass> {
        let mut pass = Pass { blocks: 0, bytes: 0 };
        while pass.blocks < self.file.count() {
            let block = self.block(pass.blocks);
            let start = monotonic_ns();
            let got = self.file.read(block)?;
            let end = monotonic_ns();
            recorder.record((end - start) as f64, 1);
            self.file.verify(block)?;
            pass.blocks += 1;
            pass.bytes += got;
            if end >= deadline {
                break;
            }
        }
        Ok(pass)
    }

    /// The whole pass timed as one: read-ahead makes single reads either free or slow.
    fn as_a_batch(&mut self, recorder: &mut BatchRecorder, deadline: u64) -> Result<Pass> {
        let mut pass = Pass { blocks: 0, bytes: 0 };
        let look_every = if self.kind.block_bytes > BLOCK_BYTES { 1 } else { LOOK_EVERY };
        let start = monotonic_ns();
        while pass.blocks < self.file.count() {
            pass.bytes += self.file.read(pass.blocks)?;
            if self.verify {
                self.file.verify(pass.blocks)?;
            }
            pass.blocks += 1;
            if pass.blocks % look_every == 0 && monotonic_ns() >= deadline {
                break;
            }
        }
        let ns = monotonic_ns() - start;
        recorder.record(ns as f64, pass.bytes.div_ceil(BLOCK_BYTES));
        self.file.verify(pass.blocks - 1)?;
        Ok(pass)
    }

    /// Of a pass through an emptied page cache.
    fn cached_per_read(&self, pass: &Pass) -> Result<Option<f64>> {
        if self.kind.warm || self.kind.direct {
            return Ok(None);
        }
        self.file.cached_per_read(pass.bytes).map(Some)
    }
}
