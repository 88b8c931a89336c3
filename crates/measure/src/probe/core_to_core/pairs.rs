//! Pairs of CPUs: how they are written, and which are measured unless some are named.
//!
//! It decides from the topology alone and measures nothing.

use syscost_core::axis::Value;
use syscost_host::topology::{LogicalCpu, Topology};

/// CPUs of the default choice: 28 pairs.
const MOST_CPUS: usize = 8;

/// Reads `0-3`.
pub fn parse(text: &str) -> Option<(usize, usize)> {
    let (a, b) = text.split_once('-')?;
    let pair = (a.trim().parse().ok()?, b.trim().parse().ok()?);
    (pair.0 != pair.1).then_some(pair)
}

/// Is it a pair as a person writes it?
pub fn check(text: &str) -> Result<(), String> {
    let said = || "write two different CPUs as 0-3".to_string();
    parse(text).map(|_| ()).ok_or_else(said)
}

/// Every pair of some CPUs of this machine; where it has one only, a pair that it lacks.
pub fn by_default() -> Vec<Value> {
    let pairs = pairs(&chosen(Topology::read().cpus()));
    if pairs.is_empty() { vec![Value::text("0-1")] } else { pairs.into_iter().map(Value::text).collect() }
}

/// The first of them.
pub fn quick() -> Vec<Value> {
    by_default().into_iter().take(3).collect()
}

fn pairs(cpus: &[usize]) -> Vec<String> {
    let with_later = |(i, a): (usize, &usize)| cpus[i + 1..].iter().map(|b| format!("{a}-{b}")).collect();
    cpus.iter().enumerate().flat_map(|pair| -> Vec<String> { with_later(pair) }).collect()
}

/// All CPUs, or so many that every kind of neighbour is there: the first CPU, its sibling on the same
/// core, the next core, and the rest evenly over nodes and packages.
fn chosen(cpus: &[LogicalCpu]) -> Vec<usize> {
    let mut order: Vec<&LogicalCpu> = cpus.iter().collect();
    order.sort_by_key(|cpu| (cpu.package, cpu.node, cpu.sibling, cpu.core, cpu.id));
    let mut chosen: Vec<usize> = Vec::new();
    if order.len() <= MOST_CPUS {
        chosen.extend(order.iter().map(|cpu| cpu.id));
    } else {
        let first = order[0];
        let sibling = order.iter().find(|cpu| cpu.core == first.core && cpu.id != first.id);
        chosen.extend([Some(&first), order.get(1), sibling].into_iter().flatten().map(|cpu| cpu.id));
        // From the last one down: the far ends of the machine are in.
        let left = MOST_CPUS - chosen.len();
        let spread = (1..=left).map(|i| order[i * (order.len() - 1) / left].id);
        chosen.extend(spread);
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(id: usize, core: usize, package: usize, sibling: usize) -> LogicalCpu {
        LogicalCpu { id, core, package, node: package, sibling, fast: true }
    }

    #[test]
    fn a_pair_is_two_different_cpus() {
        assert_eq!(parse("0-12"), Some((0, 12)));
        for wrong in ["", "3", "1-1", "a-b", "1-2-3", "-1"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_small_machine_has_every_pair() {
        let cpus: Vec<LogicalCpu> = (0..4).map(|id| cpu(id, id, 0, 0)).collect();
        assert_eq!(pairs(&chosen(&cpus)), ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]);
        assert!(pairs(&chosen(&cpus[..1])).is_empty());
    }

    #[test]
    fn of_a_large_machine_every_kind_of_neighbour_is_chosen() {
        // Two packages of 32 cores with two threads each; siblings are 64 apart.
        let of = |id: usize| cpu(id, id % 64, id % 64 / 32, id / 64);
        let chosen = chosen(&(0..128).map(of).collect::<Vec<_>>());
        assert!(chosen.len() <= MOST_CPUS && chosen.len() >= 6, "{chosen:?}");
        for wanted in [0, 1, 64] {
            assert!(chosen.contains(&wanted), "first, next core, sibling: {chosen:?}");
        }
        let far = chosen.iter().filter(|id| **id % 64 >= 32).count();
        assert!(far >= 2 && chosen.len() - far >= 3, "both packages: {chosen:?}");
        assert!(pairs(&chosen).len() <= 28);
    }
}
