//! Sleeping, also where a sandbox refuses the call that the standard library sleeps by (and panics
//! without): a filter that is older than the use of clock_nanosleep(2) does not know it.
//!
//! Sources: clock_nanosleep(2), ppoll(2).

use std::io;
use std::time::{Duration, Instant};

/// Sleeps for so long, whatever signals come.
pub fn sleep(time: Duration) {
    let end = Instant::now() + time;
    let ways: [fn(&libc::timespec) -> io::Result<()>; 2] = [by_clock, by_poll];
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
        if way(&timespec(left)).is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            refused += 1;
        }
    }
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

fn by_clock(time: &libc::timespec) -> io::Result<()> {
    // SAFETY: the first pointer is to a live timespec; null asks for no rest.
    match unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, time, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn by_poll(time: &libc::timespec) -> io::Result<()> {
    // SAFETY: no descriptors, a live timespec, and no signals to let in.
    let result = unsafe { libc::ppoll(std::ptr::null_mut(), 0, time, std::ptr::null()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_sleep_takes_its_time() {
        const TIME: Duration = Duration::from_millis(3);
        let sleeps: [fn(); 3] =
            [|| sleep(TIME), || by_clock(&timespec(TIME)).unwrap(), || by_poll(&timespec(TIME)).unwrap()];
        for sleep in sleeps {
            let start = Instant::now();
            sleep();
            assert!(start.elapsed() >= TIME);
        }
        sleep(Duration::ZERO);
    }
}
