//! Transparent huge pages: how large one is, whether they can be had, and whether memory got them.
//!
//! The kernel treats huge pages as advice, so what a mapping really got is read back each time.
//! Sources: Documentation/admin-guide/mm/transhuge.rst, proc(5) (smaps).

use super::Unavailable;
use super::files::Root;
use syscost_sys::mapping::{Mapping, Pages};

/// Making room by moving other pages can fail for a moment.
const COLLAPSE_TRIES: usize = 3;

/// The size of one; `None` where the kernel has none.
pub fn bytes_of_one() -> Option<usize> {
    let size = Root::here().number("sys/kernel/mm/transparent_hugepage/hpage_pmd_size")?;
    usize::try_from(size).ok().filter(|bytes| bytes.is_power_of_two())
}

/// Can this process have one? It is tried.
pub fn available() -> Result<(), Unavailable> {
    map(1).map(|_| ())
}

/// Memory all of whose pages are huge and there.
pub fn map(bytes: usize) -> Result<Mapping, Unavailable> {
    let setting = || {
        let path = "sys/kernel/mm/transparent_hugepage/enabled";
        Root::here().text(path).unwrap_or_else(|| "not in this kernel".into())
    };
    let refused = |what: String| Unavailable {
        reason: format!("{what} (transparent_hugepage/enabled: {})", setting()),
        remedy: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, and leave enough memory \
                 unfragmented"
            .into(),
    };
    let one = bytes_of_one().ok_or_else(|| refused("the kernel has no transparent huge pages".into()))?;
    let mapped = Mapping::anonymous(bytes, Pages::Huge { bytes: one });
    let mut memory = mapped.map_err(|error| refused(format!("no memory for huge pages: {error}")))?;
    memory.populate();
    // Memory was too fragmented at a fault: the kernel may still make room when asked to.
    let whole = memory.len() as u64;
    for _ in 0..COLLAPSE_TRIES {
        if huge_bytes_of(&memory).is_none_or(|got| got == whole) || memory.collapse().is_ok() {
            break;
        }
    }
    match huge_bytes_of(&memory) {
        Some(got) if got == whole => Ok(memory),
        Some(got) => {
            Err(refused(format!("only {} of {} pages became huge", got / one as u64, whole / one as u64)))
        }
        None => Err(refused("the kernel does not say whether memory has huge pages".into())),
    }
}

/// How much of this memory is in huge pages; `None` where the kernel does not say.
pub fn huge_bytes_of(memory: &[u8]) -> Option<u64> {
    huge_bytes_at(memory.as_ptr() as u64, &std::fs::read_to_string("/proc/self/smaps").ok()?)
}

/// The huge pages of the mapping that holds this address.
fn huge_bytes_at(address: u64, smaps: &str) -> Option<u64> {
    let mut inside = false;
    for line in smaps.lines() {
        if let Some((start, end)) = range_of(line) {
            inside = (start..end).contains(&address);
        } else if let Some(rest) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
            let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
            return Some(kib * 1024);
        }
    }
    None
}

/// `7f12a0000000-7f12a0021000 rw-p ...`
fn range_of(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_of_an_address_is_found() {
        let smaps = "00400000-00500000 r-xp 00000000 08:02 173521 /usr/bin/x\n\
                     AnonHugePages:         0 kB\n\
                     7f0000000000-7f0000400000 rw-p 00000000 00:00 0\n\
                     Size: 4096 kB\nAnonHugePages:      2048 kB\n";
        assert_eq!(huge_bytes_at(0x7f00_0000_0000, smaps), Some(2 << 20));
        assert_eq!(huge_bytes_at(0x7f00_003f_ffff, smaps), Some(2 << 20));
        assert_eq!(huge_bytes_at(0x40_0000, smaps), Some(0));
        assert_eq!(huge_bytes_at(0x7f00_0040_0000, smaps), None);
    }

    #[test]
    fn huge_pages_are_never_on_silently() {
        let mut memory = Mapping::anonymous(8 << 20, Pages::Base).unwrap();
        memory.populate();
        match huge_bytes_of(&memory) {
            Some(bytes) => assert_eq!(bytes, 0),
            None => eprintln!("skipped: this kernel does not count huge pages in /proc/self/smaps"),
        }
    }

    #[test]
    fn huge_pages_are_huge_or_refused_with_a_reason() {
        match map(5 << 20) {
            Ok(memory) => assert_eq!(huge_bytes_of(&memory), Some(memory.len() as u64)),
            Err(why) => {
                assert!(!why.remedy.is_empty());
                eprintln!("skipped: {}", why.reason);
            }
        }
    }
}
