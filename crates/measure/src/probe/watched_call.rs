//! `watched_call`: what watching system calls adds to each: a filter, a tracing process, a program of the kernel.
//!
//! A container runtime puts a filter on every process; strace stops a process twice a call; a monitor runs a program at
//! every entry. The same thread makes the call before it is watched and after; the difference is the cost. Auditing is not
//! here: its rules are the host's. Sources: seccomp(2), ptrace(2), bpf(2); kernel/seccomp.c; LEBench (SOSP 2019).

use super::prediction::{CostAccount, Inputs};
use super::rights::{COUNT_IN_THE_KERNEL, RUN_PROGRAMS, Rights};
use super::row::Row;
use super::{
    Channel, Figures, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Window, batch,
    primitive,
};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::stats;
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_sys::call;
use syscost_sys::call_counter::CallCounter;
use syscost_sys::seccomp::{CallFilter, is_filtered};
use syscost_sys::tracer::Tracer;

const WATCHER: NameAxis = NameAxis::new("watcher");
/// Entry and exit.
const STOPS: f64 = 2.0;

pub struct WatchedCall;

/// What watches the calls of this thread, for as long as it lives, and how often it has seen one.
trait Watching {
    fn seen(&self) -> Result<u64>;
}

struct Watcher {
    id: &'static str,
    label: &'static str,
    start: fn() -> Result<Box<dyn Watching>>,
    /// How often one call is seen; 0: what watches keeps no account, and showed at its start that it acts.
    seen: u64,
    theory: WatchTheory,
}

/// What watching should add.
#[derive(Clone, Copy)]
enum WatchTheory {
    /// Instructions of the longer way into the kernel, and of what runs there.
    Instructions(fn() -> (f64, f64)),
    /// The tracing process runs, and this one again.
    Switches,
}

/// The slow way of kernel/entry/common.c; beyond it the call's description for what looks at it.
const SLOW_ENTRY: f64 = 100.0;
const DESCRIBED: f64 = 150.0;
/// The slow way out, which a tracepoint at the entry takes too, and the call of its program.
const TRACED: f64 = 150.0;

const fn watcher(id: &'static str, label: &'static str, start: fn() -> Result<Box<dyn Watching>>) -> Watcher {
    Watcher { id, label, start, seen: 0, theory: WatchTheory::Switches }
}

const WATCHERS: &[Watcher] = &[
    Watcher {
        theory: WatchTheory::Instructions(|| (SLOW_ENTRY, 0.0)),
        ..watcher("filter_by_number", "added by a filter that looks at the number of the call", || {
            filter(&CallFilter::by_number())
        })
    },
    Watcher {
        theory: WatchTheory::Instructions(|| {
            (SLOW_ENTRY + DESCRIBED, CallFilter::by_argument(10).length() as f64)
        }),
        ..watcher("filter_by_argument_10", "added by a filter that compares an argument 10 times", || {
            filter(&CallFilter::by_argument(10))
        })
    },
    Watcher {
        theory: WatchTheory::Instructions(|| {
            (SLOW_ENTRY + DESCRIBED, CallFilter::by_argument(200).length() as f64)
        }),
        ..watcher("filter_by_argument_200", "added by a filter that compares an argument 200 times", || {
            filter(&CallFilter::by_argument(200))
        })
    },
    Watcher { seen: 2, ..watcher("ptrace", "added by a tracing process (ptrace), two stops a call", traced) },
    Watcher {
        seen: 1,
        theory: WatchTheory::Instructions(|| {
            (SLOW_ENTRY + DESCRIBED + TRACED, CallCounter::INSTRUCTIONS as f64)
        }),
        ..watcher("bpf", "added by a BPF program that counts every entry", counted)
    },
];

fn find(point: &Point) -> Option<&'static Watcher> {
    WATCHERS.iter().find(|watcher| Some(watcher.id) == point.text(WATCHER))
}

struct Filtered;

impl Watching for Filtered {
    fn seen(&self) -> Result<u64> {
        ensure!(is_filtered(), "the filter does not act any more");
        Ok(0)
    }
}

