//! Memory whose page faults another thread of this process answers.
//!
//! Only faults of user space are handed over, which needs no right. Sources: userfaultfd(2), ioctl_userfaultfd(2).

use super::call;
use super::mapping::{Mapping, Pages, page_bytes};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const USER_MODE_ONLY: libc::c_int = 1;
/// linux/userfaultfd.h; ioctl numbers of these structs, for every architecture with the usual layout of them.
const API: u64 = 0xaa;
const IOCTL_API: u32 = 0xc018_aa3f;
const IOCTL_REGISTER: u32 = 0xc020_aa00;
const IOCTL_COPY: u32 = 0xc028_aa03;
const IOCTL_ZERO_PAGE: u32 = 0xc020_aa04;
const MODE_MISSING: u64 = 1;
const EVENT_PAGE_FAULT: u8 = 0x12;
/// Of a message: 32 bytes, with the address at this place.
const MESSAGE_BYTES: usize = 32;
const ADDRESS_AT: usize = 16;

/// Memory that is empty until its faults are answered.
pub struct ServedMemory {
    memory: Mapping,
}

/// Who answers them. When it is dropped, pages appear as in any memory.
pub struct FaultServer {
    fd: OwnedFd,
}

/// So many pages, and who answers for them.
pub fn serve(pages: usize) -> io::Result<(ServedMemory, FaultServer)> {
    let memory = Mapping::anonymous(pages * page_bytes(), Pages::Base)?;
    let fd = open(USER_MODE_ONLY).or_else(|_| open(0))?;
    let mut api = [API, 0, 0];
    control(&fd, IOCTL_API, &mut api)?;
    let mut range = [memory.as_ptr() as u64, memory.len() as u64, MODE_MISSING, 0];
    control(&fd, IOCTL_REGISTER, &mut range)?;
    Ok((ServedMemory { memory }, FaultServer { fd }))
}

fn open(mode: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | mode) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn control<const N: usize>(fd: &OwnedFd, request: u32, words: &mut [u64; N]) -> io::Result<()> {
    // SAFETY: the words have the layout of the request's struct and live through the call; memory that they name is a
    // mapping of whole pages, or a source of one page that outlives the call.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), request as _, words.as_mut_ptr()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl ServedMemory {
    /// Makes every page empty again.
    pub fn discard(&mut self) -> io::Result<()> {
        self.memory.discard()
    }

    /// The first byte of a page: waits until it is there, also where nobody looks at the byte.
    #[inline]
    pub fn read(&self, page: usize) -> u8 {
        std::hint::black_box(*std::hint::black_box(&self.memory[page * page_bytes()]))
    }
}

impl FaultServer {
    /// Waits for a fault and answers it: with a copy of this page, or with the page of zeroes.
    #[inline]
    pub fn answer(&self, page: Option<&[u8]>) -> io::Result<()> {
        let mut message = [0u8; MESSAGE_BYTES];
        if call::read(&self.fd, &mut message) != MESSAGE_BYTES as i64 {
            return Err(io::Error::last_os_error());
        }
        let address = message[ADDRESS_AT..].first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        let Some(address) = address.filter(|_| message[0] == EVENT_PAGE_FAULT) else {
            return Err(io::Error::other(format!("event {} is no page fault", message[0])));
        };
        let bytes = page_bytes() as u64;
        let start = address - address % bytes;
        match page {
            Some(page) => {
                assert!(page.len() >= page_bytes());
                control(&self.fd, IOCTL_COPY, &mut [start, page.as_ptr() as u64, bytes, 0, 0])
            }
            None => control(&self.fd, IOCTL_ZERO_PAGE, &mut [start, bytes, 0, 0]),
        }
    }
}

impl AsRawFd for FaultServer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_what_the_server_answered() {
        let (mut memory, server) = match serve(2) {
            Ok(both) => both,
            Err(error) => return eprintln!("skipped: no faults are handed over here: {error}"),
        };
        let page = vec![9; page_bytes()];
        std::thread::scope(|scope| {
            let answers = || [Some(&page[..]), None, Some(&page[..])].map(|page| server.answer(page).is_ok());
            let answering = scope.spawn(answers);
            assert_eq!((memory.read(0), memory.read(1), memory.read(0)), (9, 0, 9));
            memory.discard().unwrap();
            assert_eq!(memory.read(1), 9);
            assert_eq!(answering.join().unwrap(), [true; 3]);
        });
    }
}
