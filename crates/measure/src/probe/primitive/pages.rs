//! Parts of memory: a fault without a page of its own, and a page without a fault.

use super::{PlayedRound, Window, slope, timed};
use crate::probe::batch::BatchRecorder;
use anyhow::{Context, Result, ensure};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use syscost_host::Unavailable;
use syscost_host::clock::{monotonic_ns, thread_usage};
use syscost_sys::mapping::{Mapping, Pages, page_bytes};

const FAULTS: u64 = 256;
/// Sizes that no row has, in pages.
const FEW: usize = 48;
const MANY: usize = 768;

/// Exception, the area found, the table walked, and an entry set: reading untouched memory maps the page of zeroes, which
/// is neither allocated nor cleared.
pub fn zero_page(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let mut memory = Mapping::anonymous(FAULTS as usize * page_bytes(), Pages::Base)?;
    round.ready()?;
    let mut windows = Vec::new();
    for _ in 0..round.task.timing.windows {
        let mut recorder = BatchRecorder::start();
        while recorder.is_empty() || recorder.elapsed_ns() < round.task.timing.window_ns {
            memory.discard()?;
            let before = thread_usage()?;
            let start = monotonic_ns();
            let zeroes =
                (0..memory.len()).step_by(page_bytes()).all(|offset| *black_box(&memory[offset]) == 0);
            recorder.record((monotonic_ns() - start) as f64, FAULTS);
            ensure!(zeroes, "untouched memory is not zero");
            let faults = thread_usage()?.since(before).minor_faults;
            ensure!(
                faults >= FAULTS,
                Unavailable {
                    reason: format!("{FAULTS} untouched pages were read with {faults} page faults"),
                    remedy: "a kernel that counts page faults and lets a process turn huge pages off".into(),
                }
            );
        }
        windows.push(recorder.window(round.task, FAULTS as f64, Some(0.0)));
    }
    Ok(windows)
}

/// A page allocated, accounted for, filled by a copy and put into the cache of a file in memory, by write(2).
pub fn fresh_page(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let file = memfd_create("syscost", MemfdFlags::CLOEXEC).context("cannot make a file in memory")?;
    let file = File::from(file);
    let bytes = vec![1u8; MANY * page_bytes()];
    let grow = |pages: usize| {
        let mut end = &file;
        let ns = timed(|| end.write_all(&bytes[..pages * page_bytes()]))?;
        file.set_len(0)?;
        std::io::Seek::rewind(&mut end)?;
        Ok(ns)
    };
    slope(round, (MANY - FEW) as u64, || grow(FEW), || grow(MANY))
}

/// A page taken out of the cache of a file in memory and given back to the kernel, by truncation.
pub fn freed_page(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let file = memfd_create("syscost", MemfdFlags::CLOEXEC).context("cannot make a file in memory")?;
    let file = File::from(file);
    let bytes = vec![1u8; MANY * page_bytes()];
    let shrink = |pages: usize| {
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes[..pages * page_bytes()], 0)?;
        timed(|| file.set_len(0))
    };
    slope(round, (MANY - FEW) as u64, || shrink(FEW), || shrink(MANY))
}
