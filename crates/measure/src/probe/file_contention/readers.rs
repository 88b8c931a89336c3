//! The reading processes: forked once a round, told by pipe when a window ends, heard by pipe.
//!
//! A child allocates nothing and calls only read(2), pread(2), write(2), poll(2) and the clock. It
//! ends when it is told to or hears nothing for long, and is killed when the worker dies: closed pipes
//! would not end it, since the children forked later hold copies. Sources: fork(2), pipe(7), prctl(2).

use super::super::batch::{self, BatchRecorder};
use super::super::blocks::{self, BLOCK_BYTES, Blocks};
use super::super::operation::PlayedRound;
use super::super::{Task, Window};
use super::{FILE_SIZE, PROCESSES};
use crate::probe::quantities;
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::io::{Read, Write};
use std::time::Duration;
use syscost_core::sample::Quantity;
use syscost_core::stats;
use syscost_host::clock::monotonic_ns;
use syscost_sys::child::{self, Child};
use syscost_sys::page_cache::Advice;
use syscost_sys::pipe::pipe;
use syscost_sys::process;

pub const QUANTITIES: &[Quantity] = quantities! {
    "total_rate", BytesPerSecond, "sum over the processes of their own rates";
    "slowest_process_ns", Nanoseconds, "the largest of the processes' median times of a read";
};

const READ_BLOCKS: usize = (FILE_SIZE / BLOCK_BYTES) as usize;
/// Exit status of a child that could not read, or read something else.
const WRONG: i32 = 2;
/// The deadline that means: no more windows.
const END: u64 = 0;
/// A child that is told nothing for so long has no worker any more.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let task = round.task;
    let count = task.point.int(PROCESSES).context("the point names no processes")?;
    let mut readers = Vec::new();
    for number in 0..count {
        readers.push(ReaderProcess::fork(task, number as usize)?);
    }
    // After the forks: the children shall run wherever there is room.
    round.settle();
    let overhead_ns = batch::clock_overhead_ns();
    drop_all(&readers)?;
    round.ready()?;
    let mut windows = Vec::new();
    for _ in 0..task.timing.windows {
        windows.push(window(task, &mut readers, overhead_ns)?);
    }
    for reader in readers {
        reader.end()?;
    }
    Ok(windows)
}

fn drop_all(readers: &[ReaderProcess]) -> Result<()> {
    readers.iter().try_for_each(|reader| reader.file.drop_cached())
}

fn window(task: &Task, readers: &mut [ReaderProcess], overhead_ns: f64) -> Result<Window> {
    drop_all(readers)?;
    let mut recorder = BatchRecorder::start();
    let deadline = monotonic_ns() + task.timing.window_ns;
    for reader in readers.iter_mut() {
        reader.commands.write_all(&deadline.to_le_bytes()).context("a reading process is gone")?;
    }
    let (mut medians, mut rate, mut read_ahead) = (Vec::new(), 0.0, false);
    for reader in readers.iter_mut() {
        let done = reader.hear()?;
        let times: Vec<f64> = done.times.iter().map(|ns| f64::from(*ns)).collect();
        times.iter().for_each(|ns| recorder.record(*ns, 1));
        let bytes = times.len() as u64 * BLOCK_BYTES;
        rate += bytes as f64 * 1e9 / done.elapsed_ns.max(1) as f64;
        medians.push(stats::median(&times).context("a process came to no read in its window")?);
        read_ahead |= reader.file.cached_per_read(bytes)? > blocks::MOST_CACHED_PER_READ;
    }
    let mut window = recorder.window(task, 1.0, Some(overhead_ns));
    if read_ahead {
        window.marks.push(blocks::READ_AHEAD.into());
    }
    window.bytes = window.ops * BLOCK_BYTES as f64;
    let quantities = &mut window.quantities;
    // Each process counts once, however many reads it came to.
    quantities.insert("median_ns".into(), stats::median(&medians));
    quantities.insert("slowest_process_ns".into(), stats::quantile(&medians, 1.0));
    quantities.insert("total_rate".into(), Some(rate));
    Ok(window)
}

