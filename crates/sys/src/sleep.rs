//! Sleeping, also where a sandbox refuses the call that the standard library sleeps by (and panics
//! without): a filter that is older than the use of clock_nanosleep(2) does not know it.
//!
//! Sources: clock_nanosleep(2), ppoll(2).

use rustix::event::poll;
use rustix::io::Errno;
use rustix::thread::{ClockId, NanosleepRelativeResult, Timespec, clock_nanosleep_relative};
use std::time::{Duration, Instant};

/// Sleeps for so long, whatever signals come.
pub fn sleep(time: Duration) {
    let end = Instant::now() + time;
    let ways: [fn(&Timespec) -> rustix::io::Result<()>; 2] = [by_clock, by_poll];
    let mut refused = 0;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let Some(way) = ways.get(refused) else {
            // Whoever is refused both cannot sleep at all; that time passes is what was asked.
            std::thread::yield_now();
            continue;
        };
        if way(&timespec(left)).is_err_and(|error| error != Errno::INTR) {
            refused += 1;
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

fn by_clock(time: &Timespec) -> rustix::io::Result<()> {
    match clock_nanosleep_relative(ClockId::Monotonic, time) {
        NanosleepRelativeResult::Ok => Ok(()),
        NanosleepRelativeResult::Interrupted(_) => Err(Errno::INTR),
        NanosleepRelativeResult::Err(error) => Err(error),
    }
}

fn by_poll(time: &Timespec) -> rustix::io::Result<()> {
    poll(&mut [], Some(time)).map(drop)
}
