//! How much memory a run may plan with. Source: proc(5), /proc/meminfo.

/// `MemAvailable`: what can be allocated without pushing others out; `None` where the kernel does
/// not say.
pub fn available_bytes() -> Option<u64> {
    available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)
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
    }
}
