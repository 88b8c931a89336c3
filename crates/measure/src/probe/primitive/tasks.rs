//! Parts of tasks: waking one, making and ending one, and what a process's memory adds.

use super::{PlayedRound, Window, slope, timed};
use anyhow::{Context, Result, bail, ensure};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::mapping::{Mapping, Pages, page_bytes};
use syscost_sys::{call, child, process, sleep};

/// Threads woken at once: what the many take beyond the few is their wake-ups alone.
const FEW: u32 = 4;
const MANY: u32 = 20;
/// Between two looks of a sleeping thread at whether it is over.
const LIMIT_NS: u64 = 100_000_000;
/// Time for woken threads to go back to sleep.
const BACK_TO_SLEEP: Duration = Duration::from_micros(100);
const ATTEMPTS: usize = 200;
/// Of the memory whose copying is timed.
const COPIED_BYTES: usize = 8 << 20;
const STACK_BYTES: usize = 64 << 10;
const STATUS: i32 = 7;

/// Waking and queueing of threads that wait for one futex on this CPU and preempt nobody, for each beyond the few.
pub fn wake_up(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    // 0: sleep on. Threads start on the CPU of the thread that makes them, and stay there.
    let over = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let _ending = SleepersEnd(&over);
        for _ in 0..MANY {
            let sleeper = std::thread::Builder::new().stack_size(STACK_BYTES);
            let sleeper = sleeper.spawn_scoped(scope, || {
                let asked = process::preempt_nobody();
                while over.load(Acquire) == 0 {
                    call::futex_wait(&over, 0, false, LIMIT_NS);
                }
                asked
            });
            sleeper.context("cannot start a thread")?;
        }
        process::preempt_nobody().map_err(refused)?;
        slope(round, u64::from(MANY - FEW), || wake(&over, FEW), || wake(&over, MANY))
    })
}

fn refused(error: std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("a thread may not ask to preempt nobody ({error})"),
        remedy: "a sandbox that allows sched_setscheduler(2) with SCHED_BATCH".into(),
    }
}

/// Ends all sleepers, also where the timed end fails.
struct SleepersEnd<'a>(&'a AtomicU32);

impl Drop for SleepersEnd<'_> {
    fn drop(&mut self) {
        self.0.store(1, Release);
        call::futex_wake_some(self.0, u32::MAX >> 1);
    }
}

/// The time of a call that woke exactly so many.
fn wake(word: &AtomicU32, threads: u32) -> Result<u64> {
    for _ in 0..ATTEMPTS {
        sleep::sleep(BACK_TO_SLEEP);
        let start = monotonic_ns();
        let woken = call::futex_wake_some(word, threads);
        let ns = monotonic_ns() - start;
        if woken == i64::from(threads) {
            return Ok(ns);
        }
    }
    bail!(Unavailable {
        reason: format!("{threads} threads never slept at the same time"),
        remedy: "leave this CPU to the run".into(),
    })
}

/// copy_process, a switch to the task and back, do_exit, and release_task, without the C library.
pub fn task(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let mut stack = vec![0u8; STACK_BYTES];
    round.operations(|| timed(|| child::thread_exit_wait(&mut stack)))
}

fn fork() -> Result<u64> {
    let mut status = 0;
    let ns = timed(|| child::fork_exit_wait(STATUS).map(|ended| status = ended))?;
    ensure!(status == STATUS, "a child ended with {status}");
    Ok(ns)
}

/// A task with an address space of its own: the areas and pages of this program copied, and torn down.
pub fn fork_base(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    round.operations(fork)
}

/// A page-table entry copied, write-protected in the parent, and dropped: the same process with memory that its
/// children get, and that they do not get (madvise(2), MADV_DONTFORK).
pub fn fork_page(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let mut memory = Mapping::anonymous(COPIED_BYTES, Pages::Base).context("cannot get the memory")?;
    memory.populate();
    let memory = std::cell::RefCell::new(memory);
    let fork_with = |copied: bool| {
        memory.borrow_mut().for_children(copied).context("madvise for children")?;
        fork()
    };
    slope(round, (COPIED_BYTES / page_bytes()) as u64, || fork_with(false), || fork_with(true))
}
