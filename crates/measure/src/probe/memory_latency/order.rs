//! A random cycle through all lines of a working set, of which any step can be computed alone.
//!
//! Shuffling 512 MiB of lines takes longer than measuring them. A bijection on the numbers of the
//! lines (a few rounds of odd multiplication and xor with the high half, each of which can be
//! undone) gives each line its place in the cycle and each place its line, so that the chain can
//! be written in the order of addresses. Its rounds are those of Steele, Lea and Flood's SplitMix
//! (2014); numbers beyond the last line are passed over (Black and Rogaway, "Ciphers with arbitrary
//! finite domains", 2002).

use syscost_core::stats::random::Random;

const ROUNDS: usize = 4;

/// A cycle through the lines `0..lines`, each once.
pub struct ChaseOrder {
    lines: u64,
    /// The bijection is on `0..=mask`, the next power of two.
    mask: u64,
    shift: u32,
    rounds: [Round; ROUNDS],
}

#[derive(Clone, Copy)]
struct Round {
    factor: u64,
    inverse: u64,
    offset: u64,
}

impl ChaseOrder {
    pub fn new(lines: usize, seed: u64) -> ChaseOrder {
        let mut random = Random::new(seed);
        let lines = lines.max(1) as u64;
        let bits = lines.next_power_of_two().trailing_zeros().max(2);
        let rounds = [(); ROUNDS].map(|()| {
            let factor = random.next_u64() | 1;
            Round { factor, inverse: inverse_of(factor), offset: random.next_u64() }
        });
        // Half of the bits, so that the xor undoes itself.
        ChaseOrder { lines, mask: (1 << bits) - 1, shift: bits.div_ceil(2), rounds }
    }

    /// The line at this place of the cycle.
    pub fn line_at(&self, place: usize) -> usize {
        let mut x = place as u64 % self.lines;
        loop {
            x = self.scatter(x);
            if x < self.lines {
                return x as usize;
            }
        }
    }

    /// The place of this line in the cycle.
    pub fn place_of(&self, line: usize) -> usize {
        let mut x = line as u64;
        loop {
            x = self.gather(x);
            if x < self.lines {
                return x as usize;
            }
        }
    }

    /// The line after this one.
    pub fn next(&self, line: usize) -> usize {
        self.line_at(self.place_of(line) + 1)
    }

    fn scatter(&self, mut x: u64) -> u64 {
        for round in &self.rounds {
            x = x.wrapping_mul(round.factor).wrapping_add(round.offset) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }

    fn gather(&self, mut x: u64) -> u64 {
        for round in self.rounds.iter().rev() {
            x ^= x >> self.shift;
            x = x.wrapping_sub(round.offset).wrapping_mul(round.inverse) & self.mask;
        }
        x
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's method: each step doubles the right bits.
fn inverse_of(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The lines in the order of the cycle, from line 0 until it comes back.
    fn walk(order: &ChaseOrder, lines: usize) -> Vec<usize> {
        let mut seen = vec![0];
        while seen.len() <= lines {
            match order.next(*seen.last().unwrap()) {
                0 => break,
                line => seen.push(line),
            }
        }
        seen
    }

    #[test]
    fn it_is_one_cycle_through_every_line_once() {
        for lines in [1, 2, 3, 64, 96, 1000, 8192, 12_289] {
            for seed in 0..8 {
                let order = ChaseOrder::new(lines, seed);
                let mut seen = walk(&order, lines);
                assert_eq!(seen.len(), lines, "{lines} lines, seed {seed}");
                seen.sort_unstable();
                assert!(seen.iter().copied().eq(0..lines), "{lines} lines, seed {seed}");
                assert!((0..lines).all(|line| order.line_at(order.place_of(line)) == line));
            }
        }
    }

    /// What a shuffle would have: a stride prefetcher learns a distance that repeats, a spatial one
    /// profits from neighbours, and a page's lines in turn would hide the cost of its translation.
    #[test]
    fn no_prefetcher_can_follow_it() {
        const LINES_PER_PAGE: usize = 64;
        for lines in [64usize, 96, 512, 8192, 12_288, 1 << 16] {
            let (mut repeats, mut neighbours, mut same_page, mut commonest) =
                (0.0f64, 0.0f64, 0.0f64, 0.0f64);
            let seeds = (200_000 / lines).clamp(4, 200);
            for seed in 0..seeds {
                let walked = walk(&ChaseOrder::new(lines, seed as u64), lines);
                let strides: Vec<i64> = walked.windows(2).map(|w| w[1] as i64 - w[0] as i64).collect();
                let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
                strides.iter().for_each(|stride| *counts.entry(*stride).or_default() += 1);
                let total = (strides.len() * seeds) as f64;
                let share = |count: usize| count as f64 / total;
                repeats += share(strides.windows(2).filter(|w| w[0] == w[1]).count());
                neighbours += share(strides.iter().filter(|stride| stride.abs() == 1).count());
                same_page += share(
                    walked.windows(2).filter(|w| w[0] / LINES_PER_PAGE == w[1] / LINES_PER_PAGE).count(),
                );
                commonest += *counts.values().max().unwrap() as f64 / strides.len() as f64 / seeds as f64;
            }
            // A shuffle has 2 neighbours among n others, about 0.67 repeated strides a step over n.
            let n = lines as f64;
            assert!(neighbours < 4.0 / n, "{lines} lines: {neighbours} neighbours");
            assert!(repeats < 3.0 / n, "{lines} lines: {repeats} repeated strides");
            assert!(commonest < 0.12, "{lines} lines: one stride is {commonest} of all");
            if lines > 4 * LINES_PER_PAGE {
                let expected = LINES_PER_PAGE as f64 / n;
                assert!(same_page < 1.5 * expected, "{lines} lines: {same_page} stay in a page");
            }
        }
    }
}
