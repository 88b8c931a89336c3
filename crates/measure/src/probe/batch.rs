//! The timing loop of every probe of one operation: warm-up, windows, batches, overhead.
//!
//! It owns the clock, the number of iterations, pinning and the watch for migration; a probe
//! supplies a body that runs N operations, and one that runs the same loop without the operation.
//! Nothing is printed or allocated between the two clock readings of a batch.

use super::counted::CountedOperations;
use super::{Task, Timing, Window, cost};
use anyhow::Result;
use std::collections::BTreeMap;
use syscost_host::clock::{monotonic_ns, thread_usage};
use syscost_host::topology::{Placement, Topology, pin_this_thread};
use syscost_sys::affinity;
use syscost_sys::optional::PINNING;

/// A batch of nanosecond operations is about this long: the clock's reading is below 1 % of it,
/// and most batches end before a timer interrupt comes.
const BATCH_NS: u64 = 10_000;
/// Every so many batches one is run without the operation.
const OVERHEAD_EVERY: usize = 4;

/// Runs batches of `body(n)` for each window of the task and returns their windows. `empty(n)` is
/// the same loop without the operation; its batches are timed between the others and become
/// `overhead_ns`, which includes the clock's reading.
pub fn batches(task: &Task, body: impl FnMut(u64), empty: impl FnMut(u64)) -> Vec<Window> {
    batches_of(1, task, body, empty)
}

/// The same, of at least so many operations a batch.
pub fn batches_of(
    fewest: u64,
    task: &Task,
    mut body: impl FnMut(u64),
    mut empty: impl FnMut(u64),
) -> Vec<Window> {
    let ops = calibrate(task.timing, fewest, BATCH_NS, &mut body);
    let mut windows = Vec::new();
    for _ in 0..task.timing.windows {
        let mut recorder = BatchRecorder::start();
        let mut overhead = Vec::new();
        while recorder.elapsed_ns() < task.timing.window_ns || overhead.is_empty() {
            for _ in 0..OVERHEAD_EVERY {
                recorder.batch(ops, || body(ops));
            }
            let start = monotonic_ns();
            empty(ops);
            let ns = (monotonic_ns() - start) as f64;
            overhead.push(ns / ops as f64);
            recorder.counted.add_beside(ns, ops);
        }
        let overhead_ns = syscost_core::stats::quantile(&overhead, cost::LOW);
        windows.push(recorder.window(task, ops as f64, overhead_ns));
    }
    windows
}

/// Runs single operations for each window of the task. `operation` times itself (its preparation
/// and clean-up are not part of it) and returns nanoseconds, of which `overhead_ns` are the clock's.
pub fn operations(
    task: &Task,
    overhead_ns: f64,
    mut operation: impl FnMut() -> Result<u64>,
) -> Result<Vec<Window>> {
    let warm_until = monotonic_ns() + task.timing.warmup_ns;
    operation()?;
    while monotonic_ns() < warm_until {
        operation()?;
    }
    let mut windows = Vec::new();
    for _ in 0..task.timing.windows {
        let mut recorder = BatchRecorder::start();
        while recorder.is_empty() || recorder.elapsed_ns() < task.timing.window_ns {
            let ns = operation()?;
            recorder.record(ns as f64, 1);
        }
        windows.push(recorder.window(task, 1.0, Some(overhead_ns)));
    }
    Ok(windows)
}

/// The overhead of timing a single operation.
pub fn clock_overhead_ns() -> f64 {
    overhead_ns(monotonic_ns)
}

/// What two readings of a clock in a row cost.
pub fn overhead_ns(clock: impl Fn() -> u64) -> f64 {
    let gaps: Vec<f64> = (0..2000)
        .map(|_| {
            let start = clock();
            (clock() - start) as f64
        })
        .collect();
    syscost_core::stats::median(&gaps).unwrap_or(0.0)
}

/// Warms up, and finds how many operations, of at least so many, take about this long.
pub fn calibrate(timing: Timing, fewest: u64, stretch_ns: u64, body: &mut impl FnMut(u64)) -> u64 {
    let warm_until = monotonic_ns() + timing.warmup_ns;
    let mut ops = fewest;
    loop {
        let start = monotonic_ns();
        body(ops);
        let now = monotonic_ns();
        if now - start < stretch_ns && ops < 1 << 30 {
            ops *= 2;
        } else if now >= warm_until {
            return ops;
        }
    }
}

