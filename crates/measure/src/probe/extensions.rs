//! What some probes have beside [`Probe`]: each extension is named in [`ProbeAbout`](super::ProbeAbout) by those
//! that have it, and [`dyn Probe`](Probe) answers for all.

use super::Probe;
use super::prediction::RowRef;
use std::collections::BTreeMap;
use syscost_core::axis::{Point, Value};
use syscost_core::sample::{Metric, Quantity};
use syscost_host::Unavailable;

/// Another value of an axis, by which whoever pays for a row gets the same work done.
#[derive(Clone, Copy, Debug)]
pub struct OtherWay {
    pub axis: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    /// What to use instead: `posix_spawn(3)`.
    pub how: &'static str,
}

/// Axes that do not exist at every point, or whose default hangs on the point or the machine.
pub trait AxisRules: Sync {
    /// Does this axis exist at this point? (A reap batch only where something is reaped.) The
    /// point holds the axes before it in `axes()` order. Asked once per combination of names, switches and
    /// texts: sizes and counts cannot decide it.
    fn applies(&self, axis: &str, point: &Point) -> bool {
        let _ = (axis, point);
        true
    }

    /// Does [`Probe::available`] look at this size or count too? The point holds the axes before it.
    fn decides(&self, axis: &str, point: &Point) -> bool {
        let _ = (axis, point);
        false
    }

    /// The value that this axis has at this point whatever was asked for, because another coordinate says it, and what
    /// to do where somebody named one. The point holds the axes before it; asked as seldom as [`AxisRules::applies`].
    fn settled(&self, axis: &str, point: &Point) -> Option<(Value, &'static str)> {
        let _ = (axis, point);
        None
    }

    /// What to measure instead of this default value where the machine cannot do it, and why.
    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        let _ = (axis, value);
        None
    }

    /// The value that this axis takes at this point when nobody named one, where that is not the axis's
    /// own default: something on the point needs it. The point holds the axes before it; asked as seldom as
    /// [`AxisRules::applies`].
    fn wants(&self, axis: &str, point: &Point) -> Option<Value> {
        let _ = (axis, point);
        None
    }

    /// Why it takes that value, where a host refuses the default: that is told.
    fn refusal(&self, axis: &str, point: &Point) -> Option<Unavailable> {
        let _ = (axis, point);
        None
    }
}

/// Cases that are compared with one another, so that some are measured twice (A/A).
pub trait Alternatives: Sync {
    /// Does whoever does this choose the axis's value (a mechanism, how many messages a call takes),
    /// rather than have it given (a message size, a path)? Ways of doing one thing differ in such axes only.
    fn chosen(&self, axis: &str) -> bool {
        let _ = axis;
        false
    }

    /// Is the whole work done at this point? What leaves a part out (a receiver that never sees the
    /// bytes) is an upper bound: it is measured, and never advised.
    fn whole(&self, point: &Point) -> bool {
        let _ = point;
        true
    }

    /// May it be advised to whoever asks? What does another work is held beside the ways, and compared with them.
    fn advised(&self, point: &Point) -> bool {
        let _ = point;
        true
    }

    /// Can one pair of workers play this case in turns with others (see [`BlockTask`](super::BlockTask))?
    fn takes_turns(&self, point: &Point) -> bool {
        let _ = point;
        false
    }

    /// Does this way do nothing beside what all of them do? Others are held against it.
    fn is_control(&self, point: &Point) -> bool {
        let _ = point;
        false
    }

    /// How copies of its cases are counted; `None`: it moves no data over TCP, or none that is audited.
    fn copies(&self) -> Option<&'static dyn Copies> {
        None
    }
}

/// What the cases of a probe are prices of: accounts of a transfer are made of them.
#[derive(Clone, Copy)]
pub enum Prices {
    /// The figures of each step of [`path_steps`](super::path_steps); what has the same values of these axes pays the same.
    Steps { shared: &'static [&'static str], row: fn(&'static str, &'static str) -> RowRef },
    /// The rate at which one thread copies in user memory, by the bytes that are at work.
    Copies { row: fn(u64) -> RowRef },
}

