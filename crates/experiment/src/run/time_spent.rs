//! Where the wall time of a run went: how much of it was timed.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use syscost_core::units::format_duration;

/// Wall time by what it was for, over all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// In timed windows and slices.
    pub timed_ns: u64,
    /// From the start of a round's work to its first window or slice.
    pub warm_up_ns: u64,
    /// Starting workers and connecting them, until all are ready.
    pub starting_ns: u64,
    /// The rest of rounds: between windows, the last reports, ending workers.
    pub ending_ns: u64,
    /// Rounds for hardware counters.
    pub counting_ns: u64,
    /// Counting copies, before the first round.
    pub audits_ns: u64,
    /// Sampling where CPU time goes, before the first round.
    pub profiles_ns: u64,
    /// Rounds that failed, and the pauses after them.
    pub failed_ns: u64,
    /// Looking at the machine before the first round.
    pub watching_ns: u64,
}

/// The moments of one round that was timed, from its beginning on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundSpan {
    /// All workers are ready, and are told to go.
    pub ready_ns: u64,
    /// The first window or slice begins.
    pub timed_from_ns: u64,
    /// Of all windows or slices.
    pub timed_ns: u64,
    /// Everything is over.
    pub over_ns: u64,
}

impl TimeSpent {
    /// Takes in a round that was timed.
    pub fn add_round(&mut self, round: RoundSpan) {
        let RoundSpan { ready_ns, timed_from_ns, timed_ns, over_ns } = round;
        let warm_up_ns = timed_from_ns.saturating_sub(ready_ns);
        self.starting_ns += ready_ns;
        self.warm_up_ns += warm_up_ns;
        self.timed_ns += timed_ns;
        self.ending_ns += over_ns.saturating_sub(ready_ns + warm_up_ns + timed_ns);
    }

    fn parts(&self) -> [(&'static str, u64); 8] {
        [
            ("warm-up", self.warm_up_ns),
            ("starting workers", self.starting_ns),
            ("ending rounds", self.ending_ns),
            ("counting", self.counting_ns),
            ("copy audits", self.audits_ns),
            ("profiles", self.profiles_ns),
            ("failed rounds", self.failed_ns),
            ("watching", self.watching_ns),
        ]
    }

    /// The share of so much wall time that was timed.
    pub fn efficiency(&self, elapsed_ns: u64) -> f64 {
        self.timed_ns as f64 / elapsed_ns.max(1) as f64
    }

    /// `62 % of 60 s was timed; 20 % warm-up, 9 % starting workers, 9 % other`: parts from 1 % on.
    pub fn line(&self, elapsed_ns: u64) -> String {
        let share = |ns: u64| 100.0 * ns as f64 / elapsed_ns.max(1) as f64;
        let known: u64 = self.timed_ns + self.parts().iter().map(|(_, ns)| ns).sum::<u64>();
        let other = ("other", elapsed_ns.saturating_sub(known));
        let mut parts: Vec<(&str, u64)> = self.parts().into_iter().collect();
        parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let rest: Vec<String> = parts
            .into_iter()
            .chain([other])
            .filter(|(_, ns)| share(*ns) >= 1.0)
            .map(|(name, ns)| format!("{:.0} % {name}", share(ns)))
            .collect();
        let whole = format_duration(Duration::from_nanos(elapsed_ns));
        let timed = format!("{:.0} % of {whole} was timed", share(self.timed_ns));
        if rest.is_empty() { timed } else { format!("{timed}; {}", rest.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_parts_of_rounds_add_up_to_their_time() {
        let mut spent = TimeSpent::default();
        let round =
            RoundSpan { ready_ns: 10 * MS, timed_from_ns: 30 * MS, timed_ns: 60 * MS, over_ns: 95 * MS };
        spent.add_round(round);
        spent.add_round(round);
        assert_eq!((spent.starting_ns, spent.warm_up_ns), (20 * MS, 40 * MS));
        assert_eq!((spent.timed_ns, spent.ending_ns), (120 * MS, 10 * MS));
        spent.counting_ns = 8 * MS;
        assert_eq!(spent.efficiency(200 * MS), 0.6);
        let line = "60 % of 200 ms was timed; 20 % warm-up, 10 % starting workers, 5 % ending rounds, 4 % counting, 1 % other";
        assert_eq!(spent.line(200 * MS), line);
    }
}
