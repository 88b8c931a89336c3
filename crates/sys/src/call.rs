//! Single system calls without the C library's own wrappers, which may cache or do more.
//!
//! Each function makes exactly one system call and returns what the kernel returned (-1: error, in
//! errno); the only exception is the vDSO's clock, which makes none. Nothing here is a benchmark:
//! loops belong to the probes. Sources: syscall(2) and the page of each call.

use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU32;

/// getppid(2): no argument, one field read; the cheapest call that always enters the kernel.
#[inline]
pub fn getppid() -> i64 {
    // SAFETY: takes nothing and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_getppid) }
}

/// times(2) of this process, and the ticks since an arbitrary moment.
#[inline]
pub fn times(buffer: &mut libc::tms) -> i64 {
    // SAFETY: the pointer is to a live tms.
    unsafe { libc::syscall(libc::SYS_times, &raw mut *buffer) }
}

/// read(2) into a slice; the bytes read.
#[inline]
pub fn read(fd: &impl AsRawFd, buffer: &mut [u8]) -> i64 {
    // SAFETY: pointer and length are of a live, exclusively borrowed slice.
    unsafe { libc::syscall(libc::SYS_read, fd.as_raw_fd(), buffer.as_mut_ptr(), buffer.len()) }
}

/// write(2) from a slice; the bytes written.
#[inline]
pub fn write(fd: &impl AsRawFd, buffer: &[u8]) -> i64 {
    // SAFETY: pointer and length are of a live slice, which is only read.
    unsafe { libc::syscall(libc::SYS_write, fd.as_raw_fd(), buffer.as_ptr(), buffer.len()) }
}

/// A call that does nothing: futex(2) with an operation that no kernel has, which it refuses at once. Filters that allow
/// futex(2) allow it, where they may end a process for a number of no call.
#[inline]
pub fn refused() -> bool {
    const NO_OPERATION: libc::c_int = 127;
    // SAFETY: an operation that does not exist reads no memory.
    unsafe { libc::syscall(libc::SYS_futex, 0usize, NO_OPERATION, 0, 0usize, 0usize, 0) == -1 }
}

/// FUTEX_WAKE of so many waiters of this process; how many were woken.
#[inline]
pub fn futex_wake_some(word: &AtomicU32, most: u32) -> i64 {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the address is of a live, aligned word; a wake reads only the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, most) }
}

/// FUTEX_WAKE of one waiter; how many were woken. `shared` also reaches waiters of other processes.
#[inline]
pub fn futex_wake(word: &AtomicU32, shared: bool) -> i64 {
    let operation = libc::FUTEX_WAKE | if shared { 0 } else { libc::FUTEX_PRIVATE_FLAG };
    // SAFETY: the address is of a live, aligned word; a wake reads only the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) }
}

/// FUTEX_WAIT while the word holds `expected`, until `limit_ns` have passed. 0: woken; -1 with
/// EAGAIN: it held something else; EINTR, ETIMEDOUT as they say.
#[inline]
pub fn futex_wait(word: &AtomicU32, expected: u32, shared: bool, limit_ns: u64) -> i64 {
    let operation = libc::FUTEX_WAIT | if shared { 0 } else { libc::FUTEX_PRIVATE_FLAG };
    let limit =
        libc::timespec { tv_sec: (limit_ns / 1_000_000_000) as _, tv_nsec: (limit_ns % 1_000_000_000) as _ };
    // SAFETY: the address is of a live, aligned word, and the timespec outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, &raw const limit) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io;

    #[test]
    fn the_calls_do_what_their_names_say() {
        assert_eq!(getppid(), i64::from(std::os::unix::process::parent_id() as i32));
        let (reader, writer) = crate::pipe::pipe().unwrap();
        let mut byte = [0];
        assert_eq!((write(&writer, b"x"), read(&reader, &mut byte), byte[0]), (1, 1, b'x'));
        let event = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let mut count = [0; 8];
        assert_eq!((write(&event, &3u64.to_ne_bytes()), read(&event, &mut count)), (8, 8));
        assert_eq!(u64::from_ne_bytes(count), 3);
        let word = AtomicU32::new(7);
        assert_eq!(futex_wake(&word, false), 0, "nobody waits");
        assert_eq!(futex_wake_some(&word, 3), 0, "nobody waits");
        assert!(refused());
        assert_eq!(futex_wait(&word, 6, false, 1_000_000), -1, "another value: not put to sleep");
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN));
        assert_eq!(futex_wait(&word, 7, false, 1_000_000), -1, "nobody wakes it");
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ETIMEDOUT));
    }
}
