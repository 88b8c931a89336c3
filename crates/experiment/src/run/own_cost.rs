//! What the harness's own code took of the CPU time that it measured: loops, clocks and counts, priced by turns of nothing.

use serde::{Deserialize, Serialize};

/// CPU time of both sides of a case, in nanoseconds, summed over rounds. Absent where nothing was priced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnShare {
    pub case: usize,
    /// Of the harness's own code within slices, and all CPU time of the same slices.
    pub slices_own_ns: u64,
    pub slices_cpu_ns: u64,
    /// The same of windows.
    pub windows_own_ns: u64,
    pub windows_cpu_ns: u64,
}

impl OwnShare {
    /// Takes in a round.
    pub fn add(&mut self, round: OwnShare) {
        self.slices_own_ns += round.slices_own_ns;
        self.slices_cpu_ns += round.slices_cpu_ns;
        self.windows_own_ns += round.windows_own_ns;
        self.windows_cpu_ns += round.windows_cpu_ns;
    }

    /// `None`: the case had no slices.
    pub fn of_slices(&self) -> Option<f64> {
        share(self.slices_own_ns, self.slices_cpu_ns)
    }

    pub fn of_windows(&self) -> Option<f64> {
        share(self.windows_own_ns, self.windows_cpu_ns)
    }
}

fn share(own_ns: u64, cpu_ns: u64) -> Option<f64> {
    (cpu_ns > 0).then(|| own_ns as f64 / cpu_ns as f64)
}

/// Takes in what a round says of its case.
pub fn add_to(all: &mut Vec<OwnShare>, round: OwnShare) {
    match all.iter_mut().find(|share| share.case == round.case) {
        Some(share) => share.add(round),
        None => all.push(round),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_a_case_add_up_and_what_was_not_timed_has_no_share() {
        let round =
            |case, own, cpu| OwnShare { case, slices_own_ns: own, slices_cpu_ns: cpu, ..OwnShare::default() };
        let mut all = Vec::new();
        for (case, own, cpu) in [(3, 1, 100), (1, 5, 10), (3, 3, 100)] {
            add_to(&mut all, round(case, own, cpu));
        }
        assert_eq!(all, [round(3, 4, 200), round(1, 5, 10)]);
        assert_eq!((all[0].of_slices(), all[0].of_windows()), (Some(0.02), None));
    }
}
