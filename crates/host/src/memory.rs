//! How much memory a run may plan with. Source: proc(5), /proc/meminfo.

use super::memory_limit;
use std::sync::OnceLock;

/// `MemAvailable`: what can be allocated without pushing others out; `None` where the kernel does
/// not say.
pub fn available_bytes() -> Option<u64> {
    available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// What the default sizes of a study may count on: the free memory or the control group's limit,
/// whichever is less, as this process first found it: defaults may not change while a plan is made.
pub fn for_default_sizes() -> Option<u64> {
    static FOUND: OnceLock<Option<u64>> = OnceLock::new();
    *FOUND.get_or_init(|| available_bytes().into_iter().chain(memory_limit::bytes()).min())
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_read_in_bytes() {
        let text = "MemTotal:       24683704 kB\nMemAvailable:   24258560 kB\n";
        assert_eq!(available_in(text), Some(24_258_560 * 1024));
        assert_eq!(available_in("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn this_machine_says() {
        assert!(available_bytes().is_some_and(|bytes| bytes > 1 << 20));
        assert_eq!(for_default_sizes(), for_default_sizes(), "the same whenever it is asked");
    }
}
