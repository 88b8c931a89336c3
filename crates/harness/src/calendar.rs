//! The clock of a run: time stamps that keep their order although somebody sets the clock, also when it is resumed.

use syscost_experiment::run::Run;
use syscost_sys::clock::{monotonic_ns, unix_ns};

/// One reading of the clock of the day and of CLOCK_MONOTONIC. A session makes one, when it begins: a second
/// one, for the start of the run, would be hours off if somebody sets the clock between the two.
#[derive(Clone, Copy)]
pub struct Moment {
    pub unix_ns: u64,
    monotonic_ns: u64,
}

impl Moment {
    pub fn now() -> Moment {
        Moment { unix_ns: unix_ns(), monotonic_ns: monotonic_ns() }
    }
}

/// Unix time, read once for a session and then counted on with CLOCK_MONOTONIC, which workers read too.
pub struct Calendar {
    began: Moment,
    started_unix_ns: u64,
}

impl Calendar {
    /// Of a session that may go on with a run: never before what that run has recorded.
    pub fn of(run: &Run, began: Moment) -> Calendar {
        let recorded_ns = run.record.elapsed_ns.max(run.samples.latest_start_ns() + 1);
        Calendar::at(began, run.record.started_unix_ns, recorded_ns)
    }

    fn at(began: Moment, started_unix_ns: u64, recorded_ns: u64) -> Calendar {
        let unix_ns = began.unix_ns.max(started_unix_ns + recorded_ns);
        Calendar { began: Moment { unix_ns, ..began }, started_unix_ns }
    }

    pub fn unix_ns(&self) -> u64 {
        self.unix_at(monotonic_ns())
    }

    fn unix_at(&self, monotonic_ns: u64) -> u64 {
        self.began.unix_ns.saturating_add(monotonic_ns).saturating_sub(self.began.monotonic_ns)
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

    fn moment(unix: u64, monotonic: u64) -> Moment {
        Moment { unix_ns: unix * SECOND, monotonic_ns: monotonic * SECOND }
    }

    #[test]
    fn a_run_s_clock_starts_with_it_and_goes_on_when_it_is_resumed() {
        let first = Calendar::at(moment(1001, 50), STARTED, 0);
        assert_eq!(first.since_start(50 * SECOND), SECOND);
        assert_eq!(first.since_start(53 * SECOND), 4 * SECOND);
        // An hour later, after a reboot.
        let later = Calendar::at(moment(4600, 2), STARTED, 5 * SECOND);
        assert_eq!(later.since_start(3 * SECOND), 3601 * SECOND);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_turn_the_order_of_stamps_round() {
        let resumed = Calendar::at(moment(900, 2), STARTED, 7 * SECOND);
        assert_eq!(resumed.since_start(2 * SECOND), 7 * SECOND);
        assert_eq!(resumed.unix_ns() / SECOND, (STARTED + 7 * SECOND + monotonic_ns() - 2 * SECOND) / SECOND);
    }
}
