//! Anonymous memory whose every system call is the caller's: mapped, protected and unmapped by one call each.
//!
//! Sources: mmap(2), mprotect(2), munmap(2), mincore(2).

use super::call;
use super::mapping::{MappedArea, page_bytes};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;

/// What the kernel is told of an area by madvise(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum AreaAdvice {
    /// Takes the pages back at once: the next touch finds zeroes.
    DontNeed = libc::MADV_DONTNEED,
    /// Lets the kernel take them when it needs memory.
    Free = libc::MADV_FREE,
    /// Puts a page behind every address (Linux 5.14); the headers of musl lack its name.
    PopulateWrite = 23,
}

/// Private zeroed memory of the system's default pages.
#[derive(Debug)]
pub struct AnonymousArea {
    area: MappedArea,
    writable: bool,
}

impl AnonymousArea {
    /// One mmap(2).
    #[inline]
    pub fn map(bytes: usize) -> io::Result<AnonymousArea> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let area = MappedArea::map(bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
        Ok(AnonymousArea { area, writable: true })
    }

    /// One munmap(2), with its result.
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        let whole = ManuallyDrop::new(self);
        // SAFETY: a mapping of ours that nothing borrows, and that is not unmapped again.
        let result = unsafe { libc::munmap(whole.area.start.as_ptr().cast(), whole.area.bytes) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// One mprotect(2) of all of it: to be read only, or read and written.
    #[inline]
    pub fn protect(&mut self, writable: bool) -> io::Result<()> {
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: the range is a mapping of ours, which every later write of ours asks about first.
        let result = unsafe { libc::mprotect(self.area.start.as_ptr().cast(), self.area.bytes, protection) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        self.writable = writable;
        Ok(())
    }

    /// One madvise(2) of all of it, with advice that keeps it mapped.
    #[inline]
    pub fn advise(&mut self, advice: AreaAdvice) -> io::Result<()> {
        // SAFETY: the range is a mapping of ours, borrowed exclusively; what it holds is nobody's value.
        let result =
            unsafe { libc::madvise(self.area.start.as_ptr().cast(), self.area.bytes, advice as i32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// How many of its pages are there (mincore(2)).
    pub fn resident_pages(&self) -> io::Result<usize> {
        let mut pages = vec![0u8; self.area.bytes.div_ceil(page_bytes())];
        // SAFETY: the range is a mapping of ours, and `pages` has a byte for each of its pages.
        let result = unsafe {
            libc::mincore(self.area.start.as_ptr().cast(), self.area.bytes, pages.as_mut_ptr().cast())
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(pages.iter().filter(|page| **page & 1 == 1).count())
    }

    /// Writes one byte of every page.
    #[inline]
    pub fn touch(&mut self) {
        assert!(self.writable);
        for offset in (0..self.area.bytes).step_by(page_bytes()) {
            // SAFETY: within the mapping, which is writable and borrowed exclusively.
            unsafe { self.area.start.add(offset).as_ptr().write_volatile(1) };
        }
    }

    /// May the byte at this offset be written? The kernel is asked to put a zero there: where it may not it says
    /// EFAULT, and no signal comes.
    pub fn takes_a_byte(&mut self, offset: usize, zero: &File) -> io::Result<bool> {
        assert!(offset < self.area.bytes);
        // SAFETY: one byte within the mapping, borrowed exclusively; only the kernel writes, which checks first.
        let byte = unsafe { std::slice::from_raw_parts_mut(self.area.start.add(offset).as_ptr(), 1) };
        if call::read(zero, byte) == 1 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::EFAULT) { Ok(false) } else { Err(error) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_there_until_it_is_unmapped() {
        let bytes = 4 * page_bytes();
        let mut area = AnonymousArea::map(bytes).unwrap();
        area.touch();
        let address = area.address();
        assert!(is_mapped(address) && is_mapped(address + bytes - 1));
        area.unmap().unwrap();
        // Another thread may map something there meanwhile: then once more.
        let gone = || {
            let area = AnonymousArea::map(bytes).unwrap();
            let address = area.address();
            area.unmap().unwrap();
            !is_mapped(address)
        };
        assert!((0..100).any(|_| gone()));
    }

    #[test]
    fn advice_puts_pages_there_and_takes_them_back() {
        let mut area = AnonymousArea::map(16 * page_bytes()).unwrap();
        assert_eq!(area.resident_pages().unwrap(), 0);
        match area.advise(AreaAdvice::PopulateWrite) {
            Ok(()) => assert_eq!(area.resident_pages().unwrap(), 16),
            Err(error) => eprintln!("skipped: this kernel populates nothing by advice: {error}"),
        }
        area.touch();
        assert_eq!(area.resident_pages().unwrap(), 16);
        area.advise(AreaAdvice::Free).unwrap();
        area.touch();
        area.advise(AreaAdvice::DontNeed).unwrap();
        assert_eq!(area.resident_pages().unwrap(), 0);
    }

    #[test]
    fn a_protected_area_takes_no_byte_until_it_is_writable_again() {
        let zero = File::open("/dev/zero").unwrap();
        let last = 3 * page_bytes() - 1;
        let mut area = AnonymousArea::map(last + 1).unwrap();
        area.touch();
        for writable in [false, true, false] {
            area.protect(writable).unwrap();
            for offset in [0, last] {
                assert_eq!(area.takes_a_byte(offset, &zero).unwrap(), writable);
            }
        }
    }
}
