//! Fewer default values, where a quick run would not get round its cases.
//!
//! `--quick` has half a minute. What was named is kept whole: every pair of mechanism and receiver, if
//! that was asked for. What nobody named shrinks to its middle until a few rounds fit, and the plan says
//! what was left out.

use super::{Plan, PlanError};
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use syscost_core::axis::{Axis, Kind, Value};
use syscost_measure::probe;

/// Rounds of every case that are to fit into the time limit.
const ROUNDS: u64 = 3;

/// Default values of an axis that a quick run leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thinned {
    pub probe: String,
    pub axis: String,
    pub left_out: Vec<Value>,
}

/// The plan, or one with fewer default values, of which so many rounds fit into the limit.
pub fn thinned(spec: &Spec, mut plan: Plan, memory_bytes: Option<u64>) -> Result<Plan, PlanError> {
    let mut spec = spec.clone();
    let mut left_out: Vec<Thinned> = Vec::new();
    while plan.estimate(&spec).rounds_in_limit < ROUNDS {
        let Some(out) = drop_one(&mut spec, &left_out) else { break };
        let known = left_out.iter_mut().find(|t| t.probe == out.probe && t.axis == out.axis);
        match known {
            Some(thinned) => thinned.left_out.extend(out.left_out),
            None => left_out.push(out),
        }
        plan = Plan::whole(&spec, memory_bytes)?;
    }
    left_out.iter_mut().for_each(|t| t.left_out.sort());
    plan.thinned = left_out;
    Ok(plan)
}

/// Takes one value from the longest axis of numbers that nobody named: from its ends in turn.
fn drop_one(spec: &mut Spec, so_far: &[Thinned]) -> Option<Thinned> {
    let ours = |probe: &str, axis: &str| so_far.iter().find(|t| t.probe == probe && t.axis == axis);
    let mut longest: Option<(usize, Axis, Vec<Value>)> = None;
    for (place, entry) in spec.probes.iter().enumerate() {
        let Some(probe) = probe::find(&entry.probe).filter(|p| p.compared()) else { continue };
        for axis in probe.axes().into_iter().filter(numeric) {
            let values = match entry.axes.get(axis.id) {
                Some(values) if ours(&entry.probe, axis.id).is_some() => values.clone(),
                Some(_) => continue,
                None => axis.quick(),
            };
            if values.len() > longest.as_ref().map_or(1, |(_, _, longest)| longest.len()) {
                longest = Some((place, axis, values));
            }
        }
    }
    let (place, axis, mut values) = longest?;
    let entry = &mut spec.probes[place];
    let taken = ours(&entry.probe, axis.id).map_or(0, |t| t.left_out.len());
    // Of two the first stays: one thread rather than two.
    let at = if taken % 2 == 0 && values.len() > 2 { 0 } else { values.len() - 1 };
    let out = values.remove(at);
    entry.axes.insert(axis.id.to_string(), values);
    Some(Thinned { probe: entry.probe.clone(), axis: axis.id.to_string(), left_out: vec![out] })
}

fn numeric(axis: &Axis) -> bool {
    matches!(axis.kind, Kind::Bytes { .. } | Kind::Int { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(changes: &[(&str, &str)]) -> Plan {
        let mut spec = Spec::named("transfer").unwrap();
        spec.set_quick();
        for (flag, value) in changes {
            spec.set_axis(flag, &[value]).unwrap();
        }
        let plan = Plan::make_within(&spec, None).unwrap();
        assert!(plan.estimate(&spec).rounds_in_limit >= ROUNDS, "{:?}", plan.estimate(&spec));
        plan
    }

    #[test]
    fn a_small_quick_run_keeps_its_defaults() {
        assert_eq!(quick(&[("path", "loopback"), ("mechanism", "send")]).thinned, []);
    }

    #[test]
    fn every_pair_stays_and_what_nobody_named_shrinks() {
        let all = [("path", "loopback"), ("mechanism", "all"), ("receiver", "all")];
        let plan = quick(&all);
        let pairs = |plan: &Plan| {
            let points = plan.cases.iter().map(|c| &c.point).chain(plan.skips.iter().map(|s| &s.point));
            let pairs = points.map(|p| {
                (p.text_at("mechanism").unwrap().to_string(), p.text_at("receiver").unwrap().to_string())
            });
            pairs.collect::<std::collections::BTreeSet<_>>()
        };
        let names = |id: &str| {
            let axes = probe::find("transfer").unwrap().axes();
            axes.into_iter().find(|a| a.id == id).unwrap().kind.names().len()
        };
        assert_eq!(pairs(&plan).len(), names("mechanism") * names("receiver"));
        let left_out =
            |axis: &str| plan.thinned.iter().find(|t| t.axis == axis).map_or(0, |t| t.left_out.len());
        assert!(left_out("message_bytes") > 0, "{:?}", plan.thinned);
        let mut named = all.to_vec();
        named.push(("size", "64,1K,4K,64K,1M"));
        named.push(("threads", "1,2"));
        let mut spec = Spec::named("transfer").unwrap();
        spec.set_quick();
        for (flag, value) in named {
            spec.set_axis(flag, &[value]).unwrap();
        }
        assert_eq!(Plan::make_within(&spec, None).unwrap().thinned, [], "what was named is measured");
    }
}
