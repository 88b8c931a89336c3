//! The axis that every memory probe has: how much memory a thread goes through.

use syscost_core::axis::DefaultValues::Of;
use syscost_core::axis::{Axis, IntAxis, Value};

pub const ID: IntAxis = IntAxis::new("working_set_bytes");
/// More than any machine has; what this one has is the plan's business.
const MOST_BYTES: u64 = 1 << 40;

/// The axis, from the least that the probe can go through.
pub fn axis(least_bytes: u64, default: fn() -> Vec<Value>, quick: fn() -> Vec<Value>) -> Axis {
    ID.bytes(least_bytes, MOST_BYTES)
        .flag("working-set", "working set")
        .help("memory that each thread goes through again and again")
        .default_on(Of(default))
        .quick_on(Of(quick))
}
