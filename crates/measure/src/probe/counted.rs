//! What an emulator with modelled caches counts of operations that are timed in batches or one by one.
//!
//! The counts are those of all threads between the two readings of the clock: a child, a partner or a softirq belongs to the
//! operation. Timer interrupts of the window are in its mean. What the same loop executes without the operation is subtracted,
//! and what a reading executes behind its counts.

use syscost_host::clock::monotonic_ns;
use syscost_host::modelled::{self, INSTRUCTIONS};
use syscost_sys::modelled_counters::{COUNTERS, MODES};

type CountSums = [[f64; COUNTERS]; MODES];

/// The operations of a window, and the loops beside them.
#[derive(Default)]
pub struct CountedOperations {
    sums: CountSums,
    operations: u64,
    beside: CountSums,
    loops: u64,
    /// Batches that were not timed between two readings of the clock.
    uncounted: u64,
    /// Nothing, between two readings.
    reading: CountSums,
}

impl CountedOperations {
    pub fn start() -> CountedOperations {
        let mut counted = CountedOperations::default();
        if modelled::with_counts() {
            // The first pair fetches what the second has in its caches.
            for _ in 0..2 {
                let from = monotonic_ns();
                let ns = (monotonic_ns() - from) as f64;
                counted.reading = counted_over(ns).unwrap_or_default();
            }
        }
        counted
    }

    /// So many operations took so long until the clock was last read.
    #[inline]
    pub fn add(&mut self, ns: f64, operations: u64) {
        if modelled::with_counts() {
            self.operations += operations;
            self.uncounted += u64::from(!take(&mut self.sums, ns, &self.reading));
        }
    }

    /// The same of the loop without the operation.
    #[inline]
    pub fn add_beside(&mut self, ns: f64, loops: u64) {
        if modelled::with_counts() {
            self.loops += loops;
            self.uncounted += u64::from(!take(&mut self.beside, ns, &self.reading));
        }
    }

    /// Of all operations, less their loops, by id; `None`: not all were counted, or no more was executed than in the loops.
    pub fn counts(&self) -> Option<Vec<(&'static str, f64)>> {
        let share = self.operations as f64 / self.loops.max(1) as f64;
        let net = |mode: usize, counter: usize| self.sums[mode][counter] - share * self.beside[mode][counter];
        let net: CountSums =
            std::array::from_fn(|mode| std::array::from_fn(|counter| net(mode, counter).max(0.0)));
        let executed: f64 = net[..2].iter().map(|counts| counts[INSTRUCTIONS]).sum();
        let all = self.operations > 0 && self.uncounted == 0 && executed > 0.0;
        // Those of softirqs are in the kernel's.
        let told = |(id, _): &(&str, f64)| !id.ends_with("_softirq");
        all.then(|| modelled::by_mode(&net).into_iter().filter(told).collect())
    }
}

fn counted_over(ns: f64) -> Option<CountSums> {
    Some(modelled::counted_over(ns as u64)?.map(|counts| counts.map(|count| count as f64)))
}

/// False: the clock was not read where that time began.
fn take(sums: &mut CountSums, ns: f64, reading: &CountSums) -> bool {
    let counted = counted_over(ns);
    let net = counted.iter().flatten().flatten().zip(reading.as_flattened());
    sums.as_flattened_mut().iter_mut().zip(net).for_each(|(sum, (count, reading))| *sum += count - reading);
    counted.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_subtracted_and_what_was_not_counted_is_no_count() {
        let mut counted = CountedOperations { operations: 100, loops: 25, ..Default::default() };
        (counted.sums[0][4], counted.sums[1][4], counted.sums[2][4]) = (900.0, 2000.0, 50.0);
        (counted.beside[0][4], counted.beside[1][1]) = (100.0, 3.0);
        let counts = counted.counts().unwrap();
        let of = |id: &str| counts.iter().find(|(known, _)| *known == id).unwrap().1;
        assert_eq!((of("instructions_user"), of("instructions_kernel")), (500.0, 2050.0));
        assert_eq!(of("l1d_misses_kernel"), 0.0, "never below nothing");
        let figures = crate::probe::Figures::of_single_operations();
        let recorded = |id: &str| figures.quantities.iter().any(|quantity| quantity.id == id);
        assert!(
            counts.iter().all(|(id, _)| recorded(id)),
            "a sample with what its probe does not name is refused"
        );
        let silent = CountedOperations { operations: 100, loops: 25, ..Default::default() };
        assert_eq!(silent.counts(), None, "an operation executes something");
        counted.uncounted = 1;
        assert_eq!(counted.counts(), None);
        // Without an emulator that counts nothing is taken in.
        let mut none = CountedOperations::default();
        none.add(5.0, 1);
        assert_eq!(none.counts(), None);
    }
}
