//! Calls as lmbench and stress-ng make them: names by their whole path, files that are ready at once, signals by kill(2).
//!
//! Sources: strace(1) of `lat_select -n 100 file` (select(2) on files to be written, all of them ready), of `lat_sig catch`
//! (kill(2) of signal 0 first, which is subtracted), of `lat_syscall stat` and `open`, and of `stress-ng --vfork 1` (0.15.06).

use super::mean;
use crate::os::call::Setting;
use anyhow::{Context, Result, ensure};
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use syscost_sys::child;

/// Calls between two readings of the clock.
const BATCH: u32 = 100;
const FILES: usize = 100;
const STACK_BYTES: usize = 64 << 10;

fn mean_of_calls(what: &str, mut call: impl FnMut() -> bool) -> Result<f64> {
    mean(BATCH, || {
        ensure!(call(), "{what}: {}", std::io::Error::last_os_error());
        Ok(())
    })
}

pub fn stat_by_path(_: &Setting<'_>) -> Result<f64> {
    // SAFETY: plain data, for which zeroes are a value.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, and room for the answer.
    mean_of_calls("stat", || unsafe { libc::stat(c"/etc".as_ptr(), &raw mut found) } == 0)
}

pub fn open_by_path(_: &Setting<'_>) -> Result<f64> {
    const PATH: &CStr = c"/etc/passwd";
    // SAFETY: a C string; what was opened is closed, and used by nobody.
    mean_of_calls("open", || unsafe { libc::close(libc::open(PATH.as_ptr(), libc::O_RDONLY)) } == 0)
}

/// A hundred descriptors of one file that can all be written, and a call that may not wait.
pub fn select_of_files(setting: &Setting<'_>) -> Result<f64> {
    let file = File::options().write(true).open(setting.file)?;
    let files = (0..FILES).map(|_| file.try_clone()).collect::<Result<Vec<File>, _>>()?;
    let end = 1 + files.iter().map(AsRawFd::as_raw_fd).max().context("no files")?;
    ensure!((end as usize) < libc::FD_SETSIZE, "descriptor {end} is beyond what select(2) knows");
    // SAFETY: plain data, for which zeroes are the empty set.
    let mut asked: libc::fd_set = unsafe { std::mem::zeroed() };
    // SAFETY: a live set, and numbers that it has room for (looked at above).
    files.iter().for_each(|file| unsafe { libc::FD_SET(file.as_raw_fd(), &raw mut asked) });
    mean_of_calls("select", || {
        let (mut set, mut at_once) = (asked, libc::timeval { tv_sec: 0, tv_usec: 0 });
        // SAFETY: a live set with room for every number below `end`; null asks for nothing.
        let ready = unsafe { libc::select(end, null_mut(), &raw mut set, null_mut(), &raw mut at_once) };
        ready == FILES as i32
    })
}

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn caught(_: libc::c_int) {
    CAUGHT.fetch_add(1, Relaxed);
}

/// A signal by kill(2) that a handler catches, less a kill(2) that sends none.
pub fn caught_less_kill(_: &Setting<'_>) -> Result<f64> {
    let handler = caught as extern "C" fn(libc::c_int);
    // SAFETY: a handler that adds to an atomic number.
    let refused = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) } == libc::SIG_ERR;
    ensure!(!refused, "signal: {}", std::io::Error::last_os_error());
    // SAFETY: no pointers.
    let kill = |signal| mean_of_calls("kill", || unsafe { libc::kill(libc::getpid(), signal) } == 0);
    let (with, without) = (kill(libc::SIGUSR1)?, kill(0)?);
    ensure!(CAUGHT.load(Relaxed) > 0, "no signal came");
    Ok(with - without)
}

/// The mean of all, where ours is the median of what rounds get at best.
pub fn vfork_mean(_: &Setting<'_>) -> Result<f64> {
    let mut stack = vec![0; STACK_BYTES];
    mean(1, || {
        ensure!(child::vfork_exit_wait(&mut stack, 0)? == 0, "a child failed");
        Ok(())
    })
}
