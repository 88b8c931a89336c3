//! Instructions and cache misses of the calling thread in a guest whose emulator models caches.
//!
//! The caches are a model and the processor is emulated: nobody may take these for hardware counters. Unlike those they
//! cost nothing, so that every window has them. Source: ivshmem-spec.txt of qemu.

use crate::files::Root;
use crate::settings;
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use syscost_sys::clock;
use syscost_sys::modelled_counters::{COUNTERS, MODES, ModelledCounters, ThreadCounts};

/// What ids of counted quantities and metrics have in them.
pub const NAMES: [&str; COUNTERS] = ["l1i_misses", "l1d_misses", "l2_misses", "llc_misses", "instructions"];
/// Where among them the instructions stand.
pub const INSTRUCTIONS: usize = 4;

/// What is counted, in the order of the emulator: in user mode, in the kernel, and in softirqs, which the kernel's has too.
const IDS: [[&str; 3]; COUNTERS] = [
    ["l1i_misses_user", "l1i_misses_kernel", "l1i_misses_softirq"],
    ["l1d_misses_user", "l1d_misses_kernel", "l1d_misses_softirq"],
    ["l2_misses_user", "l2_misses_kernel", "l2_misses_softirq"],
    ["llc_misses_user", "llc_misses_kernel", "llc_misses_softirq"],
    ["instructions_user", "instructions_kernel", "instructions_softirq"],
];

/// The counters of this machine; `None`: it says of none.
pub fn opened() -> Option<&'static io::Result<ModelledCounters>> {
    static HERE: OnceLock<Option<io::Result<ModelledCounters>>> = OnceLock::new();
    HERE.get_or_init(|| settings::modelled_caches(&Root::here()).map(|_| open())).as_ref()
}

/// Those that can be read.
pub fn here() -> Option<&'static ModelledCounters> {
    opened()?.as_ref().ok()
}

fn open() -> io::Result<ModelledCounters> {
    let device = device()?;
    // It has no driver that switches it on. The guest's first process may, and a worker, which may not, finds it on.
    _ = fs::write(device.join("enable"), "1");
    ModelledCounters::open(&File::options().read(true).write(true).open(device.join("resource2"))?)
}

