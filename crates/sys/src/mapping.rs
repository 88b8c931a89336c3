//! Mapped memory whose pages are chosen and given back: anonymous, and of a file.
//!
//! Sources: mmap(2), madvise(2).

use crate::status::done;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::{NonNull, null_mut};

/// linux/mman.h; the headers of musl lack it.
const MADV_COLLAPSE: libc::c_int = 25;

/// Which pages the kernel is asked to put behind a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Of the processor's base size, whatever the system's default is.
    Base,
    /// Transparent huge pages of this size. It is advice: what came of it has to be looked up.
    Huge { bytes: usize },
}

/// A stretch of address space, unmapped on drop.
#[derive(Debug)]
pub(super) struct MappedArea {
    pub start: NonNull<u8>,
    pub bytes: usize,
}

// SAFETY: the area is owned, and handed out under the usual borrow rules only.
unsafe impl Send for MappedArea {}
// SAFETY: shared access only reads.
unsafe impl Sync for MappedArea {}

impl MappedArea {
    /// Of a descriptor, or of none (-1).
    pub fn map(bytes: usize, protection: i32, flags: i32, fd: RawFd) -> io::Result<MappedArea> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { libc::mmap(null_mut(), bytes, protection, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave address 0"))?;
        Ok(MappedArea { start, bytes })
    }

    /// Keeps what lies in `from..from + bytes` and unmaps both ends.
    fn trim(self, from: usize, bytes: usize) -> MappedArea {
        let whole = std::mem::ManuallyDrop::new(self);
        // SAFETY: `from + bytes` is within the area, of which only the parts outside are unmapped.
        let middle = unsafe { whole.start.add(from) };
        drop(MappedArea { start: whole.start, bytes: from });
        // SAFETY: as above; this is the end of the part that is kept.
        let end = unsafe { middle.add(bytes) };
        drop(MappedArea { start: end, bytes: whole.bytes - from - bytes });
        MappedArea { start: middle, bytes }
    }

    fn advise(&self, advice: i32) -> io::Result<()> {
        // SAFETY: the range is a mapping of ours; callers pass only advice that keeps it mapped.
        done(unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, advice) })
    }
}

impl Drop for MappedArea {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: a mapping of ours that nothing borrows any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}

/// Private zeroed memory, page by page on first touch.
#[derive(Debug)]
pub struct Mapping {
    area: MappedArea,
}

impl Mapping {
    /// At least so many bytes, a whole number of pages, aligned to a page of the kind asked for.
    pub fn anonymous(bytes: usize, pages: Pages) -> io::Result<Mapping> {
        let unit = match pages {
            Pages::Base => page_bytes(),
            Pages::Huge { bytes } => bytes.max(page_bytes()),
        };
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = bytes.max(1).checked_next_multiple_of(unit).ok_or_else(too_large)?;
        let room = bytes.checked_add(unit).ok_or_else(too_large)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let area = MappedArea::map(room, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
        let from = area.start.as_ptr().align_offset(unit);
        let area = area.trim(from, bytes);
        match pages {
            // A kernel without transparent huge pages refuses the advice and needs none.
            Pages::Base => match area.advise(libc::MADV_NOHUGEPAGE) {
                Err(error) if error.raw_os_error() != Some(libc::EINVAL) => return Err(error),
                _ => {}
            },
            Pages::Huge { .. } => area.advise(libc::MADV_HUGEPAGE)?,
        }
        Ok(Mapping { area })
    }

    /// Puts a page behind every address now.
    pub fn populate(&mut self) {
        // Linux before 5.14 does not know it; touching does the same, page fault by page fault.
        if self.area.advise(libc::MADV_POPULATE_WRITE).is_err() {
            for offset in (0..self.area.bytes).step_by(page_bytes()) {
                self.touch(offset);
            }
        }
    }

    /// Asks the kernel to move what is there into huge pages (Linux 6.1).
    pub fn collapse(&mut self) -> io::Result<()> {
        self.area.advise(MADV_COLLAPSE)
    }

    /// Do children made by fork get it (which is the default), or nothing at its addresses?
    #[inline]
    pub fn for_children(&mut self, given: bool) -> io::Result<()> {
        self.area.advise(if given { libc::MADV_DOFORK } else { libc::MADV_DONTFORK })
    }

    /// Gives every page back; the next touch of each is a fault again.
    #[inline]
    pub fn discard(&mut self) -> io::Result<()> {
        self.area.advise(libc::MADV_DONTNEED)
    }

    /// Writes one byte, so that its page is there.
    #[inline]
    pub fn touch(&mut self, offset: usize) {
        assert!(offset < self.area.bytes);
        // SAFETY: within the mapping, which is writable and borrowed exclusively.
        unsafe { self.area.start.add(offset).as_ptr().write_volatile(1) }
    }

    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.area.start.as_ptr()
    }

