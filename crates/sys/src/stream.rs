//! Loops that only move data: read, write, copy, and write past the caches.
//!
//! x86-64 has them in vectors of 32 bytes (AVX2, where the processor has it) or 16; elsewhere
//! plain loops that the compiler turns into vectors. Nothing can be folded: what is read is
//! summed, what is written changes from pass to pass. Sources: Intel 64 and IA-32 Architectures
//! Optimization Reference Manual (streaming stores), Arm ARM (STNP), McCalpin's STREAM.

use std::hint::black_box;

/// Words in one turn of the loops: every slice must be a multiple of it.
pub const BLOCK_WORDS: usize = 16;

/// The loops of one instruction set.
#[derive(Clone, Copy)]
pub struct Loops {
    /// What they are made of, for the record.
    pub name: &'static str,
    sum: fn(&[u64]) -> u64,
    fill: fn(&mut [u64], u64),
    copy: fn(&mut [u64], &[u64]),
    fill_past_caches: Option<fn(&mut [u64], u64)>,
}

impl Loops {
    /// The best that this processor has.
    pub fn here() -> Loops {
        best()
    }

    /// The sum of all words, so many times over.
    pub fn read(&self, words: &[u64], passes: u64) -> u64 {
        check(words);
        (0..passes).fold(0, |sum: u64, _| sum.wrapping_add((self.sum)(black_box(words))))
    }

    /// Writes `first`, then `first + 1`, ... over all words; returns the last one.
    pub fn write(&self, words: &mut [u64], first: u64, passes: u64) -> u64 {
        repeat(self.fill, words, first, passes)
    }

    /// As [`Loops::write`], by stores that leave no line in any cache and are done when it
    /// returns; `None`: this processor has no such store.
    pub fn write_past_caches(&self, words: &mut [u64], first: u64, passes: u64) -> Option<u64> {
        Some(repeat(self.fill_past_caches?, words, first, passes))
    }

    pub fn has_stores_past_caches(&self) -> bool {
        self.fill_past_caches.is_some()
    }

    /// Copies `from` to `to`, so many times over.
    pub fn copy(&self, to: &mut [u64], from: &[u64], passes: u64) {
        assert_eq!(to.len(), from.len());
        check(from);
        check(to);
        for _ in 0..passes {
            (self.copy)(black_box(&mut *to), black_box(from));
        }
    }
}

/// Every loop takes whole blocks of aligned words.
fn check(words: &[u64]) {
    assert!(words.len() % BLOCK_WORDS == 0, "whole blocks");
    assert!((words.as_ptr() as usize) % (BLOCK_WORDS * size_of::<u64>()) == 0, "aligned to a block");
}

fn repeat(fill: fn(&mut [u64], u64), words: &mut [u64], first: u64, passes: u64) -> u64 {
    check(words);
    let mut value = first;
    for pass in 0..passes {
        value = first.wrapping_add(pass);
        fill(black_box(&mut *words), value);
    }
    value
}

#[cfg(target_arch = "x86_64")]
fn best() -> Loops {
    if is_x86_feature_detected!("avx2") { avx2::LOOPS } else { sse2::LOOPS }
}

