//! `context_switch`: what it costs to put one thread or process aside and run another.
//!
//! A token goes round between two ends that sleep until it comes. Both ends are pinned: on one CPU
//! a round trip holds two switches; on two it holds two wake-ups of another core, which is another
//! quantity and labelled so. The calls that pass the token are measured alone in the same round, on
//! the same CPU, and subtracted. Source: McVoy and Staelin, "lmbench" (1996), lat_ctx.

mod ends;
mod wire;

use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::{
    Channel, OsOperation, OtherWay, Probe, ProbeAbout, RoleReport, Task, Timing, Window, batch, primitive,
};
use crate::probe::transfer::axes::PLACEMENT;
use anyhow::Context;
use ends::SwitchReport;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_host::Unavailable;
use syscost_host::topology::{Pinned, Placement, Topology};
use wire::Wire;

const BETWEEN: NameAxis = NameAxis::new("between");
const TOKEN: NameAxis = NameAxis::new("token");

/// Switches in a round trip.
const SWITCHES: f64 = 2.0;

pub struct ContextSwitch;

type SwitchRun = fn(&Task, bool, Pinned, &mut dyn Channel) -> anyhow::Result<SwitchReport<Vec<Window>>>;

/// How the token is passed.
struct By {
    id: &'static str,
    run: SwitchRun,
}

const BY: &[By] = &[
    By { id: "pipe", run: run::<wire::Pipes> },
    By { id: "eventfd", run: run::<wire::Eventfds> },
    By { id: "futex", run: run::<wire::Futexes> },
];

/// The row of a switch, as an input of other rows' predictions: between a `process` or `thread` and
/// another, on the `same` CPU or `different` ones, by `pipe`, `eventfd` or `futex`.
pub fn switch(kind: &'static str, place: &'static str, by: &'static str) -> RowRef {
    let coordinates =
        vec![(BETWEEN.id, Value::text(kind)), ("placement", Value::text(place)), (TOKEN.id, Value::text(by))];
    RowRef { probe: "context_switch", coordinates, metric: "cost" }
}

/// A switch between two ends that are always ready to run, on one CPU: nobody is woken.
pub fn by_yielding(
    task: &Task,
    processes: bool,
    pins: Pinned,
    channel: &mut dyn Channel,
) -> anyhow::Result<Vec<Window>> {
    Ok(run::<wire::Yields>(task, processes, pins, channel)?.result)
}

fn run<W: Wire>(
    task: &Task,
    processes: bool,
    pins: Pinned,
    channel: &mut dyn Channel,
) -> anyhow::Result<SwitchReport<Vec<Window>>> {
    let mut told = ends::between::<W, _>(processes, pins, |ends| {
        channel.ready()?;
        // One end at a time runs: the batch's two bodies share it.
        let ends = std::cell::RefCell::new(ends);
        let round_trips = |n| {
            let mut ends = ends.borrow_mut();
            (0..n).for_each(|_| ends.round_trip());
        };
        let operations = |n| {
            let mut ends = ends.borrow_mut();
            (0..n).for_each(|_| ends.operations_alone());
        };
        Ok(batch::batches(task, round_trips, operations))
    })?;
    told.result.iter_mut().for_each(|window| window.of_each(SWITCHES));
    Ok(told)
}

fn placement(point: &Point) -> Placement {
    if point.text(PLACEMENT) == Some("same") { Placement::Same } else { Placement::Different }
}

fn pins(point: &Point) -> Result<Pinned, Unavailable> {
    let pins = Topology::read().place(&placement(point), 1)?;
    pins.first().copied().ok_or_else(|| Unavailable {
        reason: "this process may use no CPU that /sys names".into(),
        remedy: "mount /sys".into(),
    })
}

impl Probe for ContextSwitch {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "context_switch",
            title: "context switch",
            method: "Batches of about 10 us pass a token to the other end and back, both ends pinned and asleep until \
                     it comes. Half the median round trip, less the token's calls made by one thread alone in the \
                     same round; on different cores this is the latency of waking the other one.",
            source: "McVoy and Staelin, lmbench (1996), lat_ctx; pipe(7), eventfd(2), futex(2)",
            roles: &["starter"],
            operation: Some(&ContextSwitch),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            BETWEEN
                .names(|| vec!["process", "thread"])
                .flag(BETWEEN.id, "switch between")
                .help("what is switched between: processes or threads"),
            PLACEMENT
                .names(|| vec!["same", "different"])
                .help("both ends on one CPU, or on different cores")
                .quick_on(Names(&["same"])),
            TOKEN
                .names(|| BY.iter().map(|by| by.id).collect())
                .help("what the token between both ends is passed by")
                .quick_on(Names(&["pipe"])),
        ]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        pins(point).map(|_| ())
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        // A wake-up of another core takes tens of microseconds: enough of them for a median.
        Timing { window_ns: base.window_ns * 2, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        let by = BY.iter().find(|by| Some(by.id) == task.point.text(TOKEN));
        let by = by.with_context(|| format!("no token at {}", task.point))?;
        let processes = task.point.text(BETWEEN) == Some("process");
        let told = (by.run)(task, processes, pins(&task.point)?, channel)?;
        Ok(RoleReport { windows: told.result, facts: told.facts, ..RoleReport::default() })
    }
}

impl OsOperation for ContextSwitch {
    fn other_ways(&self) -> &'static [OtherWay] {
        const OTHERS: &[OtherWay] = &[
            OtherWay { axis: TOKEN.id, from: "pipe", to: "futex", how: "a futex in shared memory" },
            OtherWay { axis: TOKEN.id, from: "pipe", to: "eventfd", how: "an eventfd" },
            OtherWay { axis: PLACEMENT.id, from: "different", to: "same", how: "both sides on one CPU" },
            OtherWay { axis: PLACEMENT.id, from: "same", to: "different", how: "the sides on two CPUs" },
        ];
        OTHERS
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let (kind, place, by) = (point.text(BETWEEN)?, point.text(PLACEMENT)?, point.text(TOKEN)?);
        let kinds = if kind == "process" { "processes" } else { "threads" };
        let row = Row::listed(match place {
            "same" => format!("{kinds}, same CPU, by {by}"),
            _ => format!("{kinds}, wake-up on another core, by {by}"),
        });
        let published = (place, by) == ("same", "pipe");
        let row = if published { row.as_published("context_switch", kind) } else { row };
        let telling = published && kind == "process";
        Some(if telling { row.told_as("a switch of processes on one CPU") } else { row })
    }

    /// The token's calls are subtracted: what is left is that the other end is woken, and that it runs.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        if point.text(PLACEMENT) != Some("same") {
            let woken = inputs.row("wake_other_core", primitive::cost_of("wake_other_core"));
            return Some(inputs.sum("wake_other_core", Some(0.0), woken));
        }
        let process = point.text(BETWEEN) == Some("process");
        let part = if process { "process_switch" } else { "thread_switch" };
        let switch = inputs.row("switch", primitive::cost_of(part));
        let wake_up = inputs.row("wake_up", primitive::fastest_of("wake_up"));
        let software = switch.zip(wake_up).map(|(switch, wake_up)| switch + wake_up);
        Some(inputs.sum("switch + wake_up", Some(0.0), software))
    }
}
