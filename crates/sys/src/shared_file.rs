//! Memory that two processes share through a file without a name: each maps the same pages.
//!
//! Either side may write at any time, so there is no slice of it: words are atomic, bytes are copied in
//! and out. Sources: memfd_create(2), mmap(2), fcntl(2) (file seals).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A shared mapping; the memory goes with its last holder.
#[derive(Debug)]
pub struct SharedFile {
    file: OwnedFd,
    start: *mut u8,
    bytes: usize,
}

impl SharedFile {
    /// So many zeroed bytes.
    pub fn new(bytes: usize) -> io::Result<SharedFile> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a C string; the rest are numbers.
        let fd = unsafe { libc::memfd_create(c"syscost".as_ptr(), flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is fresh and owned by nobody else.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let length = libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: takes numbers only.
        if unsafe { libc::ftruncate(fd, length) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // A file that grew shorter would turn an access into a fatal signal.
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: takes numbers only.
        if unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) } < 0 {
            return Err(io::Error::last_os_error());
        }
        SharedFile::map(file, bytes)
    }

    /// The memory of another process, as it passed it.
    pub fn of(file: OwnedFd) -> io::Result<SharedFile> {
        // SAFETY: takes numbers only.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "memory that may grow shorter"));
        }
        // SAFETY: a stat is plain numbers, for which zeroes are valid.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live stat.
        if unsafe { libc::fstat(file.as_raw_fd(), &raw mut status) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let bytes = usize::try_from(status.st_size).map_err(|_| io::ErrorKind::InvalidData)?;
        SharedFile::map(file, bytes)
    }

    fn map(file: OwnedFd, bytes: usize) -> io::Result<SharedFile> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping wherever the kernel likes; nothing existing is touched.
        let start = unsafe { libc::mmap(null_mut(), bytes, access, kind, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedFile { file, start: start.cast(), bytes })
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    #[inline]
    pub fn word32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.bytes);
        // SAFETY: inside the mapping, aligned, initialised by the kernel, and mapped as long as `self`;
        // no reference to plain data overlaps it.
        unsafe { &*self.start.add(offset).cast::<AtomicU32>() }
    }

    #[inline]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes);
        // SAFETY: as for `word32`.
        unsafe { &*self.start.add(offset).cast::<AtomicU64>() }
    }

    #[inline]
    pub fn copy_in(&self, offset: usize, from: &[u8]) {
        assert!(offset <= self.bytes && from.len() <= self.bytes - offset);
        // SAFETY: both ranges are live and do not overlap: a mapping is nobody's slice. Whoever reads
        // these bytes meanwhile reads old or new ones; users agree on who may by atomic words.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.start.add(offset), from.len()) }
    }

    #[inline]
    pub fn copy_out(&self, offset: usize, to: &mut [u8]) {
        assert!(offset <= self.bytes && to.len() <= self.bytes - offset);
        // SAFETY: as for `copy_in`; every byte value is valid.
        unsafe { std::ptr::copy_nonoverlapping(self.start.add(offset), to.as_mut_ptr(), to.len()) }
    }
}

impl AsFd for SharedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this length; references to it cannot outlive `self`.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

// SAFETY: the memory is reached through atomics and copies only.
unsafe impl Send for SharedFile {}
// SAFETY: as above.
unsafe impl Sync for SharedFile {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn both_mappings_are_the_same_memory() {
        let here = SharedFile::new(8192).unwrap();
        let there = SharedFile::of(here.as_fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((here.len(), there.len()), (8192, 8192));
        here.copy_in(8190, b"ab");
        there.word32(4).store(7, Relaxed);
        let mut bytes = [0; 2];
        there.copy_out(8190, &mut bytes);
        assert_eq!((&bytes, here.word32(4).load(Relaxed)), (b"ab", 7));
        assert_eq!(here.word64(8).load(Relaxed), 0);
    }

    #[test]
    fn memory_that_could_vanish_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        assert!(SharedFile::of(file.into()).is_err());
    }

    #[test]
    #[should_panic]
    fn beyond_the_end_is_no_memory() {
        SharedFile::new(4096).unwrap().copy_in(4096, b"x");
    }
}