/// One child, and the parent's ends of its pipes.
struct ReaderProcess {
    file: Blocks,
    commands: File,
    results: File,
    child: Child,
}

/// What a child did in one window.
struct ReaderReport {
    elapsed_ns: u64,
    times: Vec<u32>,
}

impl ReaderProcess {
    fn fork(task: &Task, number: usize) -> Result<ReaderProcess> {
        let open = || Blocks::open(task, number, FILE_SIZE, BLOCK_BYTES, false);
        let (file, mut own) = (open()?, open()?);
        own.advise(Advice::Random)?;
        let order = own.shuffled(blocks::seed(task).wrapping_add(number as u64));
        own.refuse_read_ahead(&order)?;
        let mut times = vec![0u8; READ_BLOCKS * size_of::<u32>()];
        let (mut commanded, commands) = pipe().context("cannot make a pipe")?;
        let (results, mut told) = pipe().context("cannot make a pipe")?;
        // SAFETY: the child reads, writes and looks at the clock; everything it uses was allocated
        // before, and it neither allocates, locks nor unwinds (every index is checked by its loop).
        let child = unsafe { child::fork(|| serve(&mut own, &order, &mut times, &mut commanded, &mut told)) };
        Ok(ReaderProcess { file, commands, results, child: child.context("cannot fork a reading process")? })
    }

    fn hear(&mut self) -> Result<ReaderReport> {
        let mut head = [0u8; 16];
        if self.results.read_exact(&mut head).is_err() {
            bail!("a reading process could not read its file, or found other bytes in it");
        }
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let (reads, elapsed_ns) = (word(0) as usize, word(8));
        ensure!(reads <= READ_BLOCKS, "a reading process speaks nonsense");
        let mut bytes = vec![0u8; reads * size_of::<u32>()];
        self.results.read_exact(&mut bytes).context("a reading process ended early")?;
        let times = bytes.chunks_exact(4).map(|ns| u32::from_le_bytes([ns[0], ns[1], ns[2], ns[3]]));
        Ok(ReaderReport { elapsed_ns, times: times.collect() })
    }

    fn end(mut self) -> Result<()> {
        self.commands.write_all(&END.to_le_bytes()).context("a reading process is gone")?;
        let status = self.child.wait().context("a reading process was ended")?;
        ensure!(status == 0, "a reading process ended with status {status}");
        Ok(())
    }
}

/// The child's life: a deadline comes, it reads until then, and says what each read took.
fn serve(file: &mut Blocks, order: &[u64], times: &mut [u8], commands: &mut File, results: &mut File) -> i32 {
    // Touched before anything is timed: a forked child's memory is copied at its first write.
    times.fill(1);
    let mut next = order.iter().cycle();
    let mut deadline = [0u8; 8];
    while process::wait_readable(&*commands, PATIENCE).is_ok_and(|ready| ready)
        && commands.read_exact(&mut deadline).is_ok()
    {
        let deadline = u64::from_le_bytes(deadline);
        if deadline == END {
            return 0;
        }
        let start = monotonic_ns();
        let (mut now, mut reads) = (start, 0u64);
        for slot in times.chunks_exact_mut(size_of::<u32>()) {
            let Some(&block) = next.next() else { return WRONG };
            let before = monotonic_ns();
            if !file.read_silently(block) {
                return WRONG;
            }
            now = monotonic_ns();
            if !file.is_right(block) {
                return WRONG;
            }
            slot.copy_from_slice(&u32::try_from(now - before).unwrap_or(u32::MAX).to_le_bytes());
            reads += 1;
            if now >= deadline {
                break;
            }
        }
        let length = reads as usize * size_of::<u32>();
        let said = results
            .write_all(&reads.to_le_bytes())
            .and_then(|()| results.write_all(&(now - start).to_le_bytes()))
            .and_then(|()| results.write_all(&times[..length]));
        if said.is_err() {
            return WRONG;
        }
    }
    WRONG
}
