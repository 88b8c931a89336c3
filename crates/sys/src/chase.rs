//! A chain of dependent loads: each loads the address of the next, so none can begin before the
//! one before it ends.
//!
//! One pointer at the start of each cache line. Source: Drepper, "What every programmer should know
//! about memory" (2007), 3.3.2.

use super::mapping::Mapping;
use std::hint::black_box;
use std::ptr;

/// Loads in one turn of the loop, so that the loop itself costs next to nothing.
const UNROLLED: u64 = 16;

/// A cycle of lines in memory of its own, and a place on it.
pub struct Chain {
    memory: Mapping,
    line_bytes: usize,
    at: *const u8,
}

impl Chain {
    /// Lays a chain over the first `lines` lines of the memory: `next` gives the line that follows
    /// each. Lines are written in the order of their addresses, which is fast.
    ///
    /// # Panics
    /// If the memory is too small, or `next` names a line outside it.
    pub fn lay(mut memory: Mapping, lines: usize, line_bytes: usize, next: impl Fn(usize) -> usize) -> Chain {
        assert!(line_bytes % (size_of::<*const u8>()) == 0 && line_bytes > 0 && lines > 0);
        assert!(lines.checked_mul(line_bytes).is_some_and(|bytes| bytes <= memory.len()));
        let start = memory.as_mut_ptr();
        for line in 0..lines {
            let to = next(line);
            assert!(to < lines);
            // SAFETY: both lines lie within the memory, and a line's start is aligned for a pointer.
            unsafe { start.add(line * line_bytes).cast::<*const u8>().write(start.add(to * line_bytes)) };
        }
        Chain { memory, line_bytes, at: start }
    }

    /// Follows the chain for so many loads.
    #[inline(never)]
    pub fn walk(&mut self, loads: u64) {
        let mut at = self.at;
        for _ in 0..loads / UNROLLED {
            // Written out: the loop must not cost a load's time where a load is four cycles.
            at = follow(follow(follow(follow(at))));
            at = follow(follow(follow(follow(at))));
            at = follow(follow(follow(follow(at))));
            at = follow(follow(follow(follow(at))));
        }
        for _ in 0..loads % UNROLLED {
            at = follow(at);
        }
        self.at = at;
    }

    /// The line where the walk stands.
    pub fn line(&self) -> usize {
        (self.at as usize - self.memory.as_ptr() as usize) / self.line_bytes
    }

    pub fn memory(&self) -> &Mapping {
        &self.memory
    }
}

/// The loop of [`Chain::walk`] without its loads.
#[inline(never)]
pub fn walk_without_loads(loads: u64) {
    for _ in 0..loads / UNROLLED {
        black_box(());
    }
    for _ in 0..loads % UNROLLED {
        black_box(());
    }
}

/// Private on purpose: only for addresses that [`Chain::lay`] wrote.
#[inline(always)]
fn follow(at: *const u8) -> *const u8 {
    // SAFETY: `lay` wrote the address of a line of the chain at the start of every line, the
    // memory lives as long as the chain, and nothing writes to it. Volatile: no load is folded.
    unsafe { ptr::read_volatile(at.cast::<*const u8>()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Pages;

    #[test]
    fn every_load_is_one_step() {
        let lines = 1000;
        let memory = Mapping::anonymous(lines * 64, Pages::Base).unwrap();
        let mut chain = Chain::lay(memory, lines, 64, |line| (line + 7) % lines);
        for loads in [0, 1, 15, 16, 17, 100_003] {
            let before = chain.line() as u64;
            chain.walk(loads);
            assert_eq!(chain.line() as u64, (before + 7 * loads) % lines as u64);
        }
    }

    #[test]
    #[should_panic(expected = "to < lines")]
    fn a_line_outside_the_memory_is_refused() {
        let memory = Mapping::anonymous(4096, Pages::Base).unwrap();
        Chain::lay(memory, 64, 64, |line| line + 1);
    }
}