impl Watching for Tracer {
    fn seen(&self) -> Result<u64> {
        Ok(self.stops())
    }
}

impl Watching for CallCounter {
    fn seen(&self) -> Result<u64> {
        Ok(self.count()?)
    }
}

fn filter(filter: &CallFilter) -> Result<Box<dyn Watching>> {
    ensure!(!is_filtered(), "the call that the filter refuses is refused already");
    filter.install().map_err(|error| Unavailable {
        reason: format!("no filter of system calls may be installed ({error})"),
        remedy:
            "a kernel with CONFIG_SECCOMP_FILTER, and a sandbox that lets programs filter their own calls"
                .into(),
    })?;
    ensure!(is_filtered(), "the filter was installed and does not act");
    Ok(Box::new(Filtered))
}

fn traced() -> Result<Box<dyn Watching>> {
    let tracer = Tracer::of_this_thread().map_err(|error| Unavailable {
        reason: format!("a child of this process may not trace it ({error})"),
        remedy: "a sandbox that allows ptrace(2), kernel.yama.ptrace_scope below 2, and no debugger".into(),
    })?;
    Ok(Box::new(tracer))
}

fn counted() -> Result<Box<dyn Watching>> {
    let counter = CallCounter::attach().map_err(|error| Unavailable {
        reason: format!("no program may be attached to the entry of system calls ({error})"),
        remedy: "as root, or with CAP_BPF and CAP_PERFMON (Linux 5.8 or newer)".into(),
    })?;
    Ok(Box::new(counter))
}

/// Windows of getppid by number, each call checked, and how many calls were made.
fn calls(task: &Task) -> Result<(Vec<Window>, u64)> {
    let parent = i64::from(std::os::unix::process::parent_id());
    let (mut wrong, mut made) = (0u64, 0u64);
    let body = |n| {
        made += n;
        (0..n).for_each(|_| wrong += u64::from(call::getppid() != parent));
    };
    let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
    ensure!(wrong == 0, "{wrong} calls did not name the parent");
    Ok((windows, made))
}

/// The low quantile of the same loop where nothing watches, over its windows.
fn without(windows: &[Window]) -> Option<f64> {
    let low: Vec<f64> = windows.iter().filter_map(|w| *w.quantities.get("low_ns")?).collect();
    stats::median(&low)
}

/// The cost of what was added: the call that nothing watches becomes the overhead that is subtracted.
fn added(mut windows: Vec<Window>, without: Option<f64>) -> Vec<Window> {
    for window in &mut windows {
        window.quantities.insert("overhead_ns".into(), without);
    }
    windows
}

impl Probe for WatchedCall {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "watched_call",
            title: "watching system calls",
            method: "Batches of getppid(2) by number on one CPU, first unwatched, then watched; the cost is the difference of the 5 % \
                     quantiles over batches. A filter refuses another call, which shows that it acts; a tracing process and a \
                     program have to count every call.",
            source: "seccomp(2), ptrace(2), bpf(2); kernel/seccomp.c; LEBench (SOSP 2019)",
            roles: &["caller"],
            operation: Some(&WatchedCall),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            WATCHER
                .names(|| WATCHERS.iter().map(|watcher| watcher.id).collect())
                .help("what watches the calls"),
        ]
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![RUN_PROGRAMS, COUNT_IN_THE_KERNEL])
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let watcher = find(&task.point).with_context(|| format!("nothing watches at {}", task.point))?;
        let facts = batch::settle_on_one_cpu();
        channel.ready()?;
        let unwatched = without(&calls(task)?.0);
        let watching = (watcher.start)()?;
        let before = watching.seen()?;
        let (windows, made) = calls(task)?;
        let seen = watching.seen()? - before;
        ensure!(seen >= watcher.seen * made, "{made} calls were seen {seen} times: {}", watcher.id);
        Ok(RoleReport { windows: added(windows, unwatched), facts, ..RoleReport::default() })
    }
}

