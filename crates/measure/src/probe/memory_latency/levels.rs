//! What the levels of memory cost by themselves, and what a working set between them costs.
//!
//! The order is one cycle through all lines: a private cache that does not hold them all has lost each line when its turn
//! comes again (least recently used goes first), so its level ends where it is full. The last level is shared with
//! whoever else runs, and how much of it one gets no processor tells: the share that it serves is read off parts of it.

use crate::probe::prediction::Inputs;
use crate::probe::primitive;
use syscost_core::units::Unit;

/// The smallest working set that stands for memory: beyond it the last cache serves little.
const MEMORY_BYTES: u64 = 160 << 20;

pub const FORMULA: &str = "the load of the private cache that holds the working set (of the second one, in less or more than half of \
    it); beyond them below + (above - below) * \
    (1/a - 1/size) / (1/a - 1/b), where a and b are the sizes of the loads below and above (just beyond the private caches; an \
    eighth, a quarter and all of the last cache, each a quarter more; memory)";

/// The parts that stand for levels, in their order.
pub const IN_L1: &str = "load_l1";
/// In less than half of the second cache, and in more. Pages lie anywhere in physical memory, by which this cache chooses its
/// sets: the fuller it is, the more sets have more lines than room.
pub const IN_HALF_L2: &str = "load_half_l2";
pub const IN_L2: &str = "load_l2";
pub const BEYOND: &str = "load_last_cache";
pub const EIGHTH: &str = "load_eighth";
pub const QUARTER: &str = "load_quarter";
pub const WHOLE: &str = "load_whole";
pub const MEMORY: &str = "load_memory";

/// A working set that stands for a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelLoad {
    pub part: &'static str,
    pub bytes: u64,
}

/// The levels of a machine with these caches of data. None is of a size that a row has by default: those are powers of two,
/// and half as much again.
pub struct Levels {
    /// With what the cache holds.
    private: Vec<(u64, LevelLoad)>,
    /// Ascending.
    shared: Vec<LevelLoad>,
}

impl Levels {
    pub fn new(l1: u64, l2: u64, l3: Option<u64>) -> Levels {
        let last = l3.unwrap_or(l2);
        let of_private = |part: &'static str, holds: u64| (holds, LevelLoad { part, bytes: holds / 8 * 5 });
        let mut private = vec![of_private(IN_L1, l1)];
        if l3.is_some() {
            private.push(of_private(IN_HALF_L2, l2 / 2));
            private.push(of_private(IN_L2, l2));
        }
        private.retain(|(holds, _)| *holds < last);
        let held = private.last().map_or(0, |(holds, _)| *holds);
        let memory = MEMORY_BYTES.max(last / 2 * 5);
        let shared = [
            (BEYOND, held / 2 * 5),
            (EIGHTH, last / 32 * 5),
            (QUARTER, last / 16 * 5),
            (WHOLE, last / 4 * 5),
            (MEMORY, memory),
        ];
        let mut ascending: Vec<LevelLoad> = Vec::new();
        for (part, bytes) in shared {
            if ascending.last().map_or(0, |below| below.bytes) < bytes {
                ascending.push(LevelLoad { part, bytes });
            }
        }
        Levels { private, shared: ascending }
    }

    pub fn find(&self, part: &str) -> Option<LevelLoad> {
        let private = self.private.iter().map(|(_, load)| load);
        private.chain(&self.shared).find(|load| load.part == part).copied()
    }
}

/// What a load of this size costs; `None`: the caches, or a level's load, are unknown.
pub fn between(bytes: u64, inputs: &mut Inputs<'_>) -> Option<f64> {
    let mut cache = |name: &str, id: &str| inputs.fact(name, id, Unit::Bytes).map(|bytes| bytes as u64);
    let [l1, l2, l3] = [("l1", "cache_l1d_bytes"), ("l2", "cache_l2_bytes"), ("l3", "cache_l3_bytes")]
        .map(|(n, id)| cache(n, id));
    let levels = Levels::new(l1?, l2?, l3);
    let mut load = |level: LevelLoad| inputs.row(level.part, primitive::cost_of(level.part));
    if let Some((_, level)) = levels.private.iter().find(|(holds, _)| bytes <= *holds) {
        return load(*level);
    }
    let place = levels.shared.iter().position(|level| bytes <= level.bytes);
    let above = place.unwrap_or(levels.shared.len().checked_sub(1)?);
    let next = load(levels.shared[above]);
    if above == 0 || place.is_none() {
        return next;
    }
    let below = load(levels.shared[above - 1]);
    let [a, b] = [levels.shared[above - 1], levels.shared[above]].map(|level| 1.0 / level.bytes as f64);
    let share = (a - 1.0 / bytes as f64) / (a - b);
    below.zip(next).map(|(below, next)| below + (next - below) * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::prediction::{Input, Known, RowRef};

    const MIB: u64 = 1 << 20;

    /// 32 KiB, 1 MiB and 32 MiB; each level costs ten times the one before.
    struct Machine;

    impl Known for Machine {
        fn fact(&self, id: &str) -> Option<Input> {
            let known = [("cache_l1d_bytes", 15), ("cache_l2_bytes", 20), ("cache_l3_bytes", 25)];
            let (_, power) = known.iter().find(|(known, _)| *known == id)?;
            Some(Input::new(id, f64::from(1u32 << power), Unit::Bytes, "a test"))
        }
        fn says(&self, _: &str) -> Option<String> {
            None
        }
        fn row(&self, row: &RowRef) -> Option<Input> {
            let costs = [
                (IN_L1, 1.0),
                (IN_HALF_L2, 4.0),
                (IN_L2, 6.0),
                (BEYOND, 10.0),
                (EIGHTH, 20.0),
                (MEMORY, 100.0),
            ];
            let (_, cost) = costs.iter().find(|(part, _)| *row == primitive::cost_of(part))?;
            Some(Input::new("", *cost, Unit::Nanoseconds, "a test"))
        }
    }

    #[test]
    fn a_size_costs_what_its_level_does_and_a_mixture_in_the_last() {
        let load = |bytes: u64| between(bytes, &mut Inputs::new(&Machine));
        assert_eq!([4096, 32768].map(load), [Some(1.0); 2]);
        assert_eq!([49152, MIB / 2, MIB].map(load), [Some(4.0), Some(4.0), Some(6.0)]);
        assert_eq!(load(2 * MIB), Some(10.0), "less than the first that is measured beyond the private ones");
        let mixed = load(4 * MIB).unwrap();
        assert!(mixed > 17.0 && mixed < 18.0, "1/2.5 to 1/5 of it, at 1/4: {mixed}");
        assert_eq!(load(8 * MIB), None, "a quarter is unknown");
        assert_eq!(load(512 * MIB), Some(100.0));
    }

    #[test]
    fn a_level_that_another_swallows_is_none() {
        let names = |levels: Levels| levels.shared.iter().map(|level| level.part).collect::<Vec<_>>();
        assert_eq!(names(Levels::new(32 << 10, MIB, Some(4 * MIB))), [BEYOND, WHOLE, MEMORY]);
        let two = Levels::new(32 << 10, 2 * MIB, None);
        assert_eq!((two.find(IN_L2), two.find(BEYOND).map(|load| load.bytes)), (None, Some(80 << 10)));
        assert_eq!(Levels::new(32 << 10, MIB, Some(256 * MIB)).find(MEMORY).unwrap().bytes, 640 * MIB);
    }
}
