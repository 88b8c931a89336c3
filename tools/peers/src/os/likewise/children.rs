//! Children and threads as stress-ng and osbench make them.
//!
//! Sources: strace(1) and /proc/PID/maps of `stress-ng --fork 1` (0.15.06); osbench create_threads.c, create_processes.c and
//! launch_programs.c.

use super::{LASTS, mean};
use crate::os::call::Setting;
use anyhow::{Result, bail, ensure};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Instant;

const PAGE: usize = 4096;
/// Beside those that this program has: stress-ng has 168, of its libraries and of memory that it shares, with 318 pages of its
/// own and 21 of page tables (/proc/PID/smaps).
const MAPPINGS: usize = 130;
const PAGES: usize = 2;
const APART: usize = 256 << 10;
const AT_A_TIME: usize = 100;

/// Mean of fork, exit and wait in a process with as many mappings as stress-ng has, whose child makes its calls.
pub fn fork_among_mappings(_: &Setting<'_>) -> Result<f64> {
    let areas = Areas::new()?;
    let ns = mean(1, || ended(forked(child)?))?;
    drop(areas);
    Ok(ns)
}

/// A child that does this.
fn forked(child: fn() -> !) -> Result<libc::pid_t> {
    // SAFETY: the child makes system calls only, and ends without returning.
    match unsafe { libc::fork() } {
        -1 => bail!("fork: {}", std::io::Error::last_os_error()),
        0 => child(),
        pid => Ok(pid),
    }
}

pub fn ended(pid: libc::pid_t) -> Result<()> {
    let mut status = 0;
    // SAFETY: waits for our own child; the status is room of ours.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    ensure!(waited == pid && status == 0, "a child failed");
    Ok(())
}

fn child() -> ! {
    // SAFETY: calls of the child about itself; refusals do not matter, and nothing runs after the last.
    unsafe {
        let (itself, group) = (libc::getpid(), libc::getpgid(libc::getpid()));
        // Without a terminal there is nothing to hang up.
        if libc::setsid() != -1 {
            libc::vhangup();
        }
        libc::setpgid(0, 0);
        libc::setpgid(itself, group);
        libc::setpgid(0, -1);
        libc::setpgid(-1, 0);
        libc::sched_yield();
        libc::_exit(0);
    }
}

/// Pages of our own in so many mappings, as far from each other as those of libraries are: page tables lie between.
struct Areas(*mut c_void);

impl Areas {
    fn new() -> Result<Areas> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice; the result is looked at.
        let start = unsafe { libc::mmap(null_mut(), MAPPINGS * APART, access, flags, -1, 0) };
        ensure!(start != libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
        let areas = Areas(start);
        for area in 0..MAPPINGS {
            // SAFETY: within the mapping, which is ours to write; what lies beyond the written pages is used by nobody.
            let refused = unsafe {
                let first = start.cast::<u8>().add(area * APART);
                (0..PAGES).for_each(|page| first.add(page * PAGE).write_volatile(1));
                libc::munmap(first.add(PAGES * PAGE).cast(), APART - PAGES * PAGE) != 0
            };
            ensure!(!refused, "munmap: {}", std::io::Error::last_os_error());
        }
        Ok(areas)
    }
}

impl Drop for Areas {
    fn drop(&mut self) {
        // SAFETY: the whole of what `new` mapped, and not used again.
        unsafe { libc::munmap(self.0, MAPPINGS * APART) };
    }
}

/// By one of a hundred, the best of all turns.
fn best(mut hundred: impl FnMut() -> Result<()>) -> Result<f64> {
    let (mut best, begun) = (f64::INFINITY, Instant::now());
    while begun.elapsed() < LASTS {
        let start = Instant::now();
        hundred()?;
        best = best.min(start.elapsed().as_nanos() as f64 / AT_A_TIME as f64);
    }
    Ok(best)
}

pub fn hundred_threads(_: &Setting<'_>) -> Result<f64> {
    extern "C" fn nothing(_: *mut c_void) -> *mut c_void {
        null_mut()
    }
    best(|| {
        let mut threads: [libc::pthread_t; AT_A_TIME] = [0; AT_A_TIME];
        let mut failed = 0;
        for thread in &mut threads {
            // SAFETY: room for the thread's name; usual attributes; a function that touches nothing.
            failed |= unsafe { libc::pthread_create(thread, std::ptr::null(), nothing, null_mut()) };
        }
        ensure!(failed == 0, "pthread_create: {}", std::io::Error::from_raw_os_error(failed));
        for thread in threads {
            // SAFETY: made above, and joined once.
            failed |= unsafe { libc::pthread_join(thread, null_mut()) };
        }
        ensure!(failed == 0, "pthread_join: {}", std::io::Error::from_raw_os_error(failed));
        Ok(())
    })
}

fn hundred_children(child: fn() -> !) -> Result<f64> {
    best(|| {
        let children = (0..AT_A_TIME).map(|_| forked(child)).collect::<Result<Vec<_>>>()?;
        children.into_iter().try_for_each(ended)
    })
}

pub fn hundred_forks(_: &Setting<'_>) -> Result<f64> {
    // SAFETY: ends the child, and nothing else.
    hundred_children(|| unsafe { libc::_exit(0) })
}

pub fn hundred_programs(_: &Setting<'_>) -> Result<f64> {
    hundred_children(|| {
        let name = c"/bin/true".as_ptr();
        // SAFETY: a C string, and a list of them that ends with null; where there is no such program the child fails.
        unsafe {
            libc::execv(name, [name, std::ptr::null()].as_ptr());
            libc::_exit(1)
        }
    })
}
