//! What a measured thread's own clocks say between two stamps, and in a counting round its hardware counters.
//!
//! The harness side of every probe: a role stamps the start and the end of each window on the
//! thread that does the work, and gets the window's common quantities. It must not be called
//! inside a timed operation. A timed window has no counter open: see [`syscost_host::counters`].

use super::{Missing, Task, Window};
use std::collections::BTreeMap;
use syscost_host::Unavailable;
use syscost_host::clock::{self, ThreadUsage};
use syscost_host::counters::{Counters, EventCounts, LEAST_RUNNING};
use syscost_host::modelled;
use syscost_sys::modelled_counters::{ModelledCounters, ThreadCounts};

/// The clocks of the calling thread, and the group of counters of the present window; make and use it on that thread.
pub struct Meter {
    /// In a counting round: the open group, and the next.
    counting: Option<(Counters, usize)>,
    missing: Vec<Missing>,
    tsc_hz: Option<f64>,
    /// What the emulator of this machine counts, where it does.
    modelled: Option<&'static ModelledCounters>,
}

/// One moment of a thread: the end of a window, and the start of the next.
pub struct Stamp {
    end: Clocks,
    start: Clocks,
    /// Of the window that ends here.
    counts: EventCounts,
    /// By the emulator, at the end of the window that ends here and at the start of the next.
    modelled: Option<[ThreadCounts; 2]>,
}

impl Stamp {
    /// When the next window starts.
    pub fn ns(&self) -> u64 {
        self.start.ns
    }
}

#[derive(Clone, Copy)]
struct Clocks {
    ns: u64,
    cpu_ns: u64,
    /// `None`: the kernel does not say (a sandbox without getrusage).
    usage: Option<ThreadUsage>,
}

impl Clocks {
    fn now() -> Clocks {
        Clocks {
            usage: clock::thread_usage().ok(),
            cpu_ns: clock::thread_cpu_ns(),
            ns: clock::monotonic_ns(),
        }
    }
}

impl Meter {
    pub fn of(task: &Task) -> Meter {
        let mut meter = Meter {
            counting: task.counting.map(|group| (Counters::default(), group as usize)),
            missing: Vec::new(),
            tsc_hz: task.tsc_hz,
            modelled: modelled::here().filter(|_| has_counted_metrics(&task.probe)),
        };
        if task.tsc_hz.is_none() {
            meter.miss(
                "tsc_cycles",
                "this machine's cycle counter has no constant, known rate".into(),
                "none: nanoseconds are reported instead",
            );
        }
        meter
    }

    /// Quantities that this thread could not measure.
    pub fn missing(self) -> Vec<Missing> {
        self.missing
    }

    fn miss(&mut self, quantity: &str, reason: String, remedy: &str) {
        let why = Unavailable { reason, remedy: remedy.into() };
        self.missing.push(Missing { quantity: quantity.into(), why });
    }

    /// In a counting round each window has a group of its own.
    pub fn stamp(&mut self) -> Stamp {
        let ended = self.modelled.and_then(ModelledCounters::read);
        let stamp = self.stamp_clocks();
        // Last, so that no window counts what stamping it takes.
        let begins = self.modelled.and_then(ModelledCounters::read);
        Stamp { modelled: ended.zip(begins).map(|(ended, begins)| [ended, begins]), ..stamp }
    }

    fn stamp_clocks(&mut self) -> Stamp {
        let end = Clocks::now();
        let Some((counters, group)) = &mut self.counting else {
            return Stamp { end, start: end, counts: EventCounts::default(), modelled: None };
        };
        let counts = counters.read();
        // Closed first: two groups at a time would take turns.
        *counters = Counters::default();
        let (opened, refused) = Counters::open(*group);
        (*counters, *group) = (opened, *group + 1);
        self.missing.extend(refused.into_iter().map(|(quantity, why)| Missing { quantity, why }));
        if let Some(share) = counts.running.filter(|share| *share < LEAST_RUNNING) {
            self.miss(
                "cycles_user",
                format!("a group of hardware counters counted during {:.0} % of its window", 100.0 * share),
                "stop whatever else counts on this machine (perf, a profiler, the NMI watchdog: sysctl kernel.nmi_watchdog=0)",
            );
        }
        Stamp { end, start: Clocks::now(), counts, modelled: None }
    }

    /// The next window starts only now: what was done since the stamp belongs to none.
    pub fn restart(&mut self, stamp: Stamp) -> Stamp {
        if let Some((counters, group)) = &mut self.counting {
            *counters = Counters::default();
            *counters = Counters::open(*group - 1).0;
        }
        let start = Clocks::now();
        let begins = self.modelled.and_then(ModelledCounters::read);
        let modelled = stamp.modelled.zip(begins).map(|([ended, _], begins)| [ended, begins]);
        Stamp { start, modelled, ..stamp }
    }

