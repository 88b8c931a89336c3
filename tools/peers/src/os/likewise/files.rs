//! Reads of the peer's own file as fio makes them: pread(2) of 4 KiB, each between two readings of the clock.
//!
//! Source: fio engines/sync.c (psync), backend.c (invalidate, fadvise_hint), strace(1) of the compared commands.

use crate::os::call::Setting;
use anyhow::{Context, Result, ensure};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;
use syscost_core::stats::random::Random;

const BLOCK: usize = 4096;
/// What fio is told to read where not the whole file (--io_size).
const SOME_BLOCKS: usize = (16 << 20) / BLOCK;

/// The mean of all reads.
pub fn read(setting: &Setting<'_>, direct: bool, random: bool) -> Result<f64> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let file = OpenOptions::new().read(true).custom_flags(flags).open(setting.file)?;
    let blocks = file.metadata()?.len() as usize / BLOCK;
    let advise = |advice: i32| {
        // SAFETY: a live descriptor and numbers; a refusal is returned.
        let refused = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
        ensure!(refused == 0, "posix_fadvise: {}", std::io::Error::from_raw_os_error(refused));
        Ok(())
    };
    if !direct {
        advise(libc::POSIX_FADV_DONTNEED)?;
    }
    advise(if random { libc::POSIX_FADV_RANDOM } else { libc::POSIX_FADV_SEQUENTIAL })?;
    let mut order: Vec<usize> = (0..blocks).collect();
    if random {
        Random::new(u64::from(std::process::id()) ^ blocks as u64).shuffle(&mut order);
    }
    order.truncate(if random || direct { SOME_BLOCKS } else { blocks });
    let mut room = vec![0u8; 2 * BLOCK];
    let aligned = room.as_ptr().align_offset(BLOCK);
    let block = room.get_mut(aligned..aligned + BLOCK).context("no aligned room")?;
    let mut sum = 0.0;
    for place in &order {
        let start = Instant::now();
        // SAFETY: the room is a block long, and the kernel writes no more than it.
        let got = unsafe {
            libc::pread(file.as_raw_fd(), block.as_mut_ptr().cast(), BLOCK, (place * BLOCK) as libc::off_t)
        };
        sum += start.elapsed().as_nanos() as f64;
        ensure!(got == BLOCK as isize, "pread returned {got}: {}", std::io::Error::last_os_error());
    }
    Ok(sum / order.len() as f64)
}
