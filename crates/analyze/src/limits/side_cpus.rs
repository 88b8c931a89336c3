//! How many CPUs the data threads of a case can fill.
//!
//! Threads that are pinned to one CPU fill that CPU together, whichever side they are of. Each side recorded where its threads
//! ran.

use std::collections::BTreeSet;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_host::files::parse_list;
use syscost_measure::probe::transfer::axes::THREADS;
use syscost_measure::probe::transfer::far;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideCpus {
    pub sender: usize,
    pub receiver: usize,
    /// Of both sides together, where that is less than the sum.
    pub joint: Option<usize>,
}

impl SideCpus {
    pub fn of(run: &Run, case: &Case) -> SideCpus {
        let threads = case.point.int(THREADS).unwrap_or(1).max(1) as usize;
        let sides = ["sender", "receiver"].map(|side| cpus(run, case, side));
        // Where nobody knows, every thread may have a CPU of its own.
        let fill =
            |cpus: &Option<BTreeSet<usize>>| cpus.as_ref().map_or(threads, |cpus| threads.min(cpus.len()));
        let [sender, receiver] = sides.each_ref().map(fill);
        let joint = match &sides {
            [Some(one), Some(other)] if far::host(&case.point).is_none() => Some(one.union(other).count()),
            _ => None,
        };
        SideCpus { sender, receiver, joint: joint.filter(|all| *all < sender + receiver) }
    }
}

/// The CPUs that the run was allowed.
pub fn allowed_cpus(run: &Run) -> Option<Vec<usize>> {
    parse_list(run.record.fact("cpus_allowed")?)
}

/// The CPUs on which a side's threads may run; `None`: not known.
fn cpus(run: &Run, case: &Case, side: &str) -> Option<BTreeSet<usize>> {
    let recorded = run.record.settings.get(&case.index)?.get(&format!("{side}.cpus"))?;
    let pinned: Option<BTreeSet<usize>> = recorded.split(',').map(|cpu| cpu.parse().ok()).collect();
    // Threads that are not pinned may use what this machine allows, unless they are on another.
    let is_here = far::host(&case.point).is_none();
    let cpus = pinned.or_else(|| Some(allowed_cpus(run).filter(|_| is_here)?.into_iter().collect()))?;
    (!cpus.is_empty()).then_some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, tell};
    use syscost_core::axis::Value;
    use syscost_measure::probe::transfer::axes::PATH;

    /// Of four threads a side, by what their sides recorded; four CPUs are allowed.
    fn of(sender: &str, receiver: &str, path: &str) -> (usize, usize, Option<usize>) {
        let mut run = Synthetic { threads: vec![4], ..Default::default() }.run();
        tell(&mut run, "cpus_allowed", Some("0-3"));
        let settings = run.record.settings.entry(0).or_default();
        settings.set("sender.cpus", sender.into());
        settings.set("receiver.cpus", receiver.into());
        let mut case = run.record.plan.cases[0].clone();
        case.point.set(PATH.id, Value::text(path));
        let SideCpus { sender, receiver, joint } = SideCpus::of(&run, &case);
        (sender, receiver, joint)
    }

    #[test]
    fn threads_fill_the_cpus_that_they_share() {
        assert_eq!(of("0,0,0,0", "1,1,1,1", "veth"), (1, 1, None));
        assert_eq!(of("0,2,0,2", "1,3,1,3", "veth"), (2, 2, None));
        assert_eq!(of("0,1,2,3", "0,1,2,3", "veth"), (4, 4, Some(4)), "each pair on one CPU");
        assert_eq!(of("any,any,any,any", "any,any,any,any", "veth"), (4, 4, Some(4)));
        assert_eq!(of("0,0,0,0", "0,0,0,0", "ssh://lab"), (1, 1, None), "CPUs of two machines");
        assert_eq!(of("any,any,any,any", "any,any,any,any", "ssh://lab"), (4, 4, None));
    }

    #[test]
    fn what_nobody_recorded_is_a_cpu_a_thread() {
        let run = Synthetic { threads: vec![2], ..Default::default() }.run();
        let of = SideCpus::of(&run, &run.record.plan.cases[0]);
        assert_eq!(of, SideCpus { sender: 2, receiver: 2, joint: None });
    }
}