/// The batches of one window.
pub struct BatchRecorder {
    started_ns: u64,
    ops: u64,
    times: Vec<f64>,
    cpu: Option<usize>,
    involuntary_switches: Option<u64>,
    counted: CountedOperations,
}

impl BatchRecorder {
    pub fn start() -> BatchRecorder {
        BatchRecorder {
            times: Vec::with_capacity(4096),
            ops: 0,
            cpu: affinity::current(),
            involuntary_switches: thread_usage().ok().map(|u| u.involuntary_switches),
            counted: CountedOperations::start(),
            started_ns: monotonic_ns(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub fn elapsed_ns(&self) -> u64 {
        monotonic_ns() - self.started_ns
    }

    /// Times one batch.
    pub fn batch(&mut self, ops: u64, run: impl FnOnce()) {
        let start = monotonic_ns();
        run();
        let end = monotonic_ns();
        self.record((end - start) as f64, ops);
    }

    /// Takes in one batch that timed itself.
    pub fn record(&mut self, ns: f64, ops: u64) {
        self.counted.add(ns, ops);
        self.times.push(ns / ops as f64);
        self.ops += ops;
    }

    /// The window of what was recorded. Another CPU at its end than at its start marks it. Allocates nothing of the size
    /// of its list: fresh pages would be faults of whoever counts those of its operations.
    pub fn window(mut self, task: &Task, batch_ops: f64, overhead_ns: Option<f64>) -> Window {
        let elapsed_ns = self.elapsed_ns() as f64;
        let mut marks = Vec::new();
        if self.cpu != affinity::current() {
            marks.push("migrated".to_string());
        }
        let switches = thread_usage().ok().zip(self.involuntary_switches);
        self.times.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| syscost_core::stats::quantile_of_sorted(&self.times, q);
        let mut quantities = BTreeMap::from(
            [
                ("low_ns", at(cost::LOW)),
                ("median_ns", at(0.5)),
                ("p90_ns", at(0.9)),
                ("p99_ns", at(0.99)),
                ("max_ns", at(1.0)),
                ("overhead_ns", overhead_ns),
                ("batches", Some(self.times.len() as f64)),
                ("batch_ops", Some(batch_ops)),
                ("tsc_hertz", task.tsc_hz),
                (
                    "involuntary_switches",
                    switches.map(|(now, then)| now.involuntary_switches.saturating_sub(then) as f64),
                ),
            ]
            .map(|(id, value)| (id.to_string(), value)),
        );
        let counts = self.counted.counts().into_iter().flatten();
        quantities.extend(counts.map(|(id, count)| (id.to_string(), Some(count))));
        let start_ns = Some(self.started_ns);
        Window { start_ns, elapsed_ns, ops: self.ops as f64, marks, quantities, ..Window::default() }
    }
}

/// Puts the calling thread on one CPU, so that no batch migrates; says which, or that it may not.
pub fn settle_on_one_cpu() -> BTreeMap<String, String> {
    let pins = Topology::read().place(&Placement::Different, 1).ok();
    let cpu = pins.and_then(|pins| pins.first().and_then(|pin| pin.sender));
    let said = match cpu.map(|cpu| (cpu, pin_this_thread(cpu))) {
        Some((cpu, Ok(()))) => cpu.to_string(),
        Some((_, Err(error))) => {
            PINNING.refused(&error);
            format!("not pinned ({error})")
        }
        None => "not pinned".to_string(),
    };
    BTreeMap::from([("cpus".to_string(), said)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Point;

    /// The copies that were sorted made 3,900 faults of a window of 200 ms, which a probe of page faults took for its own.
    #[test]
    fn what_a_long_window_is_made_of_needs_no_fresh_memory() {
        let task = Task::of(Point::default(), Timing { warmup_ns: 0, window_ns: 0, windows: 1 });
        let mut recorder = BatchRecorder::start();
        (0..300_000u32).rev().for_each(|n| recorder.record(f64::from(n), 1));
        let before = thread_usage().expect("this thread's usage");
        let window = recorder.window(&task, 1.0, None);
        let faults = thread_usage().expect("this thread's usage").since(before).minor_faults;
        assert_eq!(window.quantities["median_ns"], Some(149_999.5));
        assert_eq!(window.quantities["max_ns"], Some(299_999.0));
        assert!(faults < 64, "{faults} faults");
    }
}
