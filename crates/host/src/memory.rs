//! How much memory a run may plan with. Source: proc(5), /proc/meminfo.

use super::files::Root;
use super::{memory_limit, settings};
use std::sync::OnceLock;

/// `MemAvailable`: what can be allocated without pushing others out; `None` where the kernel does
/// not say.
pub fn available_bytes() -> Option<u64> {
    settings::memory_bytes(&Root::here(), "MemAvailable")
}

/// What the default sizes of a study may count on: the free memory or the control group's limit,
/// whichever is less, as this process first found it: defaults may not change while a plan is made.
pub fn for_default_sizes() -> Option<u64> {
    static FOUND: OnceLock<Option<u64>> = OnceLock::new();
    *FOUND.get_or_init(|| available_bytes().into_iter().chain(memory_limit::bytes()).min())
}