    /// The window between two stamps, with the quantities that every probe records.
    pub fn window(&self, from: &Stamp, to: &Stamp, ops: f64, bytes: f64) -> Window {
        let modelled =
            from.modelled.zip(to.modelled).map(|([_, from], [to, _])| modelled::between(&from, &to));
        let (from, counts, to) = (&from.start, &to.counts, &to.end);
        let elapsed_ns = to.ns.saturating_sub(from.ns) as f64;
        let cpu_ns = to.cpu_ns.saturating_sub(from.cpu_ns) as f64;
        let mut quantities: BTreeMap<String, Option<f64>> = BTreeMap::new();
        let mut put = |id: &str, value: Option<f64>| quantities.insert(id.to_string(), value);
        put("elapsed_ns", Some(elapsed_ns));
        put("cpu_ns", Some(cpu_ns));
        put("tsc_cycles", self.tsc_hz.map(|hz| cpu_ns * hz / 1e9));
        let usage = to.usage.zip(from.usage).map(|(to, from)| to.since(from));
        put("voluntary_switches", usage.map(|u| u.voluntary_switches as f64));
        put("involuntary_switches", usage.map(|u| u.involuntary_switches as f64));
        put("multiplexing", counts.running);
        for (id, count) in &counts.values {
            put(id, Some(*count));
        }
        for (id, count) in modelled.into_iter().flatten() {
            put(id, Some(count));
        }
        Window { start_ns: Some(from.ns), elapsed_ns, ops, bytes, quantities, ..Window::default() }
    }
}

/// Does this probe have columns for what is counted?
fn has_counted_metrics(probe: &str) -> bool {
    super::find(probe).is_some_and(|probe| probe.metrics().iter().any(|metric| metric.counted))
}

/// Joins the windows of threads that worked side by side, position by position: counts add up,
/// `elapsed_ns` becomes the time in which the total would have been done at the sum of the
/// threads' rates (so that `bytes / elapsed` is the sum of rates although threads stamp their
/// windows at slightly different moments), shares take the smallest.
pub fn join(threads: Vec<Vec<Window>>) -> Vec<Window> {
    let count = threads.iter().map(Vec::len).min().unwrap_or(0);
    (0..count).map(|i| join_one(threads.iter().map(|windows| &windows[i]))).collect()
}

fn join_one<'a>(windows: impl Iterator<Item = &'a Window>) -> Window {
    let mut joined = Window::default();
    let (mut rate, mut elapsed, mut count) = (0.0, 0.0, 0.0);
    for window in windows {
        joined.start_ns = joined.start_ns.into_iter().chain(window.start_ns).min();
        joined.ops += window.ops;
        joined.bytes += window.bytes;
        joined.marks.extend(window.marks.iter().cloned());
        if let Some(times) = &window.histogram {
            joined.histogram.get_or_insert_default().merge(times);
        }
        rate += window.ops / window.elapsed_ns.max(1.0);
        elapsed += window.elapsed_ns;
        count += 1.0;
        for (id, value) in &window.quantities {
            let combine = |a: f64, b: f64| if id == "multiplexing" { a.min(b) } else { a + b };
            joined
                .quantities
                .entry(id.clone())
                .and_modify(|sum| *sum = sum.zip(*value).map(|(a, b)| combine(a, b)))
                .or_insert(*value);
        }
    }
    let mean = elapsed / f64::max(count, 1.0);
    // Where the windows record their length as a quantity, the sum above is no length.
    joined.quantities.entry("elapsed_ns".into()).and_modify(|length| *length = Some(mean));
    joined.elapsed_ns = if rate > 0.0 { joined.ops / rate } else { mean };
    joined.marks.sort();
    joined.marks.dedup();
    joined
}

/// Where two groups saw cycles at rates that differ by more than this, one of them is wrong.
const GROUPS_AGREE_WITHIN: f64 = 4.0;
/// The mark of a counting round whose groups contradict each other.
const GROUPS_DISAGREE: &str = "groups_disagree";

