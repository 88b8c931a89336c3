//! Hardware counters of the calling thread, user mode and kernel apart.
//!
//! What this machine refuses is named with a reason and a remedy, and has no value: never 0. A
//! refusal is remembered for the process, since every worker thread asks.
//! Source: perf_event_open(2).

use super::Unavailable;
use super::files::Root;
use super::settings;
use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter, ReadFormat};
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

#[derive(Clone, Copy)]
enum CounterEvent {
    Hardware(Hardware),
    Cache(CacheId, CacheResult),
    #[cfg(test)]
    Software(perf_event::events::Software),
}

/// One event, wanted twice.
#[derive(Clone, Copy)]
struct WantedEvent {
    user: &'static str,
    kernel: &'static str,
    event: CounterEvent,
}

const fn wanted(user: &'static str, kernel: &'static str, event: CounterEvent) -> WantedEvent {
    WantedEvent { user, kernel, event }
}

/// Groups of four counters: few enough to be scheduled together on any processor, and each holds
/// what a ratio is made of, so that both were counted over the same stretch of time.
const GROUPS: [[WantedEvent; 2]; 4] = [
    [
        wanted("cycles_user", "cycles_kernel", CounterEvent::Hardware(Hardware::CPU_CYCLES)),
        wanted("instructions_user", "instructions_kernel", CounterEvent::Hardware(Hardware::INSTRUCTIONS)),
    ],
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

/// Every counter's id: `cycles_user`, `cycles_kernel`, ...
pub fn ids() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flatten().flat_map(|w| [w.user, w.kernel])
}

/// Open counters, counting since they were opened. They belong to the thread that opened them.
#[derive(Default)]
pub struct Counters {
    groups: Vec<CounterGroup>,
}

struct CounterGroup {
    leader: (&'static str, Counter),
    members: Vec<(&'static str, Counter)>,
}

/// Counts at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    groups: Vec<GroupSnapshot>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct GroupSnapshot {
    enabled_ns: u64,
    running_ns: u64,
    counts: Vec<(&'static str, u64)>,
}

/// Counts between two moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventCounts {
    /// By id, scaled up for the time in which the counter was not scheduled; absent where it
    /// never was, or is not available.
    pub values: BTreeMap<String, f64>,
    /// Share of the time in which the least-scheduled group counted; 1 = always. `None`: no groups.
    pub multiplexing: Option<f64>,
}

impl Counters {
    /// Opens what this machine allows, and says what it refuses.
    pub fn open() -> (Counters, Vec<(String, Unavailable)>) {
        static REFUSED: Mutex<BTreeMap<&'static str, Unavailable>> = Mutex::new(BTreeMap::new());
        // A thread that panicked here left nothing half done.
        let mut refused = REFUSED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        open(GROUPS.iter().map(|group| &group[..]), &mut refused)
    }

    /// Nothing could be opened: reading is free, and pointless.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub fn read(&mut self) -> Snapshot {
        Snapshot { groups: self.groups.iter_mut().map(CounterGroup::read).collect() }
    }
}

fn open<'a>(
    groups: impl Iterator<Item = &'a [WantedEvent]>,
    refused: &mut BTreeMap<&'static str, Unavailable>,
) -> (Counters, Vec<(String, Unavailable)>) {
    let mut counters = Counters::default();
    let mut missing = Vec::new();
    for wanted in groups {
        let first = counters.groups.len();
        for (id, event, kernel) in
            wanted.iter().flat_map(|w| [(w.user, w.event, false), (w.kernel, w.event, true)])
        {
            if let Some(why) = refused.get(id) {
                missing.push((id.to_string(), why.clone()));
                continue;
            }
            if let Err(error) = add(&mut counters.groups, first, id, event, kernel) {
                let why = explain(&error, kernel, &Root::here());
                // Too many open files is a matter of the moment, not of the machine.
                if error.raw_os_error() != Some(libc::EMFILE) {
                    refused.insert(id, why.clone());
                }
                missing.push((id.to_string(), why));
            }
        }
    }
    for group in &mut counters.groups {
        // Cannot fail for descriptors just opened; were it to, the group would count nothing and
        // be left out as never scheduled.
        let _ = group.leader.1.enable_group();
    }
    (counters, missing)
}

