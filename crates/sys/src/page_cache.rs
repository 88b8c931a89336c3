//! What of a file is in the page cache, and advice about it.
//!
//! Sources: posix_fadvise(2), mincore(2), mmap(2).

use super::mapping::{MappedArea, page_bytes};
use super::status::done;
pub use rustix::fs::Advice;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Gives advice about all of an open file.
pub fn advise(file: &File, advice: Advice) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, advice)?)
}

/// How many of the file's first `bytes` are in the page cache, in whole pages. The kernel tells
/// only who may write the file or owns it, and calls every page cached to anyone else.
pub fn cached_bytes(file: &File, bytes: u64) -> io::Result<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    let (page, length) = (page_bytes(), bytes as usize);
    let mut pages = vec![0u8; length.div_ceil(page)];
    // Its memory is never read or written.
    let area = MappedArea::map(length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd())?;
    // SAFETY: the range is the mapping above, and `pages` has a byte for each of its pages.
    done(unsafe { libc::mincore(area.start.as_ptr().cast(), length, pages.as_mut_ptr().cast()) })?;
    Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64 * page as u64)
}

/// Pages of the file that are not on the disk yet: changed, or being written (cachestat(2), Linux 6.5). `None`: this
/// kernel does not tell.
pub fn unwritten_pages(file: &File) -> Option<u64> {
    const SYS_CACHESTAT: libc::c_long = 451;
    // From the start to the end of the file; pages cached, changed, being written, evicted, recently evicted.
    let (range, mut pages) = ([0u64; 2], [0u64; 5]);
    // SAFETY: both arrays have the layout that the call takes, and live through it.
    let told =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut pages, 0u32) };
    (told == 0).then_some(pages[1] + pages[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    #[test]
    fn what_was_read_is_cached_and_what_was_dropped_is_not() {
        // Not in /tmp, which may be memory: what lies there cannot be dropped.
        let folder = std::env::current_dir().unwrap();
        let Ok(mut file) = tempfile::tempfile_in(folder) else {
            return eprintln!("skipped: page cache: the working directory cannot be written");
        };
        let bytes = 64 * page_bytes() as u64;
        file.write_all(&vec![7; bytes as usize]).unwrap();
        file.sync_all().unwrap();
        assert_eq!(cached_bytes(&file, bytes).unwrap(), bytes, "what was written is cached");
        advise(&file, Advice::DontNeed).unwrap();
        let left = cached_bytes(&file, bytes).unwrap();
        if left == bytes {
            return eprintln!("skipped: page cache: this file system drops nothing");
        }
        assert_eq!(left, 0);
        advise(&file, Advice::Random).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, bytes / 2).unwrap();
        assert_eq!(byte, [7]);
        let now = cached_bytes(&file, bytes).unwrap();
        assert!(now > 0 && now < bytes / 2, "one block, not its neighbours: {now} B");
        advise(&file, Advice::Normal).unwrap();
    }
}
