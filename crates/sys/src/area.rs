//! Anonymous memory whose every system call is the caller's: mapped and unmapped by one call each.
//!
//! Sources: mmap(2), munmap(2), mincore(2).

use super::mapping::{MappedArea, page_bytes};
use super::status::done;
use std::io;
use std::mem::ManuallyDrop;

/// Private zeroed memory of the system's default pages.
#[derive(Debug)]
pub struct AnonymousArea {
    area: MappedArea,
}

impl AnonymousArea {
    /// One mmap(2).
    #[inline]
    pub fn map(bytes: usize) -> io::Result<AnonymousArea> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let area = MappedArea::map(bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
        Ok(AnonymousArea { area })
    }

    /// One munmap(2), with its result.
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        let whole = ManuallyDrop::new(self);
        // SAFETY: a mapping of ours that nothing borrows, and that is not unmapped again.
        done(unsafe { libc::munmap(whole.area.start.as_ptr().cast(), whole.area.bytes) })
    }

    /// Writes one byte of every page.
    #[inline]
    pub fn touch(&mut self) {
        for offset in (0..self.area.bytes).step_by(page_bytes()) {
            // SAFETY: within the mapping, which is writable and borrowed exclusively.
            unsafe { self.area.start.add(offset).as_ptr().write_volatile(1) };
        }
    }

    /// Where it lies.
    pub fn address(&self) -> usize {
        self.area.start.as_ptr() as usize
    }
}

/// Is anything mapped in the page of this address (mincore(2) says ENOMEM where nothing is)?
pub fn is_mapped(address: usize) -> bool {
    let page = address - address % page_bytes();
    let mut resident = [0u8];
    // SAFETY: the range is only looked up; one byte is written for its one page.
    unsafe { libc::mincore(page as *mut libc::c_void, page_bytes(), resident.as_mut_ptr().cast()) == 0 }
}