/// The windows of a counting round as one: what only some of them counted stands for as many messages as all of them
/// moved. Every group counts cycles, so that groups check each other.
pub fn join_groups(windows: &[Window]) -> Window {
    let mut joined = Window { start_ns: windows.first().and_then(|w| w.start_ns), ..Window::default() };
    let mut counts: BTreeMap<&str, (f64, f64, Vec<f64>)> = BTreeMap::new();
    for window in windows {
        joined.elapsed_ns += window.elapsed_ns;
        joined.ops += window.ops;
        joined.bytes += window.bytes;
        joined.marks.extend(window.marks.iter().cloned());
        for (id, value) in &window.quantities {
            let Some(value) = value.filter(|_| window.ops > 0.0) else { continue };
            let (count, ops, rates) = counts.entry(id).or_default();
            (*count, *ops) = (*count + value, *ops + window.ops);
            rates.push(value / window.ops);
        }
    }
    for id in ["cycles_user", "cycles_kernel"] {
        let rates = counts.get(id).map_or(&[][..], |(.., rates)| rates);
        let (least, most) = rates.iter().fold((f64::INFINITY, 0.0f64), |(l, m), r| (l.min(*r), m.max(*r)));
        if most > GROUPS_AGREE_WITHIN * least {
            joined.marks.push(GROUPS_DISAGREE.into());
        }
    }
    joined.marks.sort();
    joined.marks.dedup();
    let whole = |(id, (count, ops, _)): (&str, (f64, f64, Vec<f64>))| {
        let n = match id {
            "multiplexing" => windows.iter().filter_map(|w| *w.quantities.get(id)?).fold(1.0, f64::min),
            _ => count * joined.ops / ops,
        };
        (id.to_string(), Some(n))
    };
    let quantities = counts.into_iter().map(whole).collect();
    Window { quantities, ..joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(elapsed_ns: f64, ops: f64, multiplexing: Option<f64>) -> Window {
        let quantities =
            [("multiplexing", multiplexing), ("cpu_ns", Some(10.0)), ("elapsed_ns", Some(elapsed_ns))];
        Window {
            start_ns: Some(elapsed_ns as u64),
            elapsed_ns,
            ops,
            bytes: ops * 8.0,
            marks: vec![],
            quantities: quantities.map(|(id, v)| (id.to_string(), v)).into(),
            histogram: None,
        }
    }

    #[test]
    fn rates_of_threads_add_up() {
        let joined =
            join(vec![vec![window(100.0, 50.0, Some(1.0))], vec![window(200.0, 50.0, Some(0.5)); 2]]);
        assert_eq!(joined[0].start_ns, Some(100), "that of the first thread");
        assert_eq!(joined.len(), 1, "only windows that every thread finished");
        assert!((joined[0].ops / joined[0].elapsed_ns - (0.5 + 0.25)).abs() < 1e-12);
        assert_eq!(joined[0].quantities["elapsed_ns"], Some(150.0));
        assert_eq!(joined[0].quantities["multiplexing"], Some(0.5));
        assert_eq!(joined[0].quantities["cpu_ns"], Some(20.0));
    }

    fn open_counters() -> usize {
        let links = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
        links.filter(|link| link.to_string_lossy().contains("perf_event")).count()
    }

    #[test]
    fn a_timed_window_has_no_counter_open_and_a_counting_one_has_one_group() {
        let timing = crate::probe::Timing { warmup_ns: 0, window_ns: 0, windows: 1 };
        let task = |counting| Task { counting, ..Task::of(Default::default(), timing) };
        let mut timed = Meter::of(&task(None));
        let from = timed.stamp();
        assert_eq!(open_counters(), 0);
        let to = timed.stamp();
        assert!(timed.window(&from, &to, 1.0, 0.0).quantities["multiplexing"].is_none());

        let mut counting = Meter::of(&task(Some(0)));
        let from = counting.stamp();
        let open = open_counters();
        let to = counting.stamp();
        let window = counting.window(&from, &to, 1.0, 0.0);
        if open == 0 {
            return eprintln!("skipped: {}", counting.missing()[1].why.reason);
        }
        assert!(open <= 4, "{open} of one group");
        assert!(window.quantities["multiplexing"].is_some());
    }

    #[test]
    fn groups_stand_for_all_messages_of_their_round_and_check_each_other() {
        let counted = |ops: f64, counts: &[(&str, f64)]| Window {
            ops,
            quantities: counts.iter().map(|(id, n)| (id.to_string(), Some(*n))).collect(),
            ..Window::default()
        };
        let users = counted(
            100.0,
            &[("cycles_user", 1000.0), ("messages", 100.0), ("elapsed_ns", 5.0), ("multiplexing", 1.0)],
        );
        let kernels = counted(
            300.0,
            &[("cycles_kernel", 9000.0), ("messages", 300.0), ("elapsed_ns", 7.0), ("multiplexing", 0.95)],
        );
        let joined = join_groups(&[users.clone(), kernels.clone()]);
        assert_eq!(joined.ops, 400.0);
        let per_message = |id: &str| joined.quantities[id].unwrap() / joined.quantities["messages"].unwrap();
        assert_eq!((per_message("cycles_user"), per_message("cycles_kernel")), (10.0, 30.0));
        assert_eq!(joined.quantities["multiplexing"], Some(0.95));
        assert_eq!(joined.quantities["elapsed_ns"], Some(12.0), "one after the other");
        assert!(joined.marks.is_empty());
        let wrong = counted(100.0, &[("cycles_user", 5000.0), ("messages", 100.0)]);
        assert_eq!(join_groups(&[users, wrong]).marks, [GROUPS_DISAGREE]);
    }

    #[test]
    fn a_thread_that_could_not_count_makes_the_sum_unknown() {
        let joined = join(vec![vec![window(1.0, 1.0, None)], vec![window(1.0, 1.0, Some(1.0))]]);
        assert_eq!(joined[0].quantities["multiplexing"], None);
    }
}
