//! Memory that two processes share through a file without a name: each maps the same pages.
//!
//! Either side may write at any time, so there is no slice of it: words are atomic, bytes are copied in
//! and out. Sources: memfd_create(2), mmap(2), fcntl(2) (file seals).

use super::mapping::MappedArea;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A shared mapping; the memory goes with its last holder.
#[derive(Debug)]
pub struct SharedFile {
    file: OwnedFd,
    area: MappedArea,
}

impl SharedFile {
    /// So many zeroed bytes.
    pub fn new(bytes: usize) -> io::Result<SharedFile> {
        let file = memfd_create("syscost", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes as u64)?;
        // A file that grew shorter would turn an access into a fatal signal.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        SharedFile::map(file, bytes)
    }

    /// The memory of another process, as it passed it.
    pub fn of(file: OwnedFd) -> io::Result<SharedFile> {
        if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "memory that may grow shorter"));
        }
        let bytes = usize::try_from(fstat(&file)?.st_size).map_err(|_| io::ErrorKind::InvalidData)?;
        SharedFile::map(file, bytes)
    }

    fn map(file: OwnedFd, bytes: usize) -> io::Result<SharedFile> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_POPULATE;
        let area = MappedArea::map(bytes, access, kind, file.as_raw_fd())?;
        Ok(SharedFile { file, area })
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.area.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.area.bytes == 0
    }

    #[inline]
    pub fn word32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.area.bytes);
        // SAFETY: inside the mapping, aligned, initialised by the kernel, and mapped as long as `self`;
        // no reference to plain data overlaps it.
        unsafe { self.area.start.add(offset).cast::<AtomicU32>().as_ref() }
    }

    #[inline]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.area.bytes);
        // SAFETY: as for `word32`.
        unsafe { self.area.start.add(offset).cast::<AtomicU64>().as_ref() }
    }

    #[inline]
    pub fn copy_in(&self, offset: usize, from: &[u8]) {
        assert!(offset <= self.area.bytes && from.len() <= self.area.bytes - offset);
        // SAFETY: both ranges are live and do not overlap: a mapping is nobody's slice. Whoever reads
        // these bytes meanwhile reads old or new ones; users agree on who may by atomic words.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.area.start.add(offset).as_ptr(), from.len())
        }
    }

    #[inline]
    pub fn copy_out(&self, offset: usize, to: &mut [u8]) {
        assert!(offset <= self.area.bytes && to.len() <= self.area.bytes - offset);
        // SAFETY: as for `copy_in`; every byte value is valid.
        unsafe {
            std::ptr::copy_nonoverlapping(self.area.start.add(offset).as_ptr(), to.as_mut_ptr(), to.len())
        }
    }
}

impl AsFd for SharedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

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