/// Adds a counter to the group at this position, or starts it, or stands alone where the
/// processor has too few counters for the whole group.
fn add(
    groups: &mut Vec<CounterGroup>,
    at: usize,
    id: &'static str,
    event: CounterEvent,
    kernel: bool,
) -> io::Result<()> {
    let builder = builder(event, kernel);
    if let Some(group) = groups.get_mut(at) {
        match builder.build_with_group(&mut group.leader.1) {
            Ok(counter) => {
                group.members.push((id, counter));
                return Ok(());
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => return Err(error),
        }
    }
    groups.push(CounterGroup { leader: (id, builder.build()?), members: Vec::new() });
    Ok(())
}

fn builder(event: CounterEvent, kernel: bool) -> Builder<'static> {
    let mut builder = match event {
        CounterEvent::Hardware(hardware) => Builder::new(hardware),
        CounterEvent::Cache(which, result) => Builder::new(Cache { which, operation: CacheOp::READ, result }),
        #[cfg(test)]
        CounterEvent::Software(software) => Builder::new(software),
    };
    builder.observe_self().any_cpu().exclude_user(kernel).exclude_kernel(!kernel).exclude_hv(true);
    builder.read_format(
        ReadFormat::GROUP | ReadFormat::ID | ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING,
    );
    builder
}

impl CounterGroup {
    /// A group that cannot be read has no counts: its ids are then absent.
    fn read(&mut self) -> GroupSnapshot {
        let Ok(data) = self.leader.1.read_group() else {
            return GroupSnapshot::default();
        };
        let ns = |time: Option<std::time::Duration>| time.map_or(0, |t| t.as_nanos() as u64);
        let all = std::iter::once(&self.leader).chain(&self.members);
        GroupSnapshot {
            enabled_ns: ns(data.time_enabled()),
            running_ns: ns(data.time_running()),
            counts: all.filter_map(|(id, counter)| Some((*id, data.get(counter)?.value()))).collect(),
        }
    }
}

impl Snapshot {
    /// Both snapshots must come from the same counters.
    pub fn since(&self, earlier: &Snapshot) -> EventCounts {
        let mut counts = EventCounts::default();
        for (now, then) in self.groups.iter().zip(&earlier.groups) {
            let enabled = now.enabled_ns.saturating_sub(then.enabled_ns) as f64;
            let running = now.running_ns.saturating_sub(then.running_ns) as f64;
            if enabled <= 0.0 {
                continue;
            }
            // The kernel reads the two times one after the other: never above 1.
            let share = (running / enabled).min(1.0);
            counts.multiplexing = Some(counts.multiplexing.map_or(share, |least| least.min(share)));
            if running <= 0.0 {
                continue;
            }
            for ((id, now), (_, then)) in now.counts.iter().zip(&then.counts) {
                counts.values.insert(id.to_string(), now.wrapping_sub(*then) as f64 / share);
            }
        }
        counts
    }
}

