//! How an open loop's sender waits for the moment that a message is due.
//!
//! It sleeps while there is time, and passes the rest looking at the clock, giving the CPU to whoever
//! else wants it (a receiver that shares it, another sender). What it is late nevertheless is part of
//! every latency, and is recorded beside it.

use crate::host::clock;
use crate::sys::process;
use std::time::Duration;

/// Waking up from a sleep takes about this long on a virtual machine: that much before the time it
/// is awake.
const AWAKE_NS: u64 = 80_000;

/// Makes the calling thread's sleeps end when asked, not up to 50 us later.
pub fn prepare() {
    process::sleep_exactly();
}

/// Returns the time, which is no earlier than this one.
pub fn until(due_ns: u64) -> u64 {
    loop {
        let now = clock::monotonic_ns();
        if now >= due_ns {
            return now;
        }
        let left = due_ns - now;
        if left > AWAKE_NS {
            std::thread::sleep(Duration::from_nanos(left - AWAKE_NS));
        } else {
            std::thread::yield_now();
        }
    }
}
