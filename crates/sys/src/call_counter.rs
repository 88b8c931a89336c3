//! A program of the kernel that counts every entry of a system call, on each CPU by itself, for as long as it is held.
//!
//! Written out in instructions, because there are twelve of them. Sources: bpf(2), linux/bpf.h,
//! Documentation/bpf/standardization/instruction-set.rst.

use std::ffi::{c_long, c_uint};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const MAP_CREATE: c_long = 0;
const MAP_LOOKUP: c_long = 1;
const PROGRAM_LOAD: c_long = 5;
const RAW_TRACEPOINT_OPEN: c_long = 17;
const PER_CPU_ARRAY: u32 = 6;
const RAW_TRACEPOINT: u32 = 17;
const LOOK_UP: i32 = 1;

/// One instruction: code, registers (source above destination), offset, immediate.
const fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> u64 {
    code as u64
        | (to as u64) << 8
        | (from as u64) << 12
        | (offset as u16 as u64) << 16
        | (immediate as u32 as u64) << 32
}

/// `(*lookup(map, &0))++; return 0`
fn program(map: &OwnedFd) -> [u64; 12] {
    [
        instruction(0x62, 10, 0, -4, 0),
        instruction(0xbf, 2, 10, 0, 0),
        instruction(0x07, 2, 0, 0, -4),
        // The map by its descriptor, in two parts.
        instruction(0x18, 1, 1, 0, map.as_raw_fd()),
        0,
        instruction(0x85, 0, 0, 0, LOOK_UP),
        instruction(0x15, 0, 0, 3, 0),
        instruction(0x79, 1, 0, 0, 0),
        instruction(0x07, 1, 0, 0, 1),
        instruction(0x7b, 0, 1, 0, 0),
        instruction(0xb7, 0, 0, 0, 0),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

/// What bpf(2) takes, as whole words: zeroes where nothing is said.
type BpfAttributes = [u64; 16];

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn bpf(command: c_long, attributes: &BpfAttributes) -> io::Result<c_long> {
    // SAFETY: the attributes are live and longer than any kernel reads of these commands; what they point at outlives
    // the call.
    let done = unsafe {
        libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), size_of::<BpfAttributes>() as c_uint)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

fn made(command: c_long, attributes: &BpfAttributes) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: the commands that are made here return a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// CPUs that this machine may ever have: the kernel keeps a counter for each.
fn possible_cpus() -> io::Result<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    last.map(|last| last + 1).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The program, attached while this lives.
pub struct CallCounter {
    map: OwnedFd,
    cpus: usize,
    _attached: OwnedFd,
}

impl CallCounter {
    /// Of the program.
    pub const INSTRUCTIONS: usize = 12;

    pub fn attach() -> io::Result<CallCounter> {
        let cpus = possible_cpus()?;
        let mut attributes = [0; 16];
        attributes[0] = pair(PER_CPU_ARRAY, size_of::<u32>() as u32);
        attributes[1] = pair(size_of::<u64>() as u32, 1);
        let map = made(MAP_CREATE, &attributes)?;
        let instructions = program(&map);
        let mut attributes = [0; 16];
        attributes[0] = pair(RAW_TRACEPOINT, instructions.len() as u32);
        attributes[1] = instructions.as_ptr() as u64;
        attributes[2] = c"GPL".as_ptr() as u64;
        let program = made(PROGRAM_LOAD, &attributes)?;
        let mut attributes = [0; 16];
        attributes[0] = c"sys_enter".as_ptr() as u64;
        attributes[1] = pair(program.as_raw_fd() as u32, 0);
        let _attached = made(RAW_TRACEPOINT_OPEN, &attributes)?;
        Ok(CallCounter { map, cpus, _attached })
    }

    /// Entries counted so far, of all threads of the machine.
    pub fn count(&self) -> io::Result<u64> {
        let mut counts = vec![0u64; self.cpus];
        let key = 0u32;
        let mut attributes = [0; 16];
        attributes[0] = pair(self.map.as_raw_fd() as u32, 0);
        attributes[1] = (&raw const key) as u64;
        attributes[2] = counts.as_mut_ptr() as u64;
        bpf(MAP_LOOKUP, &attributes)?;
        Ok(counts.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_counted_while_it_is_held() {
        let counter = match CallCounter::attach() {
            Ok(counter) => counter,
            Err(error) => return eprintln!("skipped: no program may be attached: {error}"),
        };
        let before = counter.count().unwrap();
        (0..100).for_each(|_| _ = crate::call::getppid());
        assert!(counter.count().unwrap() - before >= 100);
    }
}
