//! On which CPUs a thread may run, and whether it was moved between them.
//! Sources: sched_setaffinity(2); kernel/sched/debug.c (proc_sched_show_task).

use crate::status::done;
use std::io;

const WORD_BITS: usize = u64::BITS as usize;
/// More CPUs than any Linux kernel is built for.
const LARGEST_MASK_WORDS: usize = 65536 / WORD_BITS;

/// The CPUs that the calling thread may run on, ascending.
pub fn allowed() -> io::Result<Vec<usize>> {
    allowed_to(CALLER)
}

/// The calling thread, where a thread's number is asked for.
pub const CALLER: u32 = 0;

/// The CPUs that a thread may run on, ascending. An offline one is none of them.
pub fn allowed_to(thread: u32) -> io::Result<Vec<usize>> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut mask = vec![0u64; 1024 / WORD_BITS];
    loop {
        // SAFETY: the pointer and the length in bytes describe a live, exclusively borrowed slice.
        let result =
            unsafe { libc::sched_getaffinity(thread, size_of_val(&mask[..]), mask.as_mut_ptr().cast()) };
        if result >= 0 {
            return Ok(bits(&mask));
        }
        let error = io::Error::last_os_error();
        // EINVAL: the kernel was built for more CPUs than the mask can hold.
        if error.raw_os_error() != Some(libc::EINVAL) || mask.len() >= LARGEST_MASK_WORDS {
            return Err(error);
        }
        mask = vec![0; mask.len() * 2];
    }
}

/// The CPU that the calling thread runs on now; `None` where the kernel does not say.
#[inline]
pub fn current() -> Option<usize> {
    // SAFETY: takes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// How often the kernel has put a thread on another CPU; `None` where it does not say.
pub fn migrations(thread: u32) -> Option<u64> {
    let file = match thread {
        CALLER => "/proc/thread-self/sched".to_string(),
        number => format!("/proc/{number}/sched"),
    };
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit_once(':')?.1.trim().parse().ok()
}

/// Restricts the calling thread to these CPUs.
pub fn restrict(cpus: &[usize]) -> io::Result<()> {
    let largest = cpus.iter().copied().max().unwrap_or(0);
    if largest >= LARGEST_MASK_WORDS * WORD_BITS {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut mask = vec![0u64; largest / WORD_BITS + 1];
    for cpu in cpus {
        mask[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    }
    // SAFETY: the pointer and the length in bytes describe a live slice, which is only read.
    done(unsafe { libc::sched_setaffinity(0, size_of_val(&mask[..]), mask.as_ptr().cast()) })
}

fn bits(mask: &[u64]) -> Vec<usize> {
    (0..mask.len() * WORD_BITS).filter(|cpu| mask[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restricted_thread_stays_where_it_was_put() {
        let cpus = allowed().unwrap();
        let last = *cpus.last().unwrap();
        std::thread::spawn(move || {
            restrict(&[last]).unwrap();
            assert_eq!(allowed().unwrap(), [last]);
        })
        .join()
        .unwrap();
        assert_eq!(allowed().unwrap(), cpus, "other threads keep their own");
    }

    #[test]
    fn a_thread_that_was_moved_and_put_back_has_migrated() {
        let cpus = allowed().unwrap();
        let (first, last) = (cpus[0], *cpus.last().unwrap());
        std::thread::spawn(move || {
            restrict(&[first]).unwrap();
            let Some(before) = migrations(CALLER) else {
                return eprintln!("skipped: this kernel has no /proc/PID/sched");
            };
            assert_eq!(migrations(CALLER), Some(before), "it stayed");
            restrict(&[last]).unwrap();
            restrict(&[first]).unwrap();
            let moves = if first == last { 0 } else { 2 };
            assert_eq!(migrations(CALLER), Some(before + moves));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        for cpu in [60_000, usize::MAX] {
            assert_eq!(restrict(&[cpu]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        }
    }
}
