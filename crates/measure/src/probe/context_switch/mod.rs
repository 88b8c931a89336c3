//! `context_switch`: what it costs to put one thread or process aside and run another.
//!
//! A token goes round between two ends that sleep until it comes. Both ends are pinned: on one CPU
//! a round trip holds two switches; on two it holds two wake-ups of another core, which is another
//! quantity and labelled so. The calls that pass the token are measured alone in the same round, on
//! the same CPU, and subtracted. Source: McVoy and Staelin, "lmbench" (1996), lat_ctx.

pub mod ends;
mod wire;

use super::operation::{OperationRow, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::row::Row;
use super::{OtherWay, Window, primitive};
use crate::probe::transfer::axes::PLACEMENT;
use anyhow::Result;
use ends::run;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_host::topology::Placement;

const BETWEEN: NameAxis = NameAxis::new("between");
const TOKEN: NameAxis = NameAxis::new("token");

/// The row of a switch, as an input of other rows' predictions: between a `process` or `thread` and
/// another, on the `same` CPU or `different` ones, by `pipe`, `eventfd` or `futex`.
pub fn switch(kind: &'static str, place: &'static str, by: &'static str) -> RowRef {
    RowRef::cost(
        "context_switch",
        [(BETWEEN.id, Value::text(kind)), ("placement", Value::text(place)), (TOKEN.id, Value::text(by))],
    )
}

fn on_one_cpu(point: &Point) -> bool {
    point.text(PLACEMENT) == Some("same")
}

pub static CONTEXT_SWITCH: SystemOperation = SystemOperation {
    id: "context_switch",
    title: "context switch",
    method: "Batches of about 10 us pass a token to the other end and back, both ends pinned and asleep until \
             it comes. Half the median round trip, less the token's calls made by one thread alone in the \
             same round; on different cores this is the latency of waking the other one.",
    source: "McVoy and Staelin, lmbench (1996), lat_ctx; pipe(7), eventfd(2), futex(2)",
    roles: &["starter"],
    settled: false,
    placement: |point| Some(if on_one_cpu(point) { Placement::Same } else { Placement::Different }),
    axes,
    // A wake-up of another core takes tens of microseconds: enough of them for a median.
    timing: Some(|_, base| base.stretched(2)),
    // How the token is passed.
    variants: (
        TOKEN,
        &[
            OperationRow::new("pipe", "", by::<wire::Pipes>),
            OperationRow::new("eventfd", "", by::<wire::Eventfds>),
            OperationRow::new("futex", "", by::<wire::Futexes>),
        ],
    ),
    row: Some(row),
    predict: Some(predict),
    other_ways: &[
        OtherWay { axis: TOKEN.id, from: "pipe", to: "futex", how: "a futex in shared memory" },
        OtherWay { axis: TOKEN.id, from: "pipe", to: "eventfd", how: "an eventfd" },
        OtherWay { axis: PLACEMENT.id, from: "different", to: "same", how: "both sides on one CPU" },
        OtherWay { axis: PLACEMENT.id, from: "same", to: "different", how: "the sides on two CPUs" },
    ],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
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
            .names(|| CONTEXT_SWITCH.names())
            .help("what the token between both ends is passed by")
            .quick_on(Names(&["pipe"])),
    ]
}

fn by<W: wire::Wire>(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let processes = round.point().text(BETWEEN) == Some("process");
    let told = run::<W>(round, processes)?;
    round.facts = told.facts;
    Ok(told.result)
}

fn row(point: &Point) -> Option<Row> {
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
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    if !on_one_cpu(point) {
        inputs.row("wake_other_core", primitive::cost_of("wake_other_core"));
        return Some(inputs.software("wake_other_core"));
    }
    let process = point.text(BETWEEN) == Some("process");
    let part = if process { "process_switch" } else { "thread_switch" };
    inputs.row("switch", primitive::cost_of(part));
    inputs.row("wake_up", primitive::fastest_of("wake_up"));
    Some(inputs.software("switch + wake_up"))
}
