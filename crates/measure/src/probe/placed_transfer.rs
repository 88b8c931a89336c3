//! `placed_transfer`: the plainest transfer over TCP with its two ends on one CPU, on two, and where the scheduler puts
//! them. A study pins both ends to different CPUs, so that its ways differ in nothing else; most programs pin nothing.
//!
//! The ends do not take turns in slices: threads that were just let go stay where they were, so that what the scheduler
//! would do needs workers and windows of its own.

use super::rights::Rights;
use super::streaming;
use super::transfer::{Transfer, plainest};
use super::{Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing};
use crate::probe::transfer::axes::{COMMON, MECHANISM, MESSAGE_BYTES, PLACEMENT, RECEIVER, THREADS};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::sample::Sample;
use syscost_host::Unavailable;

pub struct PlacedTransfer;

/// Where both ends run, and the value of the axis [`PLACEMENT`] that puts them there. The first is what a study does.
pub const ENDS: NameAxis = NameAxis::new("ends");
pub const TWO_CPUS: &str = "two_cpus";
pub const ONE_CPU: &str = "one_cpu";
pub const SCHEDULER: &str = "scheduler";
const PLACEMENTS: [(&str, &str); 3] = [(TWO_CPUS, "different"), (ONE_CPU, "same"), (SCHEDULER, "none")];

/// What says where the ends run, and what does not belong to the plainest way.
fn is_own(axis: &Axis) -> bool {
    ![MECHANISM.id, RECEIVER.id, PLACEMENT.id].contains(&axis.id)
}

fn shared(axis: &Axis) -> Axis {
    match axis.id {
        id if id == MESSAGE_BYTES.id => axis.default_on(Ints(&[1024, 65536])),
        id if id == THREADS.id => axis.default_on(Ints(&[1])),
        _ => *axis,
    }
}

/// The transfer that this is, by all of its axes.
fn transfer(point: &Point) -> Point {
    let ends = point.text(ENDS);
    let placement = PLACEMENTS.iter().find(|(id, _)| Some(*id) == ends).map(|(_, placement)| *placement);
    plainest(|axis| match axis {
        _ if axis == PLACEMENT.id => placement.map(Value::text),
        _ => point.get(axis).cloned(),
    })
}

impl Probe for PlacedTransfer {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "placed_transfer",
            title: "moving a message with both ends on one CPU or two",
            method: "The plainest transfer over TCP, by fresh workers of its own each round, since a scheduler does not \
                     move a thread within a slice of a fraction of a millisecond.",
            source: "sched(7), sched_setaffinity(2)",
            roles: streaming::ROLES,
            far_role: Some(streaming::RECEIVER),
            adjacent: Some(ENDS.id),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let ends = ENDS
            .names(|| PLACEMENTS.iter().map(|(id, _)| *id).collect())
            .flag("ends", "CPUs of both ends")
            .help("where sender and receiver run: on two CPUs, on one, or where the scheduler puts them");
        std::iter::once(ends).chain(COMMON.iter().filter(|axis| is_own(axis)).map(shared)).collect()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        Transfer.available(&transfer(point))
    }

    fn needs(&self, point: &Point) -> Needs {
        Transfer.needs(&transfer(point))
    }

    fn figures(&self) -> Figures {
        Transfer.figures()
    }

    fn rights(&self, role: &str) -> Rights {
        Transfer.rights(role)
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        Transfer.play(&Task { point: transfer(&task.point), ..task.clone() }, channel)
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        Transfer.merge(&transfer(point), reports)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        streaming::timing(point, base)
    }

    fn axes_as(&self) -> Option<&'static dyn Probe> {
        Some(&Transfer)
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        axis == ENDS.id || Transfer.applies(axis, point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::transfer::axes::PATH;

    #[test]
    fn it_is_the_plainest_transfer_with_what_was_given_and_its_ends_where_asked() {
        let mut point = Point::default();
        point.set(ENDS.id, Value::text(SCHEDULER));
        point.set(MESSAGE_BYTES.id, Value::Int(777));
        point.set(PATH.id, Value::text("loopback"));
        let whole = transfer(&point);
        assert_eq!((whole.text(PLACEMENT), whole.text(MECHANISM)), (Some("none"), Some("send")));
        assert_eq!((whole.int(MESSAGE_BYTES), whole.text(PATH)), (Some(777), Some("loopback")));
        assert!(whole.get(ENDS.id).is_none() && whole.get("mtu").is_none(), "{whole:?}");
        assert_eq!(whole.text(RECEIVER), Some("recv"));
    }
}
