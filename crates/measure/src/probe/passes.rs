//! The timing loop of every rate: whole passes over a working set, counted in bytes.
//!
//! A rate has no overhead to subtract: a clock is read so rarely that it does not show. A probe
//! supplies a body that makes N passes; nothing is printed or allocated inside a window.

use super::batch::calibrate;
use super::{Figures, Task, Window};
use crate::probe::quantities;
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Better, Metric, Quantity, Sample};
use syscost_core::units::Unit;
use syscost_host::clock::{monotonic_ns, thread_usage};
use syscost_sys::affinity;

/// The clock is read no more often than this.
const STRETCH_NS: u64 = 20_000;

pub const QUANTITIES: &[Quantity] = quantities! {
    "passes", Count, "times that the working set was gone through";
    "involuntary_switches", Count, "times that a measuring thread was put aside in the window";
};

/// Those of every rate of memory.
pub fn figures(help: &'static str) -> Figures {
    let (unit, better) = (Unit::BytesPerSecond, Better::Higher);
    let bandwidth = Metric {
        id: "bandwidth",
        title: "bandwidth",
        unit,
        better,
        help,
        of: rate,
        counted: false,
        of_times: None,
    };
    Figures::of(QUANTITIES, &[bandwidth], &["bandwidth"])
}

fn rate(sample: &Sample, _: &Point) -> Option<f64> {
    (sample.elapsed_ns > 0.0 && sample.bytes > 0.0).then(|| sample.bytes * 1e9 / sample.elapsed_ns)
}

/// What was timed, and how many passes were made in all, warm-up included.
pub struct Timed {
    pub windows: Vec<Window>,
    pub passes: u64,
}

/// Goes through the working set for each window of the task; `body(n)` makes n passes of
/// `bytes_per_pass`. A window ends after the pass in which its time is up.
pub fn windows(task: &Task, bytes_per_pass: u64, mut body: impl FnMut(u64)) -> Timed {
    let mut made = 0;
    let mut run = |passes: u64| {
        body(passes);
        made += passes;
    };
    let stretch = calibrate(task.timing, 1, STRETCH_NS, &mut run);
    let mut windows = Vec::new();
    for _ in 0..task.timing.windows {
        windows.push(window(task, stretch, bytes_per_pass, &mut run));
    }
    Timed { windows, passes: made }
}

fn window(task: &Task, stretch: u64, bytes_per_pass: u64, run: &mut impl FnMut(u64)) -> Window {
    let cpu = affinity::current();
    let switches = thread_usage().ok().map(|usage| usage.involuntary_switches);
    let start = monotonic_ns();
    let mut passes = 0;
    let mut elapsed = 0;
    while elapsed < task.timing.window_ns.max(1) {
        run(stretch);
        passes += stretch;
        elapsed = monotonic_ns() - start;
    }
    let since = thread_usage().ok().zip(switches);
    let since = since.map(|(now, then)| now.involuntary_switches.saturating_sub(then) as f64);
    let quantities = [("passes", Some(passes as f64)), ("involuntary_switches", since)];
    Window {
        start_ns: Some(start),
        elapsed_ns: elapsed as f64,
        ops: passes as f64,
        bytes: (passes * bytes_per_pass) as f64,
        marks: if cpu == affinity::current() { Vec::new() } else { vec!["migrated".into()] },
        quantities: BTreeMap::from(quantities.map(|(id, value)| (id.to_string(), value))),
        histogram: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Timing;

    #[test]
    fn every_pass_is_counted() {
        let task = Task::of(Point::default(), Timing { warmup_ns: 10_000, window_ns: 100_000, windows: 3 });
        let mut made = 0;
        let timed = windows(&task, 100, |passes| made += passes);
        assert_eq!((timed.passes, timed.windows.len()), (made, 3));
        let in_windows: f64 = timed.windows.iter().map(|w| w.ops).sum();
        assert!(in_windows < made as f64, "the warm-up is in no window");
        for window in &timed.windows {
            assert_eq!(window.bytes, window.ops * 100.0);
            assert!(window.elapsed_ns >= 100_000.0);
        }
        let sample = Sample { bytes: 500.0, elapsed_ns: 1e9, ..Sample::default() };
        assert_eq!((figures("").metrics[0].of)(&sample, &Point::default()), Some(500.0));
    }
}
