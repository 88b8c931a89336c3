//! Loads and words as lmbench and sysbench read them.
//!
//! Sources: lmbench lib_mem.c (thrash_initialize), bw_mem.c; sysbench sb_memory.c.

use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::time::{Duration, Instant};
use syscost_core::stats::random::Random;
use syscost_sys::chase::Chain;
use syscost_sys::mapping::{Mapping, Pages, page_bytes};

const LINE: usize = 64;
const CHASED: Duration = Duration::from_millis(10);
const COPIED: usize = 128 << 20;
const READ: Duration = Duration::from_millis(200);

/// Every load goes to another page, always in the same random order of pages, and to another line of it each time: no
/// translation is used twice before all others were.
pub fn new_page_each_load(bytes: usize) -> Result<f64> {
    let lines = bytes / LINE;
    let mut memory = Mapping::anonymous(bytes, Pages::Base)?;
    memory.populate();
    let (pages, in_page) = (bytes / page_bytes(), page_bytes() / LINE);
    let mut order: Vec<usize> = (0..pages).collect();
    Random::new(u64::from(std::process::id())).shuffle(&mut order);
    let mut next = vec![0; lines];
    // Bits reversed, so that no prefetcher of a page's next line helps.
    let reversed = |line: usize| line.reverse_bits() >> (in_page as u64).leading_zeros() >> 1;
    let at = |step: usize| order[step % pages] * in_page + reversed((step / pages + step % pages) % in_page);
    for step in 0..lines {
        next[at(step)] = at((step + 1) % lines);
    }
    let mut chain = Chain::lay(memory, lines, LINE, |line| next[line]);
    let start_at = chain.line();
    chain.walk(lines as u64);
    ensure!(chain.line() == start_at, "the chain is not one cycle");
    let (start, mut loads) = (Instant::now(), 0);
    while start.elapsed() < CHASED {
        chain.walk(lines as u64);
        loads += lines;
    }
    Ok(start.elapsed().as_nanos() as f64 / loads as f64)
}

/// Bytes a second of adding up 4-byte words, each loaded for itself: one addition a word, no vectors.
pub fn words_of_4(bytes: usize) -> Result<f64> {
    let words = vec![1u32; bytes / 4];
    rate(bytes, || {
        let (mut even, mut odd) = (0u32, 0u32);
        for pair in words.chunks_exact(2) {
            even = even.wrapping_add(load(&pair[0]));
            odd = odd.wrapping_add(load(&pair[1]));
        }
        u64::from(even.wrapping_add(odd))
    })
}

/// The same of 8-byte words.
pub fn words_of_8(bytes: usize) -> Result<f64> {
    let words = vec![1u64; bytes / 8];
    rate(bytes, || words.iter().fold(0, |sum: u64, word| sum.wrapping_add(load(word))))
}

/// A load that no compiler joins with its neighbours.
fn load<T: Copy>(word: &T) -> T {
    // SAFETY: a reference is valid for reads; volatile only forbids to fold it.
    unsafe { std::ptr::from_ref(word).read_volatile() }
}

fn rate(bytes: usize, pass: impl Fn() -> u64) -> Result<f64> {
    let words = black_box(pass());
    ensure!(words == bytes as u64 / 4 || words == bytes as u64 / 8, "not every word was read");
    let (start, mut passes) = (Instant::now(), 0u32);
    while passes == 0 || start.elapsed() < READ {
        black_box(pass());
        passes += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    Some(bytes as f64 * f64::from(passes) / seconds).filter(|rate| rate.is_finite()).context("no time passed")
}

/// Half of it copied to the other half by the C library; bytes copied a second.
pub fn copied_by_the_library() -> Result<f64> {
    let mut memory = Mapping::anonymous(2 * COPIED, Pages::Base)?;
    memory.fill(1);
    let (to, from) = memory.split_at_mut(COPIED);
    let (start, mut passes) = (Instant::now(), 0u32);
    while passes == 0 || start.elapsed() < READ {
        // SAFETY: two halves of one mapping, which do not overlap.
        black_box(unsafe { libc::memcpy(to.as_mut_ptr().cast(), from.as_ptr().cast(), COPIED) });
        passes += 1;
    }
    Ok(COPIED as f64 * f64::from(passes) / start.elapsed().as_secs_f64())
}
