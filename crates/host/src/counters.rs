//! Hardware counters of the calling thread, user mode and kernel apart, one group at a time.
//!
//! A counter costs time at every context switch: a round trip through a pipe took 6 times as long with one open and 20
//! times with twelve. So counting has windows of its own, and each has one group, small enough that the kernel never has to
//! take turns among counters. Every group has cycles and instructions, so that groups check each other.
//! What this machine refuses is named with a reason and a remedy, and has no value: never 0.
//! Source: perf_event_open(2).

use super::Unavailable;
use super::files::Root;
use super::settings;
use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Raw};
use perf_event::{Builder, Counter, ReadFormat};
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

#[derive(Clone, Copy)]
enum CounterEvent {
    Hardware(Hardware),
    Cache(CacheId, CacheResult),
    Raw(u64),
    #[cfg(test)]
    Software(perf_event::events::Software),
}

/// One event, wanted in user mode and in the kernel.
#[derive(Clone, Copy)]
struct WantedEvent {
    user: &'static str,
    kernel: &'static str,
    event: CounterEvent,
}

const fn wanted(user: &'static str, kernel: &'static str, event: CounterEvent) -> WantedEvent {
    WantedEvent { user, kernel, event }
}

/// In every group: cycles and instructions have counters of their own on most processors.
const ALWAYS: [WantedEvent; 2] = [
    wanted("cycles_user", "cycles_kernel", CounterEvent::Hardware(Hardware::CPU_CYCLES)),
    wanted("instructions_user", "instructions_kernel", CounterEvent::Hardware(Hardware::INSTRUCTIONS)),
];

/// What is counted together, because a ratio is made of it.
const PAIRS: [[WantedEvent; 2]; 3] = [
    [
        wanted(
            "cache_references_user",
            "cache_references_kernel",
            CounterEvent::Hardware(Hardware::CACHE_REFERENCES),
        ),
        wanted("cache_misses_user", "cache_misses_kernel", CounterEvent::Hardware(Hardware::CACHE_MISSES)),
    ],
    [
        wanted("l1d_loads_user", "l1d_loads_kernel", CounterEvent::Cache(CacheId::L1D, CacheResult::ACCESS)),
        wanted("l1d_misses_user", "l1d_misses_kernel", CounterEvent::Cache(CacheId::L1D, CacheResult::MISS)),
    ],
    [
        wanted("llc_loads_user", "llc_loads_kernel", CounterEvent::Cache(CacheId::LL, CacheResult::ACCESS)),
        wanted("llc_misses_user", "llc_misses_kernel", CounterEvent::Cache(CacheId::LL, CacheResult::MISS)),
    ],
];

/// Groups: each pair in user mode, then each in the kernel.
pub const GROUPS: usize = 2 * PAIRS.len();

/// Below this share of a window a group counted too little to stand for it.
pub const LEAST_RUNNING: f64 = 0.9;

/// Loads that miss the L2 cache, and those that miss the last level too, where the kernel has no generic event for them.
/// Sources: Linux, tools/perf/pmu-events/arch/x86: skylake/cache.json (MEM_LOAD_RETIRED.L2_MISS and .L3_MISS),
/// amdzen4/cache.json (ls_dmnd_fills_from_sys: all from beyond the L2 cache, and of those all from beyond the L3 cache).
const RAW_LAST_LEVEL: [(&str, [u64; 2]); 2] =
    [("GenuineIntel", [0x10d1, 0x20d1]), ("AuthenticAMD", [0x5e43, 0x5c43])];

/// Every counter's id: `cycles_user`, `cycles_kernel`, ...
pub fn ids() -> impl Iterator<Item = &'static str> {
    ALWAYS.iter().chain(PAIRS.iter().flatten()).flat_map(|w| [w.user, w.kernel])
}

/// A group's events, by id.
fn members(group: usize) -> impl Iterator<Item = (&'static str, CounterEvent, bool)> {
    let kernel = group >= PAIRS.len();
    let events = ALWAYS.iter().chain(&PAIRS[group % PAIRS.len()]);
    events.map(move |w| (if kernel { w.kernel } else { w.user }, w.event, kernel))
}