/// What an audit of a probe's copies has to know of it.
pub trait Copies: Sync {
    /// Do these points move data in the same way, so that one of them stands for both?
    fn same_way(&self, one: &Point, other: &Point) -> bool;

    /// How far this point is from the one that stands for its way best.
    fn distance(&self, point: &Point) -> u64;

    /// The port that the data connections go to, on the far side; from what the roles offered.
    fn port(&self, offers: &[serde_json::Value]) -> Option<u16>;

    /// What the roles themselves know, from their totals (`sender.bytes`).
    fn known(&self, totals: &BTreeMap<String, f64>) -> Option<CopyTotals>;
}

/// The part of an audit that is not the kernel's to tell; of the whole round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyTotals {
    /// Received, verified and equal to what was sent.
    pub delivered_bytes: u64,
    /// Copied from user memory to user memory.
    pub user_copied: u64,
    /// Sent beside the payload, inside TCP.
    pub framing_bytes: u64,
    /// Taken by the receiver without a copy to its memory.
    pub uncopied_out: u64,
    pub completions: u64,
    pub completions_copied: u64,
    /// CPU time of each side's data threads, by their own clocks.
    pub sender_cpu_ns: u64,
    pub receiver_cpu_ns: u64,
}

/// What the harness, the plan and the reports ask of any probe.
impl dyn Probe + '_ {
    pub fn suite(&self) -> Option<&'static str> {
        self.about().suite
    }

    pub fn roles(&self) -> &'static [&'static str] {
        self.about().roles
    }

    /// Does this role sit on the far side of the case's path (the other namespace)?
    pub fn far(&self, role: &str) -> bool {
        self.about().far_role == Some(role)
    }

    pub fn quantities(&self) -> Vec<Quantity> {
        self.figures().quantities
    }

    pub fn metrics(&self) -> Vec<Metric> {
        self.figures().metrics
    }

    pub fn decisive(&self) -> &'static [&'static str] {
        self.figures().decisive
    }

    pub fn applies(&self, axis: &str, point: &Point) -> bool {
        self.about().axis_rules.is_none_or(|rules| rules.applies(axis, point))
    }

    pub fn decides(&self, axis: &str, point: &Point) -> bool {
        self.about().axis_rules.is_some_and(|rules| rules.decides(axis, point))
    }

    pub fn settled(&self, axis: &str, point: &Point) -> Option<(Value, &'static str)> {
        self.about().axis_rules?.settled(axis, point)
    }

    pub fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        self.about().axis_rules?.substitute(axis, value)
    }

    pub fn wants(&self, axis: &str, point: &Point) -> Option<Value> {
        self.about().axis_rules?.wants(axis, point)
    }

    pub fn refusal(&self, axis: &str, point: &Point) -> Option<Unavailable> {
        self.about().axis_rules?.refusal(axis, point)
    }

    pub fn compared(&self) -> bool {
        self.about().alternatives.is_some()
    }

    pub fn chosen(&self, axis: &str) -> bool {
        self.about().alternatives.is_some_and(|alternatives| alternatives.chosen(axis))
    }

    /// The coordinates that are chosen, or those that are given.
    pub fn coordinates(&self, point: &Point, chosen: bool) -> Point {
        let mut part = point.clone();
        part.retain(|axis| self.chosen(axis) == chosen);
        part
    }

    pub fn whole(&self, point: &Point) -> bool {
        self.about().alternatives.is_none_or(|alternatives| alternatives.whole(point))
    }

    pub fn advised(&self, point: &Point) -> bool {
        self.about().alternatives.is_none_or(|alternatives| alternatives.advised(point))
    }

    pub fn takes_turns(&self, point: &Point) -> bool {
        self.about().alternatives.is_some_and(|alternatives| alternatives.takes_turns(point))
    }

    pub fn is_control(&self, point: &Point) -> bool {
        self.about().alternatives.is_some_and(|alternatives| alternatives.is_control(point))
    }

    pub fn copies(&self) -> Option<&'static dyn Copies> {
        self.about().alternatives?.copies()
    }
}
