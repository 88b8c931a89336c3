//! Reading blocks of scratch files with the page cache in a known state: what the file probes share.
//!
//! "Dropped" is never assumed: it is looked up before anything is timed, and a file system that
//! keeps its pages (tmpfs) makes the case unavailable. Sources: posix_fadvise(2), mincore(2), open(2).

use super::Task;
use anyhow::{Context, Result, ensure};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Duration;
use syscost_core::stats::random::Random;
use syscost_host::Unavailable;
use syscost_host::scratch;
use syscost_sys::buffer::Buffer;
use syscost_sys::page_cache::{self, Advice};
use syscost_sys::sleep::sleep;

/// The block that the published tables count in.
pub const BLOCK_BYTES: u64 = 4096;
/// O_DIRECT wants memory aligned to the device's block; a page is enough for every one.
const ALIGN_BYTES: usize = 4096;

/// More pages in the cache than this for each one read at random: something read ahead.
pub const MOST_CACHED_PER_READ: f64 = 2.0;
/// The mark of a window in which that happened.
pub const READ_AHEAD: &str = "read_ahead";
const TRIES: u32 = 5;
const TRIAL_READS: usize = 8;
/// The longest that a read under way may reasonably take.
const UNDER_WAY: Duration = Duration::from_millis(5);

/// A scratch file, opened by this worker with its own flags, and a buffer for its blocks.
pub struct Blocks {
    file: File,
    buffer: Buffer,
    /// Bytes of a block: what one read asks for.
    block_bytes: u64,
    /// Bytes of the file that are read.
    pub bytes: u64,
}

impl Blocks {
    /// File `index` of the task, the first `bytes` of it, read `block_bytes` at a time.
    pub fn open(task: &Task, index: usize, bytes: u64, block_bytes: u64, direct: bool) -> Result<Blocks> {
        let path = task.files.get(index).context("the harness made no file for this case")?;
        let flags = if direct { libc::O_DIRECT } else { 0 };
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = file.map_err(|error| {
            anyhow::Error::new(error).context(format!("cannot open the scratch file {path}"))
        })?;
        let buffer = Buffer::zeroed(block_bytes as usize, ALIGN_BYTES);
        Ok(Blocks { file, buffer, block_bytes, bytes })
    }

    /// Blocks of the file, the last perhaps shorter.
    pub fn count(&self) -> u64 {
        self.bytes.div_ceil(self.block_bytes)
    }

    /// Every block once, in an order of its own.
    pub fn shuffled(&self, seed: u64) -> Vec<u64> {
        let mut order: Vec<u64> = (0..self.count()).collect();
        Random::new(seed).shuffle(&mut order);
        order
    }

    pub fn advise(&self, advice: Advice) -> Result<()> {
        advise(&self.file, advice)
    }

    pub fn cached_bytes(&self) -> Result<u64> {
        cached_bytes(&self.file, self.bytes)
    }

    pub fn drop_cached(&self) -> Result<()> {
        drop_cached(&self.file, self.bytes)
    }

    /// Pages in the cache for each one of `read_bytes` that were read since it was empty.
    pub fn cached_per_read(&self, read_bytes: u64) -> Result<f64> {
        Ok(self.cached_bytes()? as f64 / read_bytes.max(1) as f64)
    }

    /// Makes sure that reads at random bring no other blocks. What an earlier sequential reader had
    /// under way cannot be dropped and comes late: it is waited for and dropped.
    pub fn refuse_read_ahead(&mut self, order: &[u64]) -> Result<()> {
        let mut ratio = 0.0;
        for _ in 0..TRIES {
            self.drop_cached()?;
            let mut read = 0;
            for block in order.iter().take(TRIAL_READS) {
                read += self.read(*block)?;
            }
            ratio = self.cached_per_read(read)?;
            if ratio <= MOST_CACHED_PER_READ {
                return self.drop_cached();
            }
            sleep(UNDER_WAY);
        }
        Err(Unavailable {
            reason: format!(
                "the file system brings {ratio:.1} pages for each one read at random, though told not to read ahead"
            ),
            remedy: "name a directory on another file system with --dir, or read past the page cache".into(),
        }
        .into())
    }

    /// Bytes of this block that lie in what is read of the file.
    fn length(&self, block: u64) -> u64 {
        self.block_bytes.min(self.bytes - block * self.block_bytes)
    }

    /// Reads one block; returns its length.
    #[inline]
    pub fn read(&mut self, block: u64) -> Result<u64> {
        let (at, wanted) = (block * self.block_bytes, self.length(block));
        // A whole block is asked for even where the file ends before: O_DIRECT wants whole blocks.
        let got = self.file.read_at(&mut self.buffer, at).context("cannot read")?;
        ensure!(got as u64 >= wanted, "a read of {wanted} B at {at} gave {got} B");
        Ok(wanted)
    }

    /// As [`Blocks::read`], for a forked child: allocates nothing, and says nothing of an error.
    #[inline]
    pub fn read_silently(&mut self, block: u64) -> bool {
        let got = self.file.read_at(&mut self.buffer, block * self.block_bytes);
        got.is_ok_and(|got| got as u64 >= self.length(block))
    }

    /// Are the bytes of the last read those that stand at this block?
    #[inline]
    pub fn is_right(&self, block: u64) -> bool {
        scratch::is_right(&self.buffer[..self.length(block) as usize], block * self.block_bytes)
    }

    /// As [`Blocks::is_right`], as an error.
    pub fn verify(&self, block: u64) -> Result<()> {
        ensure!(self.is_right(block), "block {block} of {} B holds other bytes", self.block_bytes);
        Ok(())
    }
}

fn advise(file: &File, advice: Advice) -> Result<()> {
    page_cache::advise(file, advice).context("posix_fadvise refuses this file")
}

pub fn cached_bytes(file: &File, bytes: u64) -> Result<u64> {
    page_cache::cached_bytes(file, bytes).context("mincore refuses this file")
}

/// Drops the file from the page cache and makes sure that it is gone.
pub fn drop_cached(file: &File, bytes: u64) -> Result<()> {
    for _ in 0..TRIES {
        advise(file, Advice::DontNeed)?;
        if cached_bytes(file, bytes)? == 0 {
            return Ok(());
        }
        // Read-ahead that was under way cannot be dropped until it has landed.
        sleep(UNDER_WAY);
    }
    Err(Unavailable {
        reason:
            "the file system keeps the file in the page cache when told to drop it (tmpfs, or pages in use)"
                .into(),
        remedy: "name a directory on a disk with --dir".into(),
    }
    .into())
}

/// A seed that differs between rounds: the order of one round teaches a device nothing about the next.
pub fn seed(task: &Task) -> u64 {
    task.token
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