impl OsOperation for WatchedCall {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        find(point).map(|watcher| Row::listed(watcher.label))
    }

    fn predict(&self, point: &Point, inputs: Inputs<'_>) -> Option<CostAccount> {
        Some(match find(point)?.theory {
            WatchTheory::Instructions(of) => predict_instructions(of(), inputs),
            WatchTheory::Switches => predict_switches(inputs),
        })
    }
}

/// The longer way into the kernel, and what runs there.
fn predict_instructions((entry, own): (f64, f64), mut inputs: Inputs<'_>) -> CostAccount {
    let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
    let per_cycle = inputs.constant("instructions_per_cycle", 2.0, Unit::Ratio, "kernel code; 1 to 3");
    let own = inputs.constant(
        "own_instructions",
        own,
        Unit::Count,
        "machine code of the filter or program that runs",
    );
    let entry = inputs.constant(
        "entry_instructions",
        entry,
        Unit::Count,
        "the slow way of kernel/entry/common.c, the call's description for what looks at it, and a tracepoint: estimated",
    );
    let software = hertz.map(|hertz| (entry + own) / per_cycle * 1e9 / hertz);
    let formula = "(entry_instructions + own_instructions) / instructions_per_cycle / frequency";
    inputs.sum(formula, Some(0.0), software)
}

/// At each stop the tracing process is woken and run, waits for the next one, and so is this one.
fn predict_switches(mut inputs: Inputs<'_>) -> CostAccount {
    let stops = inputs.constant("stops", STOPS, Unit::Count, "at entry and exit");
    let wake = inputs.row("wake_up", primitive::cost_of("wake_up"));
    let switch = inputs.row("process_switch", primitive::fastest_of("process_switch"));
    let entry = inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
    let software =
        wake.zip(switch).zip(entry).map(|((wake, switch), entry)| stops * 2.0 * (wake + switch + entry));
    inputs.sum("stops * 2 * (wake_up + process_switch + kernel_entry)", Some(0.0), software)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use crate::probe::cost;
    use syscost_core::axis::Value;

    fn window(low_ns: f64) -> Window {
        Window { quantities: [("low_ns".to_string(), Some(low_ns))].into(), ..Window::default() }
    }

    #[test]
    fn the_cost_is_what_watching_adds() {
        let unwatched = without(&[window(100.0), window(140.0), window(110.0)]);
        assert_eq!(unwatched, Some(110.0));
        let windows = added(vec![window(150.0)], unwatched);
        let sample = windows[0].sample(0);
        let cost = cost::NANOSECOND.iter().find(|metric| metric.id == "cost").unwrap();
        assert_eq!((cost.of)(&sample, &Point::default()), Some(40.0));
    }

    /// Each on a thread of its own, which ends with its filter.
    #[test]
    fn what_watches_sees_every_call_or_is_unavailable() {
        for watcher in WATCHERS {
            let watched = || -> Result<()> {
                let watching = (watcher.start)()?;
                let before = watching.seen()?;
                (0..100).for_each(|_| _ = call::getppid());
                let seen = watching.seen()? - before;
                assert!(seen >= 100 * watcher.seen, "{}: {seen}", watcher.id);
                Ok(())
            };
            if let Err(why) = std::thread::scope(|scope| scope.spawn(watched).join()).unwrap() {
                assert!(why.is::<Unavailable>(), "{}: {why}", watcher.id);
            }
        }
    }

    #[test]
    fn what_runs_costs_its_instructions_and_what_traces_its_switches() {
        let predicted = |id: &str| {
            let mut point = Point::default();
            point.set(WATCHER.id, Value::text(id));
            let known = Costs::of(&[("primitive", 100.0)]);
            WatchedCall.predict(&point, Inputs::new(&known)).unwrap().predicted.unwrap()
        };
        assert_eq!(predicted("filter_by_number"), 50.0);
        assert_eq!(predicted("filter_by_argument_200") - predicted("filter_by_argument_10"), 95.0);
        assert_eq!(predicted("ptrace"), 1200.0);
    }
}
