//! What became of numbered datagrams: each that was sent is received, or missing; none is counted twice.

use std::collections::BTreeMap;

/// The numbers that have come.
#[derive(Debug, Default)]
pub struct DatagramSequence {
    /// All before this one have come, or are missing.
    next: u64,
    /// Runs of numbers that have not come, each by its first: the number after its last.
    missing: BTreeMap<u64, u64>,
    pub duplicated: u64,
    /// Came after one that was sent later.
    pub reordered: u64,
}

impl DatagramSequence {
    #[inline]
    pub fn arrived(&mut self, number: u64) {
        if number == self.next {
            self.next += 1;
        } else {
            self.out_of_turn(number);
        }
    }

    #[cold]
    fn out_of_turn(&mut self, number: u64) {
        if number > self.next {
            self.missing.insert(self.next, number);
            self.next = number + 1;
            return;
        }
        let run = self.missing.range(..=number).next_back().map(|(first, end)| (*first, *end));
        let Some((first, end)) = run.filter(|(_, end)| number < *end) else {
            self.duplicated += 1;
            return;
        };
        self.reordered += 1;
        self.missing.remove(&first);
        if first < number {
            self.missing.insert(first, number);
        }
        if number + 1 < end {
            self.missing.insert(number + 1, end);
        }
    }

    /// So many were sent, and no more of them come.
    pub fn close(&mut self, sent: u64) {
        if sent > self.next {
            self.missing.insert(self.next, sent);
            self.next = sent;
        }
    }

    /// Have come, or are missing.
    #[inline]
    pub fn accounted(&self) -> u64 {
        self.next
    }

    pub fn lost(&self) -> u64 {
        self.missing.iter().map(|(first, end)| end - first).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn whatever_comes_is_counted_once(numbers in prop::collection::vec(0u64..40, 0..120), sent in 40u64..50) {
            let mut sequence = DatagramSequence::default();
            let (mut seen, mut highest, mut late, mut twice) = (BTreeSet::new(), None, 0, 0);
            for number in numbers {
                sequence.arrived(number);
                match seen.insert(number) {
                    true if highest.is_some_and(|highest| number < highest) => late += 1,
                    true => {}
                    false => twice += 1,
                }
                highest = highest.max(Some(number));
            }
            sequence.close(sent);
            prop_assert_eq!(sequence.accounted(), sent);
            prop_assert_eq!(sequence.lost(), sent - seen.len() as u64);
            prop_assert_eq!((sequence.reordered, sequence.duplicated), (late, twice));
        }
    }
}
