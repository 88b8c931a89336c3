//! What theory says of caches and memory: the model behind the predictions of the memory probes.
//!
//! Sizes and frequency are facts of the machine; cycles are those of published manuals, whatever
//! processor this is: where it differs, the prediction is off and the report says so. It measures
//! nothing.

use super::prediction::Inputs;
use syscost_core::units::Unit;

const GUIDE: &str = "AMD, Software Optimization Guide for the Zen 5 Microarchitecture (58455)";
const COMPUTER_ARCHITECTURE: &str =
    "Hennessy and Patterson, Computer Architecture, 6th ed., figure 2.1: 50 to 100 ns on a server";
/// A radix page table has 512 entries of 8 bytes for each 4 KiB.
const TABLE_SHARE: f64 = 8.0 / 4096.0;

/// The caches of this machine as a prediction sees them.
pub struct Hierarchy {
    /// Size and load-to-use latency of each level, smallest first.
    caches: Vec<(f64, f64)>,
    memory_ns: f64,
    tlb_reach_bytes: f64,
    pub ns_per_cycle: f64,
}

impl Hierarchy {
    /// Asks for all of it; `None` where this machine does not tell its caches or frequency.
    pub fn ask(inputs: &mut Inputs<'_>) -> Option<Hierarchy> {
        let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
        let l1 = inputs.fact("l1", "cache_l1d_bytes", Unit::Bytes);
        let l2 = inputs.fact("l2", "cache_l2_bytes", Unit::Bytes);
        let l3 = inputs.fact("l3", "cache_l3_bytes", Unit::Bytes);
        let mut cycles = |name: &str, n: f64| inputs.constant(name, n, Unit::Count, GUIDE);
        let (t1, t2, t3) = (cycles("t1", 4.0), cycles("t2", 14.0), cycles("t3", 50.0));
        let entries = cycles("tlb_entries", 4096.0);
        let memory_ns = inputs.constant("memory", 100.0, Unit::Nanoseconds, COMPUTER_ARCHITECTURE);
        let page = inputs.constant("page", 4096.0, Unit::Bytes, "the base page of x86-64");
        let ns_per_cycle = 1e9 / hertz?;
        let levels = [(Some(l1?), t1), (Some(l2?), t2), (l3, t3)];
        let caches =
            levels.into_iter().filter_map(|(bytes, cycles)| Some((bytes?, cycles * ns_per_cycle))).collect();
        Some(Hierarchy { caches, memory_ns, tlb_reach_bytes: entries * page, ns_per_cycle })
    }

    /// A load at random in a working set: each cache serves the part of it that it can hold.
    pub fn load_ns(&self, bytes: f64) -> f64 {
        let mut served = 0.0;
        let mut ns = 0.0;
        for (capacity, latency) in &self.caches {
            let share = (capacity / bytes).min(1.0);
            ns += (share - served).max(0.0) * latency;
            served = share.max(served);
        }
        ns + (1.0 - served) * self.memory_ns
    }

    /// What translating the address adds with base pages: beyond the reach of the TLB the entry of
    /// the page table is a load of its own, at random in a table of 8 bytes a page.
    pub fn walk_ns(&self, bytes: f64) -> f64 {
        let missed = 1.0 - (self.tlb_reach_bytes / bytes).min(1.0);
        missed * self.load_ns(bytes * TABLE_SHARE)
    }

    /// The innermost level that holds the whole working set; one more than the caches: memory.
    pub fn level_of(&self, bytes: f64) -> usize {
        self.caches.iter().position(|(capacity, _)| bytes <= *capacity).unwrap_or(self.caches.len())
    }

    /// How many caches there are.
    pub fn caches(&self) -> usize {
        self.caches.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::prediction::{Found, Known, RowRef};

    /// A machine of 1 GHz with these caches.
    struct Machine(Vec<(&'static str, f64)>);

    impl Known for Machine {
        fn fact(&self, id: &str) -> Option<Found> {
            let (_, value) = self.0.iter().find(|(known, _)| *known == id)?;
            Some(Found { value: *value, unit: Unit::Bytes, source: "a test".into(), case: None })
        }
        fn row(&self, _: &RowRef) -> Option<Found> {
            None
        }
    }

    fn machine(with: &[(&'static str, f64)]) -> Machine {
        let facts = [("core_hertz", 1e9), ("cache_l1d_bytes", 32768.0), ("cache_l2_bytes", 1048576.0)];
        Machine(facts.iter().chain(with).copied().collect())
    }

    #[test]
    fn a_load_costs_what_the_levels_that_serve_it_cost() {
        let whole = machine(&[("cache_l3_bytes", 33_554_432.0)]);
        let caches = Hierarchy::ask(&mut Inputs::new(&whole)).unwrap();
        assert_eq!(caches.load_ns(16384.0), 4.0);
        assert_eq!(caches.load_ns(65536.0), (4.0 + 14.0) / 2.0, "half of it fits");
        assert!((caches.load_ns(1e12) - 100.0).abs() < 0.1);
        assert_eq!(caches.walk_ns(1e6), 0.0);
        assert!(caches.walk_ns(512.0 * 1048576.0) > 10.0);
        assert_eq!((caches.level_of(1e4), caches.level_of(2e6), caches.level_of(1e9)), (0, 2, 3));
    }

    #[test]
    fn a_machine_without_a_third_level_has_two() {
        assert_eq!(Hierarchy::ask(&mut Inputs::new(&machine(&[]))).unwrap().caches(), 2);
        assert!(Hierarchy::ask(&mut Inputs::new(&Machine(Vec::new()))).is_none(), "unknown");
    }
}
