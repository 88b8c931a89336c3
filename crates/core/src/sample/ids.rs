//! The names of what a file's rows hold, and where each stands in a row.
//!
//! Every metric of every sample looks its quantities up by name, which is millions of times a hundred: they are
//! found by one look into a table. The table is made once for a file.

/// Sorted, each once.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    sorted: Box<[String]>,
    /// One more than the place of the name that belongs here or before here; 0: no name does.
    slots: Box<[u32]>,
}

impl Ids {
    /// `ids` in any order; what is there twice is kept once.
    pub fn new(mut ids: Vec<String>) -> Ids {
        ids.sort();
        ids.dedup();
        // At most half full: a search soon ends at an empty slot.
        let mut slots = vec![0; (2 * ids.len() + 1).next_power_of_two()].into_boxed_slice();
        for (place, id) in (1..).zip(&ids) {
            let mut at = spread(id) & (slots.len() - 1);
            while slots[at] != 0 {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = place;
        }
        Ids { sorted: ids.into(), slots }
    }

    pub fn place(&self, id: &str) -> Option<usize> {
        let mut at = spread(id);
        loop {
            let place = *self.slots.get(at & self.slots.len().wrapping_sub(1))?;
            let known = self.sorted.get((place as usize).checked_sub(1)?)?;
            if known == id {
                return Some(place as usize - 1);
            }
            at = at.wrapping_add(1);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.sorted.iter().map(String::as_str)
    }

    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

/// A number that differs for different names, mostly: eight bytes at a time, multiplied by an odd number whose
/// bits are without a pattern (the golden ratio's, as Knuth has it). The upper half of the product is folded in,
/// or the last bytes of a piece would not reach the bits that are used.
fn spread(id: &str) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = id.len() as u64;
    for piece in id.as_bytes().chunks(8) {
        let mut bytes = [0; 8];
        bytes[..piece.len()].copy_from_slice(piece);
        let product = u128::from(sum ^ u64::from_le_bytes(bytes)) * u128::from(GOLDEN);
        sum = product as u64 ^ (product >> 64) as u64;
    }
    sum as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_is_found_at_its_place_and_no_other(
            ids in prop::collection::vec("[a-c_]{0,20}", 0..60), other in "[a-c_]{0,3}",
        ) {
            let all = Ids::new(ids.clone());
            prop_assert!(all.iter().is_sorted_by(|a, b| a < b));
            for (place, id) in all.iter().enumerate() {
                prop_assert_eq!(all.place(id), Some(place));
            }
            prop_assert!(ids.iter().all(|id| all.place(id).is_some()));
            prop_assert_eq!(all.place(&other).is_some(), ids.contains(&other));
            prop_assert_eq!(all.is_empty(), ids.is_empty());
        }
    }

    /// Names of one family differ in a few letters, wherever those are.
    #[test]
    fn names_of_one_family_are_found_at_once() {
        let sides = ["sender", "receiver"].iter().flat_map(|side| {
            let of = move |what: &str| ["user", "kernel", "both"].map(|mode| format!("{side}_{what}_{mode}"));
            ["cycles", "instructions", "l1d_loads", "l1d_misses", "llc_loads", "llc_misses"]
                .into_iter()
                .flat_map(of)
        });
        let all = Ids::new(sides.chain((0..64).map(|n| format!("quantity_{n}"))).collect());
        let mask = all.slots.len() - 1;
        let steps = |(place, id): (usize, &str)| {
            let at = all.slots.iter().position(|slot| *slot as usize == place + 1).expect("it is there");
            at.wrapping_sub(spread(id)) & mask
        };
        let steps: Vec<usize> = all.iter().enumerate().map(steps).collect();
        assert!(steps.iter().sum::<usize>() <= steps.len(), "{steps:?}");
        assert!(steps.iter().all(|steps| *steps < 16), "{steps:?}");
    }
}
