//! How an open loop's sender waits for the moment that a message is due.
//!
//! It sleeps while there is time, and passes the rest looking at the clock; where data threads share a CPU
//! it gives way to the others meanwhile. What it is late nevertheless is part of every latency, and is
//! recorded beside it.

use crate::probe::transfer::axes::{PLACEMENT, THREADS};
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_host::{allowance, clock};
use syscost_sys::process;
use syscost_sys::sleep::sleep;

/// Waking up from a sleep takes about this long on a virtual machine: that much before the time it
/// is awake.
const AWAKE_NS: u64 = 80_000;

/// How one thread waits.
pub struct IdleWait {
    /// A thread that gives way also does so to strangers, for a whole turn of theirs: only where it must.
    gives_way: bool,
}

impl IdleWait {
    /// For the calling thread, whose sleeps then end when asked, not up to 50 us later.
    pub fn of(point: &Point) -> IdleWait {
        process::sleep_exactly();
        let cpus = allowance::cpus() as u64;
        let crowded = 2 * point.int(THREADS).unwrap_or(1) > cpus;
        IdleWait { gives_way: crowded || point.text(PLACEMENT) != Some("different") }
    }

    /// Returns the time, which is no earlier than this one.
    pub fn until(&self, due_ns: u64) -> u64 {
        loop {
            let now = clock::monotonic_ns();
            if now >= due_ns {
                return now;
            }
            let left = due_ns - now;
            if left > AWAKE_NS {
                sleep(Duration::from_nanos(left - AWAKE_NS));
            } else if self.gives_way {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
