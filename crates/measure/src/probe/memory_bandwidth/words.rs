//! The memory of one thread, and what each operation does with it: every pass is checked by what it
//! leaves or adds up to.

use crate::probe::Task;
use crate::probe::passes::{self, Timed};
use anyhow::{Context, Result, bail};
use syscost_sys::mapping::{Mapping, Pages};
use syscost_sys::stream::{BLOCK_WORDS, Loops};

const WORD: usize = size_of::<u64>();
/// The bytes of one turn of the loops.
pub const BLOCK: usize = BLOCK_WORDS * WORD;
/// The halves of a copy lie this far from a multiple of 4 KiB apart: a load that follows a store to
/// the same offset in another page would wait for it (Intel, Optimization Reference Manual, 4 KiB
/// aliasing).
const APART: usize = 2048;

/// The words of one thread.
pub struct MovedWords {
    memory: Mapping,
    /// Words of the whole working set, or of each half of a copy.
    count: usize,
    /// Where the half that is written begins.
    written_from: usize,
}

impl MovedWords {
    /// Touched by the thread that uses them, so that they lie on its NUMA node.
    pub fn prepare(bytes: usize, operation: &str) -> Result<MovedWords> {
        let halves = if operation == "copy" { 2 } else { 1 };
        let count = bytes / BLOCK / halves * BLOCK_WORDS;
        let written_from = if halves == 2 { (count * WORD).next_multiple_of(4096) + APART } else { 0 };
        let mapped = Mapping::anonymous(written_from + count * WORD, Pages::Base);
        let mut memory = mapped.with_context(|| format!("no memory for a working set of {bytes} bytes"))?;
        memory.populate();
        (1u64..).zip(&mut memory.words()[..count]).for_each(|(n, word)| *word = n);
        Ok(MovedWords { memory, count, written_from: written_from / WORD })
    }

    /// Goes through the words for every window, and checks what became of them.
    pub fn measure(&mut self, loops: &Loops, operation: &str, task: &Task) -> Result<Timed> {
        let count = self.count;
        let bytes = (count * WORD) as u64;
        let (head, tail) = self.memory.words().split_at_mut(self.written_from.max(count));
        let words = &mut head[..count];
        match operation {
            "read" => {
                let mut sum = 0u64;
                let timed = passes::windows(task, bytes, |n| sum = sum.wrapping_add(loops.read(words, n)));
                let once = (count as u128 * (count as u128 + 1) / 2) as u64;
                match sum == once.wrapping_mul(timed.passes) {
                    true => Ok(timed),
                    false => bail!("the words do not add up: not every one was read"),
                }
            }
            "copy" => {
                let to = &mut tail[..count];
                let timed = passes::windows(task, bytes, |n| loops.copy(to, words, n));
                match to == words {
                    true => Ok(timed),
                    false => bail!("the copy is not what was copied"),
                }
            }
            id => {
                let mut last = 0u64;
                let mut lacking = false;
                let timed = passes::windows(task, bytes, |n| {
                    let written = match id {
                        "write" => Some(loops.write(words, last.wrapping_add(1), n)),
                        _ => loops.write_past_caches(words, last.wrapping_add(1), n),
                    };
                    lacking |= written.is_none();
                    last = written.unwrap_or(last);
                });
                if lacking || last != timed.passes || words.iter().any(|word| *word != last) {
                    bail!("not every word was written in each pass");
                }
                Ok(timed)
            }
        }
    }
}
