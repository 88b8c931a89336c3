//! Parts of single calls: the way into the kernel, its run queue, its page cache.

use super::batch;
use super::{Channel, Pinned, Task, Window};
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use syscost_sys::call;
use syscost_sys::mapping::page_bytes;

/// Pages of the file that are read in turns.
const PAGES: u64 = 16;

/// Entry, dispatch and exit with all mitigations, and a call that does nothing between them.
pub fn kernel_entry(task: &Task, _: Pinned, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    channel.ready()?;
    let mut refused = true;
    let windows = batch::batches(task, |n| (0..n).for_each(|_| refused &= call::refused()), empty);
    ensure!(refused, "a kernel that has an operation of futex(2) which no kernel has");
    Ok(windows)
}

/// The run queue locked, the running thread's time brought up to date, the next one picked: itself.
pub fn run_queue(task: &Task, _: Pinned, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    channel.ready()?;
    Ok(batch::batches(task, |n| (0..n).for_each(|_| std::thread::yield_now()), empty))
}

/// Entry, the file's checks, the page found in the page cache, and one byte copied.
pub fn cached_byte(task: &Task, _: Pinned, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let program = File::open("/proc/self/exe").context("cannot open this program's file")?;
    let pages = (program.metadata()?.len() / page_bytes() as u64).clamp(1, PAGES);
    channel.ready()?;
    let (mut byte, mut page, mut whole) = ([0], 0, true);
    let body = |n| {
        for _ in 0..n {
            page = (page + 1) % pages;
            whole &= matches!(program.read_at(&mut byte, page * page_bytes() as u64), Ok(1));
        }
    };
    let windows = batch::batches(task, body, empty);
    ensure!(whole, "a byte of this program's file could not be read");
    Ok(windows)
}

fn empty(n: u64) {
    (0..n).for_each(|i| _ = black_box(i));
}
