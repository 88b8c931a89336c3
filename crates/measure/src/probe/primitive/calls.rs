//! Parts of single calls: the way into the kernel, its run queue, its page cache.

use super::{PlayedRound, Window};
use crate::probe::batch;
use crate::probe::operation::empty;
use anyhow::{Context, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use syscost_sys::call;
use syscost_sys::mapping::page_bytes;

/// Pages of the file that are read in turns.
const PAGES: u64 = 16;

/// Entry, dispatch and exit with all mitigations, and a call that does nothing between them.
pub fn kernel_entry(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    round.checked("a kernel had an operation of futex(2) which no kernel has", call::refused)
}

/// The run queue locked, the running thread's time brought up to date, the next one picked: itself.
pub fn run_queue(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    round.ready()?;
    Ok(batch::batches(round.task, |n| (0..n).for_each(|_| std::thread::yield_now()), empty))
}

/// Entry, the file's checks, the page found in the page cache, and one byte copied.
pub fn cached_byte(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let program = File::open("/proc/self/exe").context("cannot open this program's file")?;
    let pages = (program.metadata()?.len() / page_bytes() as u64).clamp(1, PAGES);
    let (mut byte, mut page) = ([0], 0);
    round.checked("a byte of this program's file could not be read", || {
        page = (page + 1) % pages;
        matches!(program.read_at(&mut byte, page * page_bytes() as u64), Ok(1))
    })
}