/// The device that shares memory between a guest and whoever has started it.
fn device() -> io::Result<PathBuf> {
    const SHARED_MEMORY: [(&str, &str); 2] = [("vendor", "0x1af4"), ("device", "0x1110")];
    let is_it = |folder: &PathBuf| {
        let says =
            |(file, id): &(&str, &str)| fs::read_to_string(folder.join(file)).is_ok_and(|t| t.trim() == *id);
        SHARED_MEMORY.iter().all(says)
    };
    let mut devices = fs::read_dir("/sys/bus/pci/devices")?.flatten().map(|entry| entry.path());
    devices.find(is_it).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Where the running kernel's function lies that runs softirqs; `None`: the kernel does not say.
pub fn softirqs() -> Option<Range<u64>> {
    range_of_softirqs(BufReader::new(File::open("/proc/kallsyms").ok()?).lines().map_while(Result::ok))
}

/// Symbols stand in the order of their addresses. Since Linux 6.10 `__do_softirq` only calls the other one.
fn range_of_softirqs(symbols: impl Iterator<Item = String>) -> Option<Range<u64>> {
    let mut found: Option<(bool, u64, Option<u64>)> = None;
    for line in symbols {
        let mut words = line.split_whitespace();
        let (address, name) = (words.next()?, words.nth(1)?);
        let address = u64::from_str_radix(address, 16).ok()?;
        match &mut found {
            Some((_, begin, end @ None)) if address > *begin => *end = Some(address),
            _ => {}
        }
        // A compiler may have made a copy of its own, which has its name and a suffix.
        let newer =
            name.split_once('.').map_or(name, |(name, suffix)| if suffix == "cold" { "" } else { name })
                == "handle_softirqs";
        if newer || (name == "__do_softirq" && !found.is_some_and(|(newer, ..)| newer)) {
            found = Some((newer, address, None));
        }
    }
    found.and_then(|(_, begin, end)| Some(begin..end?)).filter(|range| range.start > 0)
}

/// What was counted between two readings, by id.
pub fn between(from: &ThreadCounts, to: &ThreadCounts) -> Vec<(&'static str, f64)> {
    by_mode(&difference(from, to).map(|counts| counts.map(|count| count as f64)))
}

/// Counts by id.
pub fn by_mode(counts: &[[f64; COUNTERS]; MODES]) -> Vec<(&'static str, f64)> {
    let modes = |counter: usize| {
        let [user, kernel, softirq] = [0, 1, 2].map(|mode| counts[mode][counter]);
        IDS[counter].into_iter().zip([user, kernel + softirq, softirq])
    };
    (0..COUNTERS).flat_map(modes).collect()
}

fn difference(from: &ThreadCounts, to: &ThreadCounts) -> ThreadCounts {
    let count = |mode: usize, counter: usize| to[mode][counter].saturating_sub(from[mode][counter]);
    std::array::from_fn(|mode| std::array::from_fn(|counter| count(mode, counter)))
}

/// Does each reading of the clock in this process read the counts of the whole machine too?
static WITH_COUNTS: AtomicBool = AtomicBool::new(false);

/// A moment between two readings of the counts: what reading itself takes is in no operation.
#[derive(Clone, Copy, Default)]
struct CountedMoment {
    ns: u64,
    ended: Option<ThreadCounts>,
    begins: Option<ThreadCounts>,
}

/// Some operations look at the clock between their beginning and their end.
const MOMENTS: usize = 4;
thread_local!(static LATEST: RefCell<[CountedMoment; MOMENTS]> = RefCell::default());

/// From here on, where an emulator of this machine counts.
pub fn count_operations() {
    WITH_COUNTS.store(here().is_some(), Relaxed);
}

#[inline]
pub fn with_counts() -> bool {
    WITH_COUNTS.load(Relaxed)
}

/// The clock, and the counts of all threads on both sides of its reading.
#[cold]
pub fn monotonic_ns() -> u64 {
    let counts = || here().and_then(ModelledCounters::read_all);
    let ended = counts();
    let ns = clock::monotonic_ns();
    LATEST.with_borrow_mut(|latest| {
        latest.rotate_right(1);
        latest[0] = CountedMoment { ns, ended, begins: None };
        latest[0].begins = counts();
    });
    ns
}

/// What all threads executed in the time until the clock was last read here; `None`: it was not read where that began.
pub fn counted_over(ns: u64) -> Option<ThreadCounts> {
    let [last, before @ ..] = LATEST.with_borrow(|latest| *latest);
    let from = before.iter().find(|moment| last.ns.checked_sub(moment.ns) == Some(ns))?;
    Some(difference(&from.begins?, &last.ended?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softirqs_lie_where_the_symbols_say() {
        let of = |text: &str| range_of_softirqs(text.lines().map(String::from));
        let old = "ff10 T a\nff20 T __do_softirq\nff20 T __softirqentry_text_start\nff90 T b\n";
        assert_eq!(of(old), Some(0xff20..0xff90));
        let new = "ff10 t handle_softirqs\nff40 T __do_softirq\nff90 T b\n";
        assert_eq!(of(new), Some(0xff10..0xff40));
        assert_eq!(of("ff10 T __do_softirq\nff20 t handle_softirqs\nff30 T b [mod]\n"), Some(0xff20..0xff30));
        for nothing in ["", "0 T __do_softirq\n0 T b\n", "ff10 T __do_softirq\n", "no symbols here\n", "ff\n"]
        {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn the_kernel_s_counts_have_those_of_softirqs() {
        let (from, mut to) = ([[1; COUNTERS]; 3], [[1; COUNTERS]; 3]);
        (to[0][1], to[1][1], to[2][1], to[2][4]) = (11, 21, 31, 0);
        let counts: Vec<_> = between(&from, &to).into_iter().filter(|(_, n)| *n > 0.0).collect();
        assert_eq!(
            counts,
            [("l1d_misses_user", 10.0), ("l1d_misses_kernel", 50.0), ("l1d_misses_softirq", 30.0)]
        );
    }
}
