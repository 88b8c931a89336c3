//! Faults as stress-ng and lmbench make them.
//!
//! Sources: strace(1) of `stress-ng --fault 1` (0.15.06): a file made, allocated, mapped, touched, unmapped and removed, in
//! every second turn removed before it is touched; lmbench lat_pagefault.c.

use super::LASTS;
use crate::os::call::Setting;
use crate::os::props;
use anyhow::{Context, Result, ensure};
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use syscost_core::stats::random::Random;
use syscost_host::clock::thread_usage;
use syscost_sys::mapping::FileMapping;

const PAGE: usize = 4096;
const TURNS: usize = 3;

/// Time of a touch of a file's page that was just allocated; the calls around it are made and not timed.
pub fn of_allocated_file(setting: &Setting<'_>) -> Result<f64> {
    let scratch = FaultingFile(Path::new(setting.file).with_extension("faults"));
    let (before, start) = (thread_usage()?, Instant::now());
    let (mut turns, mut sum) = (0u32, 0.0);
    while turns == 0 || start.elapsed() < LASTS {
        sum += one_turn(&scratch.0, turns % 2 == 1)?.as_nanos() as f64;
        turns += 1;
    }
    let faults = thread_usage()?.since(before);
    let faults = faults.minor_faults + faults.major_faults;
    ensure!(faults >= u64::from(turns), "{turns} touches made only {faults} faults");
    Ok(sum / f64::from(turns))
}

/// Time by page of touching a whole mapped file once, in random order, as the kernel maps it: with fault-around.
pub fn of_mapped_file(setting: &Setting<'_>) -> Result<f64> {
    props::cache_by_page(setting.file)?;
    let file = File::open(setting.file)?;
    let bytes = file.metadata()?.len() as usize;
    let mut offsets: Vec<usize> = (0..bytes / PAGE).map(|page| page * PAGE).collect();
    Random::new(u64::from(std::process::id())).shuffle(&mut offsets);
    let mut best = f64::INFINITY;
    for _ in 0..TURNS {
        let mapping = FileMapping::of(&file, bytes)?;
        let before = thread_usage()?.minor_faults;
        let start = Instant::now();
        offsets.iter().for_each(|offset| _ = black_box(mapping.read(*offset)));
        best = best.min(start.elapsed().as_nanos() as f64 / offsets.len() as f64);
        ensure!(thread_usage()?.minor_faults > before, "the file was mapped already");
    }
    Ok(best)
}

/// Removed also where a turn fails between making and removing it.
struct FaultingFile(PathBuf);

impl Drop for FaultingFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn one_turn(path: &Path, removed_first: bool) -> Result<Duration> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // SAFETY: a live descriptor and numbers; the result is looked at.
    ensure!(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, 1) } == 0, "fallocate: {}", last_error());
    if removed_first {
        std::fs::remove_file(path)?;
    }
    let page = map(&file)?;
    drop(file);
    let start = Instant::now();
    // SAFETY: a page of our own, mapped to be written, of a file that holds it.
    unsafe { page.cast::<u8>().write_volatile(0) };
    let took = start.elapsed();
    unmap(page)?;
    if !removed_first {
        std::fs::remove_file(path)?;
    }
    Ok(took)
}

fn map(file: &File) -> Result<*mut libc::c_void> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping at a place of the kernel's choice; the result is looked at.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, file.as_raw_fd(), 0) };
    (page != libc::MAP_FAILED).then_some(page).with_context(|| format!("mmap: {}", last_error()))
}

fn unmap(page: *mut libc::c_void) -> Result<()> {
    // SAFETY: mapped by `map` with this length, and not used again.
    ensure!(unsafe { libc::munmap(page, PAGE) } == 0, "munmap: {}", last_error());
    Ok(())
}

fn last_error() -> std::io::Error {
    std::io::Error::last_os_error()
}
