//! What a measured thread's own clocks and counters say between two stamps.
//!
//! The harness side of every probe: a role stamps the start and the end of each window on the
//! thread that does the work, and gets the window's common quantities. It must not be called
//! inside a timed operation.

use super::{Missing, Window};
use std::collections::BTreeMap;
use syscost_host::clock::{self, ThreadUsage};
use syscost_host::counters::{Counters, Snapshot};

/// The clocks and counters of the calling thread; make and use it on that thread.
pub struct Meter {
    counters: Counters,
    missing: Vec<Missing>,
    tsc_hz: Option<f64>,
}

/// One moment of a thread.
pub struct Stamp {
    pub ns: u64,
    cpu_ns: u64,
    /// `None`: the kernel does not say (a sandbox without getrusage).
    usage: Option<ThreadUsage>,
    counters: Snapshot,
}

impl Meter {
    pub fn open(tsc_hz: Option<f64>) -> Meter {
        let (counters, refused) = Counters::open();
        let mut missing: Vec<Missing> =
            refused.into_iter().map(|(quantity, why)| Missing { quantity, why }).collect();
        if tsc_hz.is_none() {
            missing.push(Missing {
                quantity: "tsc_cycles".into(),
                why: syscost_host::Unavailable {
                    reason: "this machine's cycle counter has no constant, known rate".into(),
                    remedy: "none: nanoseconds are reported instead".into(),
                },
            });
        }
        Meter { counters, missing, tsc_hz }
    }

    /// Quantities that this thread cannot measure.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    pub fn stamp(&mut self) -> Stamp {
        Stamp {
            counters: self.counters.read(),
            usage: clock::thread_usage().ok(),
            cpu_ns: clock::thread_cpu_ns(),
            ns: clock::monotonic_ns(),
        }
    }

    /// The window between two stamps, with the quantities that every probe records.
    pub fn window(&self, from: &Stamp, to: &Stamp, ops: f64, bytes: f64) -> Window {
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
        let counts = to.counters.since(&from.counters);
        put("multiplexing", counts.multiplexing);
        for (id, count) in counts.values {
            put(&id, Some(count));
        }
        Window { elapsed_ns, ops, bytes, quantities, ..Window::default() }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn window(elapsed_ns: f64, ops: f64, multiplexing: Option<f64>) -> Window {
        let quantities =
            [("multiplexing", multiplexing), ("cpu_ns", Some(10.0)), ("elapsed_ns", Some(elapsed_ns))];
        Window {
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
        assert_eq!(joined.len(), 1, "only windows that every thread finished");
        assert!((joined[0].ops / joined[0].elapsed_ns - (0.5 + 0.25)).abs() < 1e-12);
        assert_eq!(joined[0].quantities["elapsed_ns"], Some(150.0));
        assert_eq!(joined[0].quantities["multiplexing"], Some(0.5));
        assert_eq!(joined[0].quantities["cpu_ns"], Some(20.0));
    }

    #[test]
    fn a_thread_that_could_not_count_makes_the_sum_unknown() {
        let joined = join(vec![vec![window(1.0, 1.0, None)], vec![window(1.0, 1.0, Some(1.0))]]);
        assert_eq!(joined[0].quantities["multiplexing"], None);
    }
}
