//! `tcp_path`: what one step of a transfer over TCP costs each side, step by step.
//!
//! A transfer streams: both sides work at once, and what a message costs there is many things at a
//! time. Here the sides take turns, so that each step is timed by itself: while one works, the other
//! looks at another connection again and again. The account of a transfer adds these costs up; none of
//! them is taken from a transfer. Sources: tcp(7), Documentation/networking/msg_zerocopy.rst.

mod sides;
mod source;

use super::path_steps as steps;
use super::prediction::RowRef;
use super::rights::{NETWORK_SETTINGS, Rights};
use super::transfer::{Transfer, axes, far};
use super::{Channel, Figures, Prices, Probe, ProbeAbout, RoleReport, Task, Timing};
use crate::mechanism;
use crate::probe::transfer::axes::{CONGESTION_CONTROL, MTU, OFFLOADS, PATH, PLACEMENT};
use crate::probe::{metrics, quantities};
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::sample::{Metric, Quantity, Sample};
use syscost_host::Unavailable;

pub struct TcpPath;

const ID: &str = "tcp_path";
const RECEIVER: &str = "receiver";
const SENDER: &str = "sender";

const STEP: Axis = NameAxis::new("step")
    .names(|| steps::ALL.iter().map(|step| step.id).collect())
    .help("which step of a transfer over TCP is timed by itself");

/// The axes of a transfer that decide what a step costs.
const SHARED: [&str; 5] = [PATH.id, CONGESTION_CONTROL.id, PLACEMENT.id, MTU.id, OFFLOADS.id];

/// A window of turns; a visit needs no more, because connections are warm after a few, and has all steps.
const WARMUP_NS: u64 = 2_000_000;
const WINDOW_NS: u64 = 2_000_000;
const WINDOWS: u32 = 2;

/// A figure of a step, over the same path as a case that has one.
pub fn row(step: &'static str, figure: &'static str) -> RowRef {
    RowRef { probe: ID, coordinates: vec![(STEP.id, Value::text(step))], metric: figure }
}

fn step_at(point: &Point) -> Option<&'static steps::PathStep> {
    steps::ALL.iter().find(|step| Some(step.id) == point.text_at(STEP.id))
}

const QUANTITIES: &[Quantity] = quantities! {
    "call_ns", Nanoseconds, "median over turns of the sender's CPU time by call; where a side sleeps, the mean";
    "receive_ns", Nanoseconds, "median over turns of the receiver's CPU time by call; where a side sleeps, the mean";
    "completion_ns", Nanoseconds, "median over turns of the CPU time of taking a completion";
    "receive_calls", Count, "receive calls of a turn, on average";
    "sleeps", Count, "times that the receiver slept in a turn's calls, on average";
    "clock_ns", Nanoseconds, "what two readings of the thread's CPU clock in a row cost";
    "turns", Count, "turns of the window";
};

const METRICS: &[Metric] = metrics! {
    "cost", Nanoseconds, Lower, "CPU time of a send call",
        "CPU time of the sender by call",
        |s, _| s.get("call_ns");
    "receiver_cost", Nanoseconds, Lower, "CPU time of a receive call",
        "CPU time of the receiver by receive call",
        |s, _| s.get("receive_ns");
    "completion_cost", Nanoseconds, Lower, "CPU time of a completion",
        "CPU time of taking a zero-copy completion",
        |s, _| s.get("completion_ns");
    "receive_calls", Count, Lower, "receive calls of a turn",
        "receive calls of a turn, on average",
        |s, _| s.get("receive_calls");
    "sleeps", Count, Lower, "sleeps of a turn",
        "times that the receiver slept in a turn, on average",
        |s, _| s.get("sleeps");
};

impl Probe for TcpPath {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: ID,
            title: "the steps of a transfer over TCP",
            method: "Two processes take turns on one connection, and neither sleeps between turns: the sender makes a few \
                     calls, then the receiver takes what arrived. A turn is timed by the CPU clock of the thread that \
                     works; a step's cost is the median over turns (the mean where a side sleeps), by call, less the clock's reading.",
            source: "tcp(7), Documentation/networking/msg_zerocopy.rst",
            roles: &[RECEIVER, SENDER],
            far_role: Some(RECEIVER),
            together: Some(STEP.id),
            prices: Some(Prices::Steps { shared: &SHARED, row }),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let shared = axes::COMMON.iter().filter(|axis| SHARED.contains(&axis.id)).copied();
        std::iter::once(STEP).chain(shared).collect()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        Transfer.available(point)?;
        let lent = step_at(point).is_some_and(|step| step.how == steps::StepKind::Lent);
        if lent { mechanism::zerocopy_available() } else { Ok(()) }
    }

    fn figures(&self) -> Figures {
        Figures::of(QUANTITIES, METRICS, &["cost"])
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![NETWORK_SETTINGS])
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        if task.role == RECEIVER { sides::receive(task, channel) } else { sides::send(task, channel) }
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        if far::host(point).is_some() {
            sides::held(reports)?;
        }
        sides::merge(reports)
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        Timing {
            warmup_ns: WARMUP_NS.min(base.warmup_ns),
            window_ns: WINDOW_NS.min(base.window_ns),
            windows: WINDOWS.min(base.windows),
        }
    }

    fn axes_as(&self) -> Option<&'static dyn Probe> {
        Some(&Transfer)
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        axis == STEP.id || Transfer.applies(axis, point)
    }
}

#[cfg(test)]
mod tests;
