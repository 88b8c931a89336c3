//! The levels of a curve over sizes, and the capacities that the machine reports.
//!
//! Where a level ends is what a program sees of a cache; what the processor reports may be more
//! (a share of it is another guest's, or other data's) or of another instance.

use crate::operations::curves::CurveLine;
use syscost_core::stats::{Level, levels};
use syscost_experiment::run::Run;

/// Facts that are capacities, and what people call them.
const CAPACITIES: &[(&str, &str)] = &[
    ("cache_l1d_bytes", "L1d"),
    ("cache_l2_bytes", "L2"),
    ("cache_l3_bytes", "L3"),
    ("cache_l4_bytes", "L4"),
    ("memory_bytes", "memory"),
];
/// What the machine says that something holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    pub name: &'static str,
    pub bytes: f64,
}

/// The capacities that a run's machine reports, smallest first.
pub fn capacities(run: &Run) -> Vec<Capacity> {
    let fact = |id: &str| run.record.fact(id)?.parse::<f64>().ok();
    let known = CAPACITIES.iter().filter_map(|(id, name)| Some(Capacity { name, bytes: fact(id)? }));
    let mut known: Vec<Capacity> = known.filter(|c| c.bytes > 0.0).collect();
    known.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    known
}

/// The levels of one line.
pub fn of_line(line: &CurveLine) -> Vec<Level> {
    let points: Vec<(f64, f64)> = line.points.iter().map(|(x, e, _)| (*x, e.value)).collect();
    levels(&points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::tell;

    #[test]
    fn capacities_come_from_the_facts_of_the_machine() {
        let mut run = crate::synthetic::Synthetic::default().run();
        for (id, value) in [
            ("cache_l2_bytes", Some("1048576")),
            ("cache_l1d_bytes", Some("32768")),
            ("cache_l3_bytes", None),
        ] {
            tell(&mut run, id, value);
        }
        let names: Vec<&str> = capacities(&run).iter().map(|c| c.name).collect();
        assert_eq!(names, ["L1d", "L2"]);
    }
}
