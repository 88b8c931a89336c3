//! What of a file is in the page cache, and advice about it.
//!
//! Sources: posix_fadvise(2), mincore(2), mmap(2).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// What posix_fadvise(2) is told about a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The default read-ahead.
    Normal,
    /// No read-ahead: every block that is read is read for itself.
    Random,
    /// Drop what is cached and not dirty.
    DontNeed,
}

/// Gives advice about all of an open file.
pub fn advise(file: &File, advice: Advice) -> io::Result<()> {
    let advice = match advice {
        Advice::Normal => libc::POSIX_FADV_NORMAL,
        Advice::Random => libc::POSIX_FADV_RANDOM,
        Advice::DontNeed => libc::POSIX_FADV_DONTNEED,
    };
    // SAFETY: takes numbers only; a length of 0 means up to the end of the file.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// How many of the file's first `bytes` are in the page cache, in whole pages. The kernel tells
/// only who may write the file or owns it, and calls every page cached to anyone else.
pub fn cached_bytes(file: &File, bytes: u64) -> io::Result<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    let (page, length) = (page_bytes(), bytes as usize);
    let mut pages = vec![0u8; length.div_ceil(page)];
    // SAFETY: a new mapping at an address of the kernel's choice; it is unmapped below and its
    // memory is never read or written.
    let start = unsafe {
        libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the mapping above, and `pages` has a byte for each of its pages.
    let result = unsafe { libc::mincore(start, length, pages.as_mut_ptr().cast()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping above, of which nothing is in use any more.
    unsafe { libc::munmap(start, length) };
    if result < 0 {
        return Err(error);
    }
    Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64 * page as u64)
}

fn page_bytes() -> usize {
    // SAFETY: takes a number only.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if bytes > 0 { bytes as usize } else { 4096 }
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
