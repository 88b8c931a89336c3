//! The smallest static program: a file in memory whose machine code ends the process at once with a known status.
//!
//! Sources: elf(5), memfd_create(2), execve(2) (ETXTBSY), _exit(2).

use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// What it exits with.
pub const STATUS: i32 = 42;

/// `mov edi, 42; mov eax, 231 (exit_group); syscall`.
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[0xbf, 42, 0, 0, 0, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05];
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;

/// `mov x0, 42; mov x8, 94 (exit_group); svc 0`.
#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &[0x40, 0x05, 0x80, 0xd2, 0xc8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4];
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CODE: &[u8] = &[];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u16 = 0;

const HEADER_BYTES: u16 = 64;
const SEGMENT_BYTES: u16 = 56;
const ADDRESS: u64 = 0x40_0000;
/// A whole number of any architecture's pages.
const ALIGNMENT: u64 = 0x1_0000;

/// The program, and the path by which this process and its children execute it.
pub struct TinyProgram {
    _file: File,
    path: CString,
}

impl TinyProgram {
    pub fn new() -> io::Result<TinyProgram> {
        if CODE.is_empty() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "no machine code for this architecture"));
        }
        let mut written = File::from(executable_memory()?);
        written.write_all(&image())?;
        // What is open for writing cannot be executed.
        let file = File::open(format!("/proc/self/fd/{}", written.as_raw_fd()))?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(io::Error::other)?;
        Ok(TinyProgram { _file: file, path })
    }

    pub fn path(&self) -> &std::ffi::CStr {
        &self.path
    }
}

/// Kernels from 6.3 on want to be told that it may be executed; older ones know no such flag.
fn executable_memory() -> io::Result<OwnedFd> {
    const EXECUTABLE: MemfdFlags = MemfdFlags::from_bits_retain(0x10);
    let made = memfd_create("syscost", MemfdFlags::CLOEXEC | EXECUTABLE);
    Ok(made.or_else(|_| memfd_create("syscost", MemfdFlags::CLOEXEC))?)
}

/// An ELF file of one segment that holds the headers and the code.
fn image() -> Vec<u8> {
    let entry = u64::from(HEADER_BYTES + SEGMENT_BYTES);
    let bytes = entry + CODE.len() as u64;
    let mut image = b"\x7fELF\x02\x01\x01".to_vec();
    image.resize(16, 0);
    // An executable for this machine, by version 1.
    image.extend([2u16, MACHINE].into_iter().flat_map(u16::to_le_bytes));
    image.extend(1u32.to_le_bytes());
    image.extend([ADDRESS + entry, u64::from(HEADER_BYTES), 0].into_iter().flat_map(u64::to_le_bytes));
    image.extend(0u32.to_le_bytes());
    image.extend([HEADER_BYTES, SEGMENT_BYTES, 1, 0, 0, 0].into_iter().flat_map(u16::to_le_bytes));
    // Its segment: loaded, readable and executable.
    image.extend([1u32, 5].into_iter().flat_map(u32::to_le_bytes));
    image.extend([0, ADDRESS, ADDRESS, bytes, bytes, ALIGNMENT].into_iter().flat_map(u64::to_le_bytes));
    image.extend(CODE);
    image
}
