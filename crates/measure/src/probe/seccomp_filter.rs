//! `seccomp_filter`: what a filter of system calls adds to a call that it allows.
//!
//! A container runtime puts such a filter on every process. The same thread makes the call before the filter is there
//! and after; the difference is the cost. Sources: seccomp(2); kernel/seccomp.c; LEBench (SOSP 2019).

use super::prediction::{CostAccount, Inputs};
use super::row::Row;
use super::{
    Channel, Figures, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Window, batch,
};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::stats;
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_sys::call;
use syscost_sys::seccomp::{CallFilter, is_filtered};

const FILTER: NameAxis = NameAxis::new("call_filter");

pub struct SeccompFilter;

/// One filter that allows the call.
struct FilterKind {
    id: &'static str,
    label: &'static str,
    make: fn() -> CallFilter,
    /// Does it have to run at every call?
    runs: bool,
}

const KINDS: &[FilterKind] = &[
    FilterKind {
        id: "by_number",
        label: "added by a filter that looks at the number of the call",
        make: CallFilter::by_number,
        runs: false,
    },
    FilterKind {
        id: "by_argument_10",
        label: "added by a filter that compares an argument 10 times",
        make: || CallFilter::by_argument(10),
        runs: true,
    },
    FilterKind {
        id: "by_argument_200",
        label: "added by a filter that compares an argument 200 times",
        make: || CallFilter::by_argument(200),
        runs: true,
    },
];

fn find(point: &Point) -> Option<&'static FilterKind> {
    KINDS.iter().find(|kind| Some(kind.id) == point.text(FILTER))
}

/// Windows of getppid by number, each call checked.
fn calls(task: &Task) -> Result<Vec<Window>> {
    let parent = i64::from(std::os::unix::process::parent_id());
    let mut wrong = 0u64;
    let body = |n| (0..n).for_each(|_| wrong += u64::from(call::getppid() != parent));
    let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
    ensure!(wrong == 0, "{wrong} calls did not name the parent");
    Ok(windows)
}

/// The low quantile of the same loop where no filter is, over its windows.
fn without_filter(windows: &[Window]) -> Option<f64> {
    let low: Vec<f64> = windows.iter().filter_map(|w| *w.quantities.get("low_ns")?).collect();
    stats::median(&low)
}

/// The cost of what was added: the call without a filter becomes the overhead that is subtracted.
fn added(mut windows: Vec<Window>, without: Option<f64>) -> Vec<Window> {
    for window in &mut windows {
        window.quantities.insert("overhead_ns".into(), without);
    }
    windows
}

fn install(filter: &CallFilter) -> Result<()> {
    ensure!(!is_filtered(), "the call that the filter refuses is refused already");
    filter.install().map_err(|error| Unavailable {
        reason: format!("no filter of system calls may be installed ({error})"),
        remedy:
            "a kernel with CONFIG_SECCOMP_FILTER, and a sandbox that lets programs filter their own calls"
                .into(),
    })?;
    ensure!(is_filtered(), "the filter was installed and does not act");
    Ok(())
}

impl Probe for SeccompFilter {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "seccomp_filter",
            title: "filter of system calls",
            method: "Batches of getppid(2) by number on one CPU, first without a filter, then with one that allows it; the cost is the \
                     difference of the 5 % quantiles over batches. The filter refuses another call, which shows that it acts.",
            source: "seccomp(2); kernel/seccomp.c; LEBench (SOSP 2019)",
            roles: &["caller"],
            operation: Some(&SeccompFilter),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            FILTER
                .names(|| KINDS.iter().map(|kind| kind.id).collect())
                .flag("call-filter", "filter")
                .help("what the filter looks at"),
        ]
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let kind = find(&task.point).with_context(|| format!("no filter at {}", task.point))?;
        let mut facts = batch::settle_on_one_cpu();
        let filter = (kind.make)();
        facts.insert("filter_instructions".into(), filter.length().to_string());
        channel.ready()?;
        let without = without_filter(&calls(task)?);
        install(&filter)?;
        let windows = added(calls(task)?, without);
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for SeccompFilter {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        find(point).map(|kind| Row::listed(kind.label))
    }

    /// The longer way into the kernel, and the filter's own instructions where it runs.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let kind = find(point)?;
        let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
        let per_cycle = inputs.constant("instructions_per_cycle", 2.0, Unit::Ratio, "kernel code; 1 to 3");
        let own = if kind.runs { (kind.make)().length() as f64 } else { 0.0 };
        let own =
            inputs.constant("filter_instructions", own, Unit::Count, "machine code of the filter that runs");
        let entry = inputs.constant(
            "entry_instructions",
            if kind.runs { 250.0 } else { 100.0 },
            Unit::Count,
            "the slow way of kernel/entry/common.c, and the call's description for a filter that runs, estimated",
        );
        let software = hertz.map(|hertz| (entry + own) / per_cycle * 1e9 / hertz);
        let formula = "(entry_instructions + filter_instructions) / instructions_per_cycle / frequency";
        Some(inputs.sum(formula, Some(0.0), software))
    }
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
    fn the_cost_is_what_the_filter_adds() {
        let without = without_filter(&[window(100.0), window(140.0), window(110.0)]);
        assert_eq!(without, Some(110.0));
        let windows = added(vec![window(150.0)], without);
        let sample = windows[0].sample(0);
        let cost = cost::NANOSECOND.iter().find(|metric| metric.id == "cost").unwrap();
        assert_eq!((cost.of)(&sample, &Point::default()), Some(40.0));
    }

    /// On a thread of its own, which ends with its filter.
    #[test]
    fn a_filter_acts_or_is_unavailable() {
        let installed = std::thread::spawn(|| install(&CallFilter::by_number())).join().unwrap();
        if let Err(why) = installed {
            assert!(why.is::<Unavailable>(), "{why}");
        }
    }

    #[test]
    fn a_filter_that_runs_costs_its_instructions() {
        let predicted = |id: &str| {
            let mut point = Point::default();
            point.set(FILTER.id, Value::text(id));
            SeccompFilter.predict(&point, Inputs::new(&Costs::of(&[]))).unwrap().predicted.unwrap()
        };
        assert_eq!(predicted("by_number"), 50.0);
        assert_eq!(predicted("by_argument_200") - predicted("by_argument_10"), 95.0);
    }
}
