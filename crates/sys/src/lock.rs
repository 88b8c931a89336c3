//! flock(2): one writer per file. The kernel drops the lock when the descriptor closes, also
//! after kill -9, so that nothing stale is left behind.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Takes the file's exclusive lock without waiting; `WouldBlock` = another process holds it.
pub fn exclusive(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as the borrow of `file`.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