    /// The mapping as words; a whole number of pages is a whole number of words.
    pub fn words(&mut self) -> &mut [u64] {
        // SAFETY: mapped, readable and writable, aligned to a page, initialised (zero) by the
        // kernel, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.area.start.as_ptr().cast(), self.area.bytes / 8) }
    }
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: mapped, readable, initialised (zero) by the kernel; nobody else knows of it.
        unsafe { std::slice::from_raw_parts(self.area.start.as_ptr(), self.area.bytes) }
    }
}

impl DerefMut for Mapping {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, writable, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.area.start.as_ptr(), self.area.bytes) }
    }
}

/// A file's pages, one byte at a time: others may write the file, so there is no slice.
#[derive(Debug)]
pub struct FileMapping {
    area: MappedArea,
    private: bool,
}

impl FileMapping {
    /// The first `bytes` of the file, to be read.
    pub fn of(file: &File, bytes: usize) -> io::Result<FileMapping> {
        FileMapping::map(file, bytes, false)
    }

    /// The first `bytes` of the file, of which a page that is written becomes a copy of our own.
    pub fn private_of(file: &File, bytes: usize) -> io::Result<FileMapping> {
        FileMapping::map(file, bytes, true)
    }

    /// The file must be that long: a touch beyond its end is fatal.
    fn map(file: &File, bytes: usize, private: bool) -> io::Result<FileMapping> {
        if (bytes as u64) > file.metadata()?.len() || bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file is shorter than its mapping"));
        }
        let (protection, flags) = match private {
            true => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE),
            false => (libc::PROT_READ, libc::MAP_SHARED),
        };
        Ok(FileMapping { area: MappedArea::map(bytes, protection, flags, file.as_raw_fd())?, private })
    }

    /// No readahead: each page is read when it is touched.
    pub fn expect_random_access(&self) -> io::Result<()> {
        self.area.advise(libc::MADV_RANDOM)
    }

    #[inline]
    pub fn read(&self, offset: usize) -> u8 {
        assert!(offset < self.area.bytes);
        // SAFETY: within the mapping, which is readable; the file was as long when it was mapped.
        unsafe { self.area.start.add(offset).as_ptr().read_volatile() }
    }

    /// Writes one byte of our own copy of a page, which is made at the first such touch.
    #[inline]
    pub fn touch(&mut self, offset: usize) {
        assert!(self.private && offset < self.area.bytes);
        // SAFETY: within a private, writable mapping of a file that was as long when it was mapped.
        unsafe { self.area.start.add(offset).as_ptr().write_volatile(1) }
    }
}

/// The processor's base page as the kernel uses it.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn anonymous_memory_is_aligned_zeroed_and_given_back() {
        let page = page_bytes();
        let mut small = Mapping::anonymous(1, Pages::Base).unwrap();
        assert_eq!((small.len(), small.as_ptr().align_offset(page)), (page, 0));
        small.touch(page - 1);
        assert_eq!(small[page - 1], 1);
        small.discard().unwrap();
        assert_eq!(small[page - 1], 0, "a fresh page");
        small.populate();
        small.words()[0] = u64::MAX;
        assert_eq!(small[..8], [255; 8]);
    }

    #[test]
    fn memory_for_huge_pages_begins_at_one() {
        let bytes = 2 << 20;
        match Mapping::anonymous(1, Pages::Huge { bytes }) {
            Ok(huge) => assert_eq!((huge.len(), huge.as_ptr().align_offset(bytes)), (bytes, 0)),
            Err(error) => eprintln!("skipped: this kernel has no transparent huge pages: {error}"),
        }
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert!(Mapping::anonymous(usize::MAX, Pages::Base).is_err());
        assert!(Mapping::anonymous(1 << 60, Pages::Base).is_err());
    }

    #[test]
    fn a_file_is_read_through_its_mapping() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes = 4 * page_bytes();
        file.write_all(&vec![7; bytes]).unwrap();
        let mapping = FileMapping::of(&file, bytes).unwrap();
        mapping.expect_random_access().unwrap();
        assert_eq!(mapping.read(bytes - 1), 7);
        assert!(FileMapping::of(&file, bytes + 1).is_err(), "beyond its end");
        let mut private = FileMapping::private_of(&file, bytes).unwrap();
        private.touch(0);
        assert_eq!((private.read(0), mapping.read(0)), (1, 7), "the file keeps its byte");
    }
}
