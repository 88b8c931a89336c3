//! Cases that may be compared: they differ in one axis and share every other one that both have.
//!
//! An axis that would not exist with another value of the compared axis (the reap batch of a
//! zero-copy mechanism beside plain send) belongs to that value and does not keep cases apart,
//! unless both cases of a pair have it. Twins repeat a case and are never compared.
//!
//! Groups of *ways* are wider: their members may differ in every axis that whoever does the thing
//! chooses (the mechanism, the receiver, messages per call). What does not do the whole work is left out.

use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::{Name, Point, Value};
use syscost_experiment::plan::BlockVisit;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::THREADS;
use syscost_measure::probe::{self, Probe};

/// Comparable cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub probe: Name,
    /// The coordinates that all members share.
    pub shared: Point,
    /// Indices of the cases, in the order of the compared axis's values.
    pub members: Vec<usize>,
}

/// The groups of a run along one axis, by their shared coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    pub axis: String,
    /// The axis's values in the run, in the order that reports show them.
    pub values: Vec<Value>,
    pub groups: Vec<Group>,
    /// Do members differ in whatever is chosen, rather than in the axis alone?
    pub ways: bool,
}

impl Groups {
    pub fn of(run: &Run, axis: &str) -> Groups {
        let values = values(run, axis);
        let mut belonging = Belonging::default();
        let place = |probe: &Name, point: &Point| belonging.shared(probe, point, axis, &values);
        let mut groups = grouped(run, axis, &values, place);
        if axis == THREADS.id {
            only_in_turns(run, &mut groups);
        }
        Groups { axis: axis.to_string(), values, groups, ways: false }
    }

    /// Every way of doing one thing beside every other; `axis` is the one that names them first.
    pub fn of_ways(run: &Run, axis: &str) -> Groups {
        let values = values(run, axis);
        let groups = grouped(run, axis, &values, |probe, point| given(probe, point));
        Groups { axis: axis.to_string(), values, groups, ways: true }
    }

    /// May these two members of a group be compared?
    pub fn rivals(&self, run: &Run, a: usize, b: usize) -> bool {
        let points = run.case(a).zip(run.case(b)).map(|(a, b)| (&a.point, &b.point));
        points.is_some_and(|(a, b)| if self.ways { a != b } else { comparable(a, b, &self.axis) })
    }
}

/// Numbers of threads that took turns are the ones of their probe that are compared: rounds of blocks that were visited one
/// after the other scatter by 0.17, so that a question of the others would have no power. A probe whose cases never take turns
/// (round trips) keeps all of its own.
fn only_in_turns(run: &Run, groups: &mut Vec<Group>) {
    let blocks = if run.slices.is_empty() { Vec::new() } else { run.record.plan.blocks() };
    let along = blocks.iter().filter(|block| block.visit == BlockVisit::AlongThreads);
    let asked: BTreeSet<usize> = along.flat_map(|block| block.cases.iter().copied()).collect();
    let probes: BTreeSet<&Name> = asked.iter().filter_map(|case| Some(&run.case(*case)?.probe)).collect();
    for group in groups.iter_mut().filter(|group| probes.contains(&group.probe)) {
        group.members.retain(|case| asked.contains(case));
    }
    groups.retain(|group| group.members.len() > 1 || !probes.contains(&group.probe));
}

/// The cases of a run by their shared coordinates; members in the order of the axis's values.
fn grouped(
    run: &Run,
    axis: &str,
    values: &[Value],
    mut shared: impl FnMut(&Name, &Point) -> Option<Point>,
) -> Vec<Group> {
    let mut groups: BTreeMap<(&Name, Point), Vec<usize>> = BTreeMap::new();
    for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        if let Some(shared) = shared(&case.probe, &case.point) {
            groups.entry((&case.probe, shared)).or_default().push(case.index);
        }
    }
    let place = |case: &usize| {
        let value = run.case(*case).and_then(|c| c.point.get(axis));
        (value.and_then(|v| values.iter().position(|w| v == w)), *case)
    };
    let group = |((probe, shared), mut members): ((&Name, Point), Vec<usize>)| {
        members.sort_by_key(place);
        Group { probe: probe.clone(), shared, members }
    };
    groups.into_iter().map(group).collect()
}

/// The point without what is chosen; `None` where nothing is, or where the work is not done whole.
fn given(probe_id: &str, point: &Point) -> Option<Point> {
    let probe: &dyn Probe = probe::find(probe_id)?;
    let given = probe.coordinates(point, false);
    (given.len() < point.len() && probe.whole(point)).then_some(given)
}

/// Do these two differ on the axis and agree elsewhere?
fn comparable(a: &Point, b: &Point, axis: &str) -> bool {
    a.get(axis) != b.get(axis) && a.shared(b).all(|(id, one, other)| id == axis || one == other)
}