/// Reason and remedy of a refused counter.
fn explain(error: &io::Error, kernel: bool, root: &Root) -> Unavailable {
    let paranoid = root.number_or_negative("proc/sys/kernel/perf_event_paranoid");
    let level = paranoid.map_or("unknown".into(), |n| n.to_string());
    let virtual_machine = root.text("proc/cpuinfo").is_some_and(|t| t.contains(" hypervisor"));
    let (reason, remedy) = match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL) if virtual_machine => (
            "this virtual machine has no such hardware counter".to_string(),
            "measure on the bare machine, or have the hypervisor pass its counters on (KVM: -cpu host,pmu=on)",
        ),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL) => {
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
            "sudo sysctl kernel.perf_event_paranoid=1, or give the binary CAP_PERFMON: sudo setcap cap_perfmon+ep",
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

/// May this process count, as far as the setting and its rights go?
/// Source: Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid); 3 is Debian's.
fn allowed(paranoid: Option<i64>, kernel: bool, root: &Root) -> bool {
    let strictest = if kernel { 1 } else { 2 };
    paranoid.is_some_and(|level| level <= strictest) || settings::holds(root, &["CAP_PERFMON"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;
    use perf_event::events::Software;

    fn snapshot(groups: &[(u64, u64, u64)]) -> Snapshot {
        let names = ["a", "b", "c"];
        let group = |(i, (enabled_ns, running_ns, count)): (usize, &(u64, u64, u64))| GroupSnapshot {
            enabled_ns: *enabled_ns,
            running_ns: *running_ns,
            counts: vec![(names[i], *count)],
        };
        Snapshot { groups: groups.iter().enumerate().map(group).collect() }
    }

    #[test]
    fn counts_are_scaled_by_their_own_groups_share() {
        let before = snapshot(&[(1000, 1000, 50), (1000, 400, 70)]);
        let after = snapshot(&[(3000, 3000, 450), (3000, 900, 170)]);
        let counts = after.since(&before);
        assert_eq!(counts.values["a"], 400.0);
        assert_eq!(counts.values["b"], 100.0 * 2000.0 / 500.0);
        assert_eq!(counts.multiplexing, Some(0.25), "the least of the groups");
    }

    #[test]
    fn a_group_that_never_ran_has_no_value() {
        let before = snapshot(&[(0, 0, 0), (0, 0, 0)]);
        let counts = snapshot(&[(500, 0, 0), (500, 500, 9)]).since(&before);
        assert_eq!(counts.values.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(counts.multiplexing, Some(0.0));
    }

    #[test]
    fn no_counters_give_no_counts() {
        assert_eq!(Snapshot::default().since(&Snapshot::default()), EventCounts::default());
        let same = snapshot(&[(500, 500, 9)]);
        assert_eq!(same.since(&same), EventCounts::default(), "no time passed");
    }

    #[test]
    fn a_wrapped_counter_still_gives_its_difference() {
        let counts = snapshot(&[(2, 2, 3)]).since(&snapshot(&[(1, 1, u64::MAX)]));
        assert_eq!(counts.values["a"], 4.0);
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
    }

    /// Software events go the same way as hardware events, and exist everywhere.
    #[test]
    fn a_real_group_counts_this_thread() {
        const GROUP: [WantedEvent; 2] = [
            wanted("faults_user", "faults_kernel", CounterEvent::Software(Software::PAGE_FAULTS_MIN)),
            wanted("switches_user", "switches_kernel", CounterEvent::Software(Software::CONTEXT_SWITCHES)),
        ];
        let mut refused = BTreeMap::new();
        let (mut counters, missing) = open([&GROUP[..]].into_iter(), &mut refused);
        if counters.is_empty() {
            return eprintln!("skipped: {:?}", missing[0].1);
        }
        assert_eq!(counters.groups.len(), 1);
        let before = counters.read();
        // So large that the allocator maps it afresh; 20 faults even where every page is a huge one.
        let bytes = 40 << 20;
        let mut memory = syscost_sys::buffer::Buffer::zeroed(bytes, 4096);
        for page in (0..bytes).step_by(4096) {
            memory[page] = std::hint::black_box(1);
        }
        let counts = counters.read().since(&before);
        assert!(counts.values["faults_user"] >= 20.0, "{counts:?}");
        assert_eq!(counts.multiplexing, Some(1.0));
        drop(memory);
    }

    #[test]
    fn a_refusal_is_asked_for_once() {
        let why = Unavailable { reason: "said before".into(), remedy: String::new() };
        let mut refused: BTreeMap<&'static str, Unavailable> = ids().map(|id| (id, why.clone())).collect();
        let (counters, missing) = open(GROUPS.iter().map(|group| &group[..]), &mut refused);
        assert!(counters.is_empty());
        assert_eq!(missing.len(), 16);
        assert!(missing.iter().all(|(_, w)| *w == why));
    }

    #[test]
    fn everything_is_either_open_or_missing() {
        let (counters, missing) = Counters::open();
        let open = counters.groups.iter().map(|group| 1 + group.members.len()).sum::<usize>();
        assert_eq!(open + missing.len(), ids().count());
        assert!(counters.groups.iter().all(|group| group.members.len() < 4));
        let (_, again) = Counters::open();
        assert_eq!(again, missing);
    }

    #[test]
    fn ids_say_their_mode() {
        for group in GROUPS.iter().flatten() {
            let base = group.user.strip_suffix("_user").unwrap();
            assert_eq!(group.kernel, format!("{base}_kernel"));
        }
    }
}
