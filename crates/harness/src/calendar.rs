//! The clock of a run: time stamps that keep their order although somebody sets the clock, also when it is resumed.

use syscost_experiment::run::Run;
use syscost_sys::clock::{monotonic_ns, unix_ns};

/// Unix time, read once for a session and then counted on with CLOCK_MONOTONIC, which workers read too.
pub struct Calendar {
    unix_ns: u64,
    monotonic_ns: u64,
    started_unix_ns: u64,
}

impl Calendar {
    /// Of a session that may go on with a run: never before what that run has recorded.
    pub fn of(run: &Run) -> Calendar {
        let recorded_ns = run.record.elapsed_ns.max(run.samples.latest_start_ns() + 1);
        Calendar::at((unix_ns(), monotonic_ns()), run.record.started_unix_ns, recorded_ns)
    }

    fn at((unix_ns, monotonic_ns): (u64, u64), started_unix_ns: u64, recorded_ns: u64) -> Calendar {
        Calendar { unix_ns: unix_ns.max(started_unix_ns + recorded_ns), monotonic_ns, started_unix_ns }
    }

    pub fn unix_ns(&self) -> u64 {
        self.unix_at(monotonic_ns())
    }

    fn unix_at(&self, monotonic_ns: u64) -> u64 {
        self.unix_ns.saturating_add(monotonic_ns).saturating_sub(self.monotonic_ns)
    }

    /// A moment of CLOCK_MONOTONIC as the time since the run's start.
    pub fn since_start(&self, monotonic_ns: u64) -> u64 {
        self.unix_at(monotonic_ns).saturating_sub(self.started_unix_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const STARTED: u64 = 1000 * SECOND;

    #[test]
    fn a_run_s_clock_starts_with_it_and_goes_on_when_it_is_resumed() {
        let first = Calendar::at((1001 * SECOND, 50 * SECOND), STARTED, 0);
        assert_eq!(first.since_start(50 * SECOND), SECOND);
        assert_eq!(first.since_start(53 * SECOND), 4 * SECOND);
        // An hour later, after a reboot.
        let later = Calendar::at((4600 * SECOND, 2 * SECOND), STARTED, 5 * SECOND);
        assert_eq!(later.since_start(3 * SECOND), 3601 * SECOND);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_turn_the_order_of_stamps_round() {
        let resumed = Calendar::at((900 * SECOND, 2 * SECOND), STARTED, 7 * SECOND);
        assert_eq!(resumed.since_start(2 * SECOND), 7 * SECOND);
        assert_eq!(resumed.unix_ns() / SECOND, (STARTED + 7 * SECOND + monotonic_ns() - 2 * SECOND) / SECOND);
    }
}