/// Values of an axis among a run's cases and skips: a registry's order for names, else ascending.
fn values(run: &Run, axis: &str) -> Vec<Value> {
    let plan = &run.record.plan;
    let points = plan.cases.iter().map(|c| &c.point).chain(plan.skips.iter().map(|s| &s.point));
    let mut values: Vec<Value> = Vec::new();
    for value in points.filter_map(|p| p.get(axis)) {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    let names = names(run, axis);
    let place = |v: &Value| names.iter().position(|n| v.as_text() == Some(n)).unwrap_or(usize::MAX);
    values.sort_by_key(|v| (place(v), v.clone()));
    values
}

fn names(run: &Run, axis: &str) -> Vec<&'static str> {
    let probes = run.record.plan.cases.first().and_then(|c| probe::find(&c.probe));
    let found = probes.and_then(|p| p.axes().into_iter().find(|a| a.id == axis));
    found.map(|axis| axis.kind.names()).unwrap_or_default()
}

/// What belongs to a point's own value of an axis only. That is a matter of words (see [`Probe::applies`]), and
/// neighbours in a plan mostly have the same.
#[derive(Default)]
struct Belonging {
    probe: Name,
    words: Point,
    own: Vec<Name>,
}

impl Belonging {
    /// The point without the axis and without what belongs to its own value of that axis only.
    fn shared(&mut self, probe: &Name, point: &Point, axis: &str, values: &[Value]) -> Option<Point> {
        let value = point.get(axis)?;
        let words = || point.iter().filter(|(_, value)| value.as_text().is_some());
        if self.probe != *probe || !words().eq(self.words.iter()) {
            let found: &dyn Probe = probe::find(probe)?;
            self.own = of_value(found, point, axis, values.iter().filter(|other| *other != value));
            self.words = words().map(|(id, value)| (id.clone(), value.clone())).collect();
            self.probe = probe.clone();
        }
        let mut shared = point.without(axis);
        shared.retain(|id| !self.own.iter().any(|own| own == id));
        Some(shared)
    }
}

/// The axes of a point that would not be there with one of these other values.
fn of_value<'v>(
    probe: &dyn Probe,
    point: &Point,
    axis: &str,
    others: impl Iterator<Item = &'v Value>,
) -> Vec<Name> {
    let mut own: Vec<Name> = Vec::new();
    let mut there = point.clone();
    for other in others {
        there.set(axis, other.clone());
        own.extend(point.names().filter(|id| *id != axis && !probe.applies(id, &there)).cloned());
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{self, Synthetic, point};
    use syscost_experiment::plan::{Plan, Skip};
    use syscost_host::Unavailable;

    #[test]
    fn groups_hold_one_case_per_mechanism_and_no_twins() {
        let run = Synthetic::default().run();
        let groups = Groups::of(&run, "mechanism");
        assert_eq!(groups.groups.len(), 10);
        for group in &groups.groups {
            let mechanisms: Vec<_> = group
                .members
                .iter()
                .map(|c| run.case(*c).unwrap().point.text_at("mechanism").unwrap())
                .collect();
            assert_eq!(mechanisms.len(), 3);
            assert!(group.members.iter().all(|c| run.case(*c).unwrap().twin_of.is_none()));
            assert!(group.shared.get("mechanism").is_none() && group.shared.get("threads").is_some());
        }
    }

    #[test]
    fn an_axis_of_one_mechanism_keeps_nothing_apart() {
        let with = |batch: u64| {
            let mut p = point("msg_zerocopy", 64, 1);
            p.set("reap_batch", Value::Int(batch));
            p
        };
        let points = [point("send", 64, 1), with(16), with(64), point("send", 1024, 1)];
        let cases = points.into_iter().enumerate().map(|(i, p)| synthetic::case(i, p)).collect();
        let why = Unavailable { reason: "no".into(), remedy: "none".into() };
        let skips = vec![Skip { probe: "transfer".into(), point: point("sendmsg", 1024, 1), why }];
        let run = synthetic::record(Plan { cases, skips, ..Plan::default() }, Vec::new());
        let groups = Groups::of(&run, "mechanism").groups;
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].members.len(), 3, "{groups:?}");
        assert_eq!(groups[1].members.len(), 1, "what cannot run here is no member");
        let at = |i: usize| &run.case(i).unwrap().point;
        assert!(comparable(at(0), at(1), "mechanism"));
        assert!(!comparable(at(1), at(2), "mechanism"), "the same mechanism");
    }

    #[test]
    fn an_axis_that_both_have_must_agree() {
        let with = |mechanism: &str, batch: u64| {
            let mut p = point(mechanism, 64, 1);
            p.set("reap_batch", Value::Int(batch));
            p
        };
        assert!(comparable(&with("x", 1), &with("y", 1), "mechanism"));
        assert!(!comparable(&with("x", 1), &with("y", 2), "mechanism"));
    }
}
