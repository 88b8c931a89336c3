//! Words in memory that a forked child shares with its parent, each on a cache line of its own.
//!
//! Source: mmap(2), MAP_SHARED | MAP_ANONYMOUS.

use super::mapping::MappedArea;
use std::io;
use std::sync::atomic::AtomicU32;

/// No processor that runs Linux has longer lines between cores (Apple's and POWER's are 128).
const LINE_BYTES: usize = 128;

/// `N` words, all 0 at first; children forked later see the same ones.
#[derive(Debug)]
pub struct SharedWords<const N: usize>(MappedArea);

impl<const N: usize> SharedWords<N> {
    pub fn new() -> io::Result<SharedWords<N>> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        MappedArea::map(N * LINE_BYTES, access, kind, -1).map(SharedWords)
    }

    /// One word; panics beyond the last.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < N, "word {index} of {N}");
        // SAFETY: inside the mapping, aligned to a line, zeroed by the kernel, and mapped as long as
        // `self`; shared access to it is through atomics only.
        unsafe { self.0.start.add(index * LINE_BYTES).cast::<AtomicU32>().as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_child_writes_what_its_parent_reads() {
        let words = SharedWords::<2>::new().unwrap();
        // SAFETY: the child only stores into an atomic.
        let child = unsafe {
            child::fork(|| {
                words.word(1).store(41, Relaxed);
                7
            })
        };
        assert_eq!(child.unwrap().wait().unwrap(), 7);
        assert_eq!((words.word(0).load(Relaxed), words.word(1).load(Relaxed)), (0, 41));
    }
}
