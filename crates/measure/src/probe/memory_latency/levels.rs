//! Sizes between those that stand for the levels: from the measured latencies of the levels.
//!
//! The order is one cycle through all lines: a private cache that does not hold them all has lost each line when its turn
//! comes again (least recently used goes first), so its level ends where it is full. The last level is shared with
//! whoever else runs, so the share that it serves is read off the rows of an eighth, a quarter and all of its size.

use super::{FINE_UP_TO, SMALLEST, load_at};
use crate::probe::prediction::Inputs;
use syscost_core::units::Unit;

/// The row that stands for memory.
const MEMORY_BYTES: u64 = 256 << 20;

pub const FORMULA: &str = "the row of the level that holds the working set: of half of the cache for private ones; from an \
    eighth of the last cache on, below + (above - below) * (1/a - 1/size) / (1/a - 1/b), where a and b are the sizes of the rows \
    below and above (eighth, quarter, whole, memory)";

/// The largest size of the default grid that is not above.
fn on_grid(bytes: f64) -> u64 {
    let bytes = bytes as u64;
    let octave = 1 << bytes.max(SMALLEST).ilog2();
    let between = octave / 2 * 3;
    if between <= bytes && between < FINE_UP_TO { between } else { octave }
}

/// What a load of this size costs; the inner `None`: a level's row is unknown. The outer: this is a level's row, or the
/// caches are unknown.
pub fn between(bytes: u64, huge_pages: bool, inputs: &mut Inputs<'_>) -> Option<Option<f64>> {
    let mut cache = |name: &str, id: &str| inputs.fact(name, id, Unit::Bytes);
    let [l1, l2, l3] = [("l1", "cache_l1d_bytes"), ("l2", "cache_l2_bytes"), ("l3", "cache_l3_bytes")]
        .map(|(n, id)| cache(n, id));
    let (l1, l2) = (l1?, l2?);
    // The last cache, and the private ones below it.
    let last = l3.unwrap_or(l2);
    let private = [Some(l1), l3.is_some().then_some(l2)].into_iter().flatten().filter(|size| *size < last);
    let private: Vec<(f64, u64)> = private.map(|size| (size, on_grid(size / 2.0))).collect();
    let shared = [on_grid(last / 8.0), on_grid(last / 4.0), on_grid(last), MEMORY_BYTES.max(on_grid(last))];
    let is_level = private.iter().map(|(_, row)| row).chain(&shared).any(|row| *row == bytes);
    if is_level && !huge_pages {
        return None;
    }
    let size = bytes as f64;
    if let Some((_, row)) = private.iter().find(|(holds, _)| size <= *holds) {
        return Some(inputs.row("level", load_at(*row)));
    }
    let names = ["eighth", "quarter", "whole", "memory"];
    let above = shared.iter().position(|row| bytes <= *row).unwrap_or(shared.len() - 1);
    let next = inputs.row(names[above], load_at(shared[above]));
    if above == 0 || bytes >= shared[above] {
        return Some(next);
    }
    let below = inputs.row(names[above - 1], load_at(shared[above - 1]));
    let [a, b] = [shared[above - 1], shared[above]].map(|row| 1.0 / row as f64);
    let share = (a - 1.0 / size) / (a - b);
    Some(below.zip(next).map(|(below, next)| below + (next - below) * share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::prediction::{Found, Known, RowRef};
    use syscost_core::axis::Value;

    /// 32 KiB, 1 MiB and 32 MiB; a load takes a nanosecond for each MiB of its row.
    struct Machine;

    impl Known for Machine {
        fn fact(&self, id: &str) -> Option<Found> {
            let known = [("cache_l1d_bytes", 15), ("cache_l2_bytes", 20), ("cache_l3_bytes", 25)];
            let (_, power) = known.iter().find(|(known, _)| *known == id)?;
            Some(Found {
                value: f64::from(1u32 << power),
                unit: Unit::Bytes,
                source: "a test".into(),
                case: None,
            })
        }
        fn row(&self, row: &RowRef) -> Option<Found> {
            let bytes = row.coordinates.iter().find_map(|(_, value)| Value::as_int(value))?;
            let value = bytes as f64 / (1 << 20) as f64;
            Some(Found { value, unit: Unit::Nanoseconds, source: "a test".into(), case: None })
        }
    }

    #[test]
    fn a_size_costs_what_its_level_does_and_a_mixture_in_the_last() {
        let load = |bytes: u64| between(bytes, false, &mut Inputs::new(&Machine)).map(Option::unwrap);
        assert_eq!(load(4096), Some(0.015625), "half of the first level");
        assert_eq!(load(16384), None, "the level's own row");
        assert_eq!(load(128 << 10), Some(0.5));
        assert_eq!(load(2 << 20), Some(4.0), "an eighth of the last");
        assert_eq!(load(16 << 20), Some(8.0 + 24.0 * (2.0 / 3.0)));
        assert_eq!(load(512 << 20), Some(256.0));
        assert_eq!(between(16384, true, &mut Inputs::new(&Machine)), Some(Some(0.015625)));
    }

    #[test]
    fn sizes_are_those_of_the_grid() {
        assert_eq!([1.0, 5000.0, 24576.0, 40e3, 1e8].map(on_grid), [4096, 4096, 24576, 32768, 64 << 20]);
    }
}