/// The four loops over one kind of vector.
#[cfg(target_arch = "x86_64")]
macro_rules! vector_loops {
    ($room:ident, $name:literal, $feature:literal, $vector:ident, $load:ident, $store:ident, $stream:ident, $add:ident) => {
        /// Callers must have the instruction set, and pass whole aligned blocks.
        mod $room {
            use super::{BLOCK_WORDS, Loops};
            use core::arch::x86_64::*;

            pub const LOOPS: Loops = Loops {
                name: $name,
                // SAFETY: only used where the processor has the instruction set, with `check`ed slices.
                sum: |words| unsafe { sum(words) },
                // SAFETY: as above.
                fill: |words, value| unsafe { fill(words, value) },
                // SAFETY: as above; `Loops::copy` compared the lengths.
                copy: |to, from| unsafe { copy(to, from) },
                // SAFETY: as above.
                fill_past_caches: Some(|words, value| unsafe { fill_past_caches(words, value) }),
            };

            const LANES: usize = size_of::<$vector>() / size_of::<u64>();
            /// Vectors in one turn of the loop.
            const TURN: usize = BLOCK_WORDS / LANES;

            /// Arithmetic of vectors stands in blocks that are unsafe for another reason: the functions are unsafe
            /// to older compilers alone.
            #[target_feature(enable = $feature)]
            unsafe fn sum(words: &[u64]) -> u64 {
                let mut sums = [every(0); TURN];
                let mut at = words.as_ptr().cast::<$vector>();
                for _ in 0..words.len() / BLOCK_WORDS {
                    for sum in &mut sums {
                        // SAFETY: aligned, and within the slice: as many vectors as it has.
                        *sum = unsafe { $add(*sum, $load(at)) };
                        at = at.wrapping_add(1);
                    }
                }
                // SAFETY: a vector is as many words, of any value.
                let lanes = unsafe { core::mem::transmute::<[$vector; TURN], [u64; BLOCK_WORDS]>(sums) };
                lanes.into_iter().fold(0, u64::wrapping_add)
            }

            /// A vector of this word.
            #[inline(always)]
            fn every(word: u64) -> $vector {
                // SAFETY: as in `sum`.
                unsafe { core::mem::transmute([word; LANES]) }
            }

            #[target_feature(enable = $feature)]
            unsafe fn fill(words: &mut [u64], value: u64) {
                let vector = every(value);
                let mut at = words.as_mut_ptr().cast::<$vector>();
                for _ in 0..words.len() / BLOCK_WORDS {
                    for _ in 0..TURN {
                        // SAFETY: as in `sum`, and the borrow is unique.
                        unsafe { $store(at, vector) };
                        at = at.wrapping_add(1);
                    }
                }
            }

            #[target_feature(enable = $feature)]
            unsafe fn copy(to: &mut [u64], from: &[u64]) {
                let mut to = to.as_mut_ptr().cast::<$vector>();
                let mut at = from.as_ptr().cast::<$vector>();
                for _ in 0..from.len() / BLOCK_WORDS {
                    for _ in 0..TURN {
                        // SAFETY: as above, for both slices, which are of one length.
                        unsafe { $store(to, $load(at)) };
                        (to, at) = (to.wrapping_add(1), at.wrapping_add(1));
                    }
                }
            }

            #[target_feature(enable = $feature)]
            unsafe fn fill_past_caches(words: &mut [u64], value: u64) {
                let vector = every(value);
                let mut at = words.as_mut_ptr().cast::<$vector>();
                for _ in 0..words.len() / BLOCK_WORDS {
                    for _ in 0..TURN {
                        // SAFETY: as in `fill`.
                        unsafe { $stream(at, vector) };
                        at = at.wrapping_add(1);
                    }
                }
                // Streaming stores wait in buffers: they are done, and ordered, after this only. (`_mm_sfence` is
                // an unsafe function to older compilers and a safe one to newer ones: one of them would warn.)
                // SAFETY: every x86-64 has the instruction, which touches no register and no memory of ours.
                unsafe { core::arch::asm!("sfence", options(nostack, preserves_flags)) };
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vector_loops!(
    avx2,
    "AVX2, vectors of 32 bytes",
    "avx2",
    __m256i,
    _mm256_load_si256,
    _mm256_store_si256,
    _mm256_stream_si256,
    _mm256_add_epi64
);
#[cfg(target_arch = "x86_64")]
vector_loops!(
    sse2,
    "SSE2, vectors of 16 bytes",
    "sse2",
    __m128i,
    _mm_load_si128,
    _mm_store_si128,
    _mm_stream_si128,
    _mm_add_epi64
);

#[cfg(not(target_arch = "x86_64"))]
fn best() -> Loops {
    Loops {
        name: "loops of 8-byte words that the compiler makes vectors of; copy is the C library's memcpy",
        sum: |words| words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word)),
        fill: |words, value| words.fill(black_box(value)),
        copy: |to, from| to.copy_from_slice(from),
        fill_past_caches: STORE_PAIRS,
    }
}

#[cfg(target_arch = "aarch64")]
const STORE_PAIRS: Option<fn(&mut [u64], u64)> = Some(|words, value| {
    for pair in words.chunks_exact_mut(2) {
        // SAFETY: stores 16 bytes, which the chunk has and which are borrowed exclusively.
        unsafe { core::arch::asm!("stnp {0}, {0}, [{1}]", in(reg) value, in(reg) pair.as_mut_ptr()) };
    }
});
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const STORE_PAIRS: Option<fn(&mut [u64], u64)> = None;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;

    /// Words 1, 2, 3, ... aligned to a block.
    struct StreamWords(Buffer);

    impl StreamWords {
        fn count(words: usize) -> StreamWords {
            let mut words = StreamWords(Buffer::zeroed(words * 8, BLOCK_WORDS * 8));
            (1u64..).zip(words.slice()).for_each(|(n, word)| *word = n);
            words
        }

        fn slice(&mut self) -> &mut [u64] {
            // SAFETY: aligned to a block of words, initialised, and borrowed exclusively.
            unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() / 8) }
        }
    }

    fn all() -> Vec<Loops> {
        vec![
            Loops::here(),
            #[cfg(target_arch = "x86_64")]
            sse2::LOOPS,
        ]
    }

    #[test]
    fn every_loop_does_its_work() {
        for loops in all() {
            let mut words = StreamWords::count(64);
            assert_eq!(loops.read(words.slice(), 3), 3 * 64 * 65 / 2, "{}", loops.name);
            let mut other = StreamWords::count(64);
            assert_eq!(loops.write(other.slice(), 10, 5), 14);
            assert!(other.slice().iter().all(|word| *word == 14), "{}", loops.name);
            loops.copy(other.slice(), words.slice(), 1);
            assert_eq!(other.slice(), words.slice(), "{}", loops.name);
            if let Some(last) = loops.write_past_caches(other.slice(), 20, 2) {
                assert!(other.slice().iter().all(|word| *word == last && last == 21), "{}", loops.name);
            }
        }
    }

    #[test]
    #[should_panic(expected = "whole blocks")]
    fn a_part_of_a_block_is_refused() {
        Loops::here().read(&StreamWords::count(32).slice()[..9], 1);
    }
}