/// Open counters, counting since they were opened. They belong to the thread that opened them.
#[derive(Default)]
pub struct Counters {
    leader: Option<(&'static str, Counter)>,
    members: Vec<(&'static str, Counter)>,
}

/// Counts since the counters were opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventCounts {
    /// By id; empty where the group counted for too little of the time.
    pub values: BTreeMap<String, f64>,
    /// Share of the time in which the group counted; 1 = always. `None`: no counter is open.
    pub running: Option<f64>,
}

impl Counters {
    /// Opens what this machine allows of one group (modulo [`GROUPS`]), and says what it refuses.
    pub fn open(group: usize) -> (Counters, Vec<(String, Unavailable)>) {
        static REFUSED: Mutex<BTreeMap<&'static str, Unavailable>> = Mutex::new(BTreeMap::new());
        // A thread that panicked here left nothing half done.
        let mut refused = REFUSED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        open(members(group % GROUPS), &mut refused)
    }

    /// What this machine refuses of all groups, by id.
    pub fn refused() -> Vec<(String, Unavailable)> {
        let all = (0..GROUPS).flat_map(|group| Counters::open(group).1);
        BTreeMap::from_iter(all).into_iter().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.leader.is_none()
    }

    /// A group that cannot be read has no counts: its ids are then absent.
    pub fn read(&mut self) -> EventCounts {
        let Some((leader_id, leader)) = &mut self.leader else { return EventCounts::default() };
        let Ok(data) = leader.read_group() else { return EventCounts::default() };
        let ns = |time: Option<std::time::Duration>| time.map_or(0.0, |t| t.as_nanos() as f64);
        let all = std::iter::once((&*leader_id, &*leader)).chain(self.members.iter().map(|(id, c)| (id, c)));
        let counts = all.filter_map(|(id, counter)| Some((*id, data.get(counter)?.value())));
        counted(ns(data.time_enabled()), ns(data.time_running()), counts)
    }
}

/// Refuses what ran for too small a share of the time, and scales up the rest.
fn counted(
    enabled_ns: f64,
    running_ns: f64,
    counts: impl Iterator<Item = (&'static str, u64)>,
) -> EventCounts {
    if enabled_ns <= 0.0 {
        return EventCounts::default();
    }
    // The kernel reads the two times one after the other: never above 1.
    let share = (running_ns / enabled_ns).min(1.0);
    let counts = counts.filter(|_| share >= LEAST_RUNNING);
    EventCounts {
        values: counts.map(|(id, count)| (id.to_string(), count as f64 / share)).collect(),
        running: Some(share),
    }
}

fn open(
    events: impl Iterator<Item = (&'static str, CounterEvent, bool)>,
    refused: &mut BTreeMap<&'static str, Unavailable>,
) -> (Counters, Vec<(String, Unavailable)>) {
    let mut counters = Counters::default();
    let mut missing = Vec::new();
    for (id, event, kernel) in events {
        if let Some(why) = refused.get(id) {
            missing.push((id.to_string(), why.clone()));
            continue;
        }
        if let Err(error) = add_or_raw(&mut counters, id, event, kernel) {
            let in_user_mode = || add_or_raw(&mut Counters::default(), id, event, false).err();
            let error = if kernel { deeper(error, in_user_mode) } else { error };
            let why = explain(&error, kernel, &Root::here());
            // Too many open files is a matter of the moment, not of the machine.
            if error.raw_os_error() != Some(libc::EMFILE) {
                refused.insert(id, why.clone());
            }
            missing.push((id.to_string(), why));
        }
    }
    if let Some((_, leader)) = &mut counters.leader {
        // Cannot fail for a descriptor just opened; were it to, the group would count nothing and be refused.
        let _ = leader.enable_group();
    }
    (counters, missing)
}

/// The kernel asks who may count itself before it asks whether the counter exists. One that user mode lacks too is
/// refused for that: no right would bring it.
fn deeper(error: io::Error, in_user_mode: impl FnOnce() -> Option<io::Error>) -> io::Error {
    let of_rights = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    let in_user_mode = if of_rights { in_user_mode() } else { None };
    in_user_mode.filter(|error| error.raw_os_error().is_some_and(is_nonexistent)).unwrap_or(error)
}

/// Does the machine lack the counter?
fn is_nonexistent(errno: i32) -> bool {
    matches!(errno, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL)
}

fn add_or_raw(
    counters: &mut Counters,
    id: &'static str,
    event: CounterEvent,
    kernel: bool,
) -> io::Result<()> {
    let added = add(counters, id, event, kernel);
    added.or_else(|error| raw_instead(id).map_or(Err(error), |raw| add(counters, id, raw, kernel)))
}

/// The processor's own code of a last-level event.
fn raw_instead(id: &str) -> Option<CounterEvent> {
    let place = ["llc_loads_", "llc_misses_"].iter().position(|event| id.starts_with(event))?;
    let cpuinfo = Root::here().text("proc/cpuinfo")?;
    let (_, codes) = RAW_LAST_LEVEL.iter().find(|(vendor, _)| cpuinfo.contains(vendor))?;
    Some(CounterEvent::Raw(codes[place]))
}

/// Adds a counter to the group, or starts it.
fn add(counters: &mut Counters, id: &'static str, event: CounterEvent, kernel: bool) -> io::Result<()> {
    let builder = builder(event, kernel);
    match &mut counters.leader {
        Some((_, leader)) => counters.members.push((id, builder.build_with_group(leader)?)),
        None => counters.leader = Some((id, builder.build()?)),
    }
    Ok(())
}

fn builder(event: CounterEvent, kernel: bool) -> Builder<'static> {
    let mut builder = match event {
        CounterEvent::Hardware(hardware) => Builder::new(hardware),
        CounterEvent::Cache(which, result) => Builder::new(Cache { which, operation: CacheOp::READ, result }),
        CounterEvent::Raw(code) => Builder::new(Raw::new(code)),
        #[cfg(test)]
        CounterEvent::Software(software) => Builder::new(software),
    };
    builder.observe_self().any_cpu().exclude_user(kernel).exclude_kernel(!kernel).exclude_hv(true);
    builder.read_format(
        ReadFormat::GROUP | ReadFormat::ID | ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING,
    );
    builder
}

/// Reason and remedy of a refused counter.
pub(crate) fn explain(error: &io::Error, kernel: bool, root: &Root) -> Unavailable {
    let paranoid = root.number_or_negative(PARANOID);
    let level = paranoid.map_or("unknown".into(), |n| n.to_string());
    let virtual_machine = root.text("proc/cpuinfo").is_some_and(|t| t.contains(" hypervisor"));
    let (reason, remedy) = match error.raw_os_error() {
        Some(errno) if is_nonexistent(errno) && virtual_machine => (
            "this virtual machine has no such hardware counter".to_string(),
            "measure on the bare machine, or have the hypervisor pass its counters on (KVM: -cpu host,pmu=on)",
        ),
        Some(errno) if is_nonexistent(errno) => {
            ("this processor has no such hardware counter".to_string(), "measure on another processor")
        }
        Some(libc::EACCES | libc::EPERM) if allowed(paranoid, kernel, root) => (
            "a sandbox (seccomp, a security module) refuses perf_event_open".to_string(),
            "allow perf_event_open in it (Docker: --cap-add PERFMON, or a seccomp profile that has it)",
        ),
        Some(libc::EACCES | libc::EPERM) => (
            format!(
                "kernel.perf_event_paranoid = {level} keeps counters of {} from an ordinary user",
                if kernel { "the kernel" } else { "user mode" }
            ),
            "sudo sysctl kernel.perf_event_paranoid=1, or run it as root (with 2 and less CAP_PERFMON is enough: sudo setcap cap_perfmon+ep)",
        ),
        Some(libc::ENOSYS) => (
            "this kernel, or a seccomp filter, has no perf_event_open".to_string(),
            "use a kernel with CONFIG_PERF_EVENTS, outside sandboxes that hide it",
        ),
        Some(libc::EMFILE | libc::ENFILE) => {
            ("too many open files".to_string(), "raise the limit: ulimit -n 4096")
        }
        _ => ("perf_event_open failed".to_string(), "run `syscost doctor`"),
    };
    Unavailable { reason: format!("{reason} ({error})"), remedy: remedy.into() }
}

const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
/// The strictest level of the kernel itself. Debian's and Ubuntu's have more, where CAP_PERFMON is not enough.
const STRICTEST: i64 = 2;

/// Does counting need CAP_SYS_ADMIN here? Seen on Debian's 6.12 with its default of 3: EACCES with CAP_PERFMON alone.
pub fn needs_admin() -> bool {
    Root::here().number_or_negative(PARANOID).is_some_and(|level| level > STRICTEST)
}

/// May this process count, as far as the setting and its rights go?
/// Source: Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid).
fn allowed(paranoid: Option<i64>, kernel: bool, root: &Root) -> bool {
    let free = if kernel { 1 } else { 2 };
    let right = if paranoid.is_some_and(|level| level > STRICTEST) { "CAP_SYS_ADMIN" } else { "CAP_PERFMON" };
    paranoid.is_some_and(|level| level <= free) || settings::holds(root, &[right])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;
    use perf_event::events::Software;

    #[test]
    fn a_count_is_scaled_up_a_little_or_refused() {
        let counts = |enabled, running| counted(enabled, running, [("a", 380)].into_iter());
        assert_eq!(counts(1000.0, 950.0).values["a"], 400.0);
        assert_eq!(counts(1000.0, 950.0).running, Some(0.95));
        let refused = counts(1000.0, 500.0);
        assert!(refused.values.is_empty() && refused.running == Some(0.5));
        assert!(counts(1000.0, 0.0).values.is_empty());
        assert_eq!(counts(0.0, 0.0), EventCounts::default(), "no time passed");
        assert_eq!(Counters::default().read(), EventCounts::default());
    }

    #[test]
    fn refusals_name_what_would_help() {
        let machine = Machine::empty();
        machine.write("proc/sys/kernel/perf_event_paranoid", "3\n");
        machine.write("proc/cpuinfo", "flags\t: fpu lahf_lm\n");
        let why = |errno, kernel| explain(&io::Error::from_raw_os_error(errno), kernel, &machine.root());
        assert!(why(libc::EACCES, true).reason.contains("= 3"));
        assert!(why(libc::EACCES, true).reason.contains("the kernel"));
        assert!(why(libc::EACCES, false).reason.contains("user mode"));
        assert!(why(libc::ENOENT, false).reason.contains("processor"));
        machine.write("proc/cpuinfo", "flags\t: fpu hypervisor lahf_lm\n");
        assert!(why(libc::ENOENT, false).remedy.contains("pmu=on"));
        // Where the setting or a right allows it, neither is blamed.
        machine.write("proc/sys/kernel/perf_event_paranoid", "2\n");
        assert!(why(libc::EPERM, false).reason.contains("sandbox"));
        assert!(why(libc::EPERM, true).reason.contains("= 2"));
        machine.write("proc/self/status", "CapEff:\t0000004000000000\n");
        assert!(why(libc::EPERM, true).remedy.contains("allow perf_event_open"));
        assert!(why(libc::ENOSYS, true).remedy.contains("sandbox"));
        // Debian's kernels go further than the kernel's own levels.
        machine.write("proc/sys/kernel/perf_event_paranoid", "3\n");
        assert!(why(libc::EACCES, false).reason.contains("= 3"));
    }

    #[test]
    fn no_right_is_asked_for_a_counter_that_does_not_exist() {
        let told = |kernel, user: Option<i32>| {
            let error =
                deeper(io::Error::from_raw_os_error(kernel), || user.map(io::Error::from_raw_os_error));
            error.raw_os_error()
        };
        assert_eq!(told(libc::EACCES, Some(libc::ENOENT)), Some(libc::ENOENT));
        assert_eq!(told(libc::EACCES, None), Some(libc::EACCES), "user mode has it");
        assert_eq!(
            told(libc::EACCES, Some(libc::EACCES)),
            Some(libc::EACCES),
            "whether it exists is unknown"
        );
        assert_eq!(told(libc::EMFILE, Some(libc::ENOENT)), Some(libc::EMFILE));
    }

    /// Software events go the same way as hardware events, and exist everywhere.
    #[test]
    fn a_real_group_counts_this_thread() {
        let events = [
            ("faults_user", CounterEvent::Software(Software::PAGE_FAULTS_MIN), false),
            ("switches_user", CounterEvent::Software(Software::CONTEXT_SWITCHES), false),
        ];
        let (mut counters, missing) = open(events.into_iter(), &mut BTreeMap::new());
        if counters.is_empty() {
            return eprintln!("skipped: {:?}", missing[0].1);
        }
        assert_eq!(counters.members.len(), 1);
        // So large that the allocator maps it afresh; 20 faults even where every page is a huge one.
        let bytes = 40 << 20;
        let mut memory = syscost_sys::buffer::Buffer::zeroed(bytes, 4096);
        for page in (0..bytes).step_by(4096) {
            memory[page] = std::hint::black_box(1);
        }
        let counts = counters.read();
        assert!(counts.values["faults_user"] >= 20.0, "{counts:?}");
        assert_eq!(counts.running, Some(1.0));
        drop(memory);
    }
}
