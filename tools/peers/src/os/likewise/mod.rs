//! Experiments: ours, done as a peer does it. Where such a variant agrees with the peer and ours does not, what they do
//! otherwise is what the figures differ by; where it does not, the difference is not explained.
//!
//! A variant is another value of our own axes, another reading of our samples, or a few lines in this folder. It is
//! recorded beside the figures that it explains.

mod calls;
mod children;
mod faults;
mod files;
mod lines;
mod memory;
mod network;

use super::call::Setting;
use anyhow::{Result, anyhow, bail};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use syscost_host::topology::pin_this_thread;

/// One variant.
pub struct Likewise {
    pub row: &'static str,
    pub peer: &'static str,
    /// What it does as the peer does: after "ours".
    pub what: &'static str,
    pub how: How,
}

pub enum How {
    /// Our row with these coordinates instead.
    At(&'static [(&'static str, &'static str)]),
    /// Our row, its loop included.
    Gross,
    /// In the row's base unit, on the first CPU of the setting.
    Own(fn(&Setting<'_>) -> Result<f64>),
}

const fn own(
    row: &'static str,
    peer: &'static str,
    what: &'static str,
    how: fn(&Setting<'_>) -> Result<f64>,
) -> Likewise {
    Likewise { row, peer, what, how: How::Own(how) }
}

/// As long as a figure of lmbench takes, and half of what one of stress-ng and osbench does.
const LASTS: Duration = Duration::from_millis(500);
const NEW_PAGE: &str = "every load on another page, pages in a fixed random order, the mean over 10 ms";
const SINGLE_READS: &str = "on the peer's file, each read timed for itself, the mean of all";

/// Every variant, in the order of the rows.
#[rustfmt::skip]
pub const ALL: &[Likewise] = &[
    Likewise { row: "procedure", peer: "lmbench", what: "with its loop", how: How::Gross },
    own("fork", "stress-ng", "in a process of 160 mappings with as many pages, whose child makes nine system calls", children::fork_among_mappings),
    own("fork", "osbench", "a hundred children made before the first is waited for, the best of 0.5 s", children::hundred_forks),
    own("vfork", "stress-ng", "the mean over 0.5 s", calls::vfork_mean),
    own("fork_exec", "osbench", "a hundred children made before the first is waited for, the best of 0.5 s", children::hundred_programs),
    own("thread", "osbench", "a hundred threads made before the first is joined, the best of 0.5 s", children::hundred_threads),
    own("signal_caught", "lmbench", "by kill(2), less a kill(2) without a signal, the mean over 0.5 s", calls::caught_less_kill),
    own("select_100", "lmbench", "of files that can all be written, which may not wait, the mean over 0.5 s", calls::select_of_files),
    own("stat", "lmbench", "the C library's stat of /etc, the mean over 0.5 s", calls::stat_by_path),
    own("open_close", "lmbench", "/etc/passwd, the mean over 0.5 s", calls::open_by_path),
    own("core_to_core", "core-to-core-latency", "a compare-and-swap on both ends, mean of samples", lines::swapped),
    own("load_16k", "lmbench", NEW_PAGE, |_| memory::new_page_each_load(16 << 10)),
    own("load_512k", "lmbench", NEW_PAGE, |_| memory::new_page_each_load(512 << 10)),
    own("load_8m", "lmbench", NEW_PAGE, |_| memory::new_page_each_load(8 << 20)),
    own("read_16k", "lmbench", "4-byte words added up one by one", |_| memory::words_of_4(16 << 10)),
    own("read_256m", "sysbench", "8-byte words read one by one", |_| memory::words_of_8(256 << 20)),
    own("copy_256m", "perf", "by the C library's memcpy", |_| memory::copied_by_the_library()),
    own("fault_anonymous", "stress-ng", "a page of a file just allocated, of which only the touch is timed", faults::of_allocated_file),
    own("fault_file", "lmbench", "every page of its mapped file touched once, fault-around on, by page", faults::of_mapped_file),
    own("tcp", "netperf", "with the system's congestion control, the mean over half a second", network::mean_round_trip),
    Likewise { row: "connect", peer: "netperf", what: "from socket(2) until both sides have closed",
        how: How::At(&[("phase", "whole")]) },
    own("file_direct_random", "fio", SINGLE_READS, |setting| files::read(setting, true, true)),
    own("file_direct_sequential", "fio", SINGLE_READS, |setting| files::read(setting, true, false)),
    own("file_cold_sequential", "fio", SINGLE_READS, |setting| files::read(setting, false, false)),
    own("file_cold_random", "fio", SINGLE_READS, |setting| files::read(setting, false, true)),
];

/// The name of a variant's side in the record.
pub fn tool(peer: &str) -> String {
    format!("{} as {peer}", super::record::OURS)
}

pub fn of(row: &str, peer: &str) -> Option<&'static Likewise> {
    ALL.iter().find(|likewise| likewise.row == row && likewise.peer == peer)
}

/// A figure of one that is not a case of ours: in a process of its own with one thread, as the peers have, because it is
/// moved to a CPU, and because the kernel counts references to files, and seeks who gets a signal, where there are more.
pub fn figure(how: fn(&Setting<'_>) -> Result<f64>, setting: &Setting<'_>) -> Result<f64> {
    let (mut said, mut says) = std::io::pipe()?;
    // SAFETY: this program has one thread, so the child may do what it likes; it ends here.
    match unsafe { libc::fork() } {
        -1 => bail!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            let figure = pin_this_thread(setting.cpus.0).map_err(Into::into).and_then(|()| how(setting));
            let text = figure.map_or_else(|why| format!("{why:#}"), |figure| figure.to_string());
            let written = says.write_all(text.as_bytes());
            // SAFETY: ends the child, and nothing of its parent's.
            unsafe { libc::_exit(i32::from(written.is_err())) }
        }
        pid => {
            drop(says);
            let mut text = String::new();
            let read = said.read_to_string(&mut text);
            children::ended(pid)?;
            read?;
            text.parse().map_err(|_| anyhow!(text))
        }
    }
}

/// The mean of an operation over `LASTS`; the clock is read after so many of them.
fn mean(batch: u32, mut operation: impl FnMut() -> Result<()>) -> Result<f64> {
    let (start, mut done) = (Instant::now(), 0u32);
    loop {
        (0..batch).try_for_each(|_| operation())?;
        done += batch;
        let elapsed = start.elapsed();
        if elapsed >= LASTS {
            return Ok(elapsed.as_nanos() as f64 / f64::from(done));
        }
    }
}
