//! Fewer ways, where a quick run would not give each case the rounds that a decision needs.
//!
//! `--quick` has half a minute. Values that were named on the command line are kept whole. Everything else shrinks:
//! numbers to their ends, then names that the comparison can do without. The plan says what was left out.

use super::{Case, Plan, PlanError, RivalBlock, round_time};
use crate::spec::{ProbeSpec, Spec};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use syscost_core::axis::{Axis, Kind, Point, Value};
use syscost_host::allowance::Rooms;
use syscost_measure::probe::transfer::axes::MECHANISM;
use syscost_measure::probe::{self, Probe};

/// Rows that nobody compares get twelve: their interval leaves out two at each end, so that a round that was disturbed
/// does not make it wide.
const ROUNDS_ALONE: u32 = 12;
/// Tails get nine: theirs is the first interval that leaves out one at each end.
const ROUNDS_OF_TAILS: u32 = 9;
/// Why a row is left out when the machine turns out to be slower than planned for.
pub const NO_TIME: &str = "a quick run has no time for it on this machine as it is now";
/// Of eight rounds in blocks, a difference of 10 % is found at 85 of 100 points (docs/deciding.md).
const ROUNDS: u32 = 8;
/// The part of the time limit that rounds can count on: audits and counting may take a tenth each, and workers start
/// slower on a busy machine.
const FOR_ROUNDS: f64 = 0.7;
/// The same of rows that nobody compares: no copies of theirs are audited.
const FOR_ROWS: f64 = 0.6;
/// Values of each axis of numbers before names go: the range stays visible.
const ENDS: usize = 2;

/// Values of an axis that a quick run leaves out; without values, some that it has beside others; without an axis, the
/// whole probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thinned {
    pub probe: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub axis: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Value>,
}

impl Thinned {
    /// `memory_latency working_set_bytes 16384, 131072`: probes share axes.
    pub fn what(&self) -> String {
        let Thinned { probe, axis, left_out } = self;
        let values: Vec<String> = left_out.iter().map(ToString::to_string).collect();
        match (axis.is_empty(), values.is_empty()) {
            (true, _) => probe.clone(),
            (false, true) => format!("{probe} some combinations of {axis}"),
            (false, false) => format!("{probe} {axis} {}", values.join(", ")),
        }
    }

    /// What measures it. A whole probe has no value to name.
    pub fn remedy(&self) -> String {
        match self.axis.is_empty() {
            true => format!("run it alone: syscost run {}", self.probe),
            false => "name the values to keep".into(),
        }
    }
}

/// The plan, or one of fewer values, of which enough rounds fit into the limit.
pub fn thinned(spec: &Spec, mut plan: Plan, rooms: Option<&Rooms>) -> Result<Plan, PlanError> {
    let mut spec = spec.clone();
    let mut left_out: BTreeMap<(String, String), BTreeSet<Value>> = BTreeMap::new();
    while !fits(&plan, &spec) {
        match choose(&plan, &spec) {
            Some(LeastMissed::Value { entry, axis, value, rest }) => {
                let entry = &mut spec.probes[entry];
                entry.axes.insert(axis.to_string(), rest);
                left_out.entry((entry.probe.clone(), axis.to_string())).or_default().insert(value);
            }
            Some(LeastMissed::Probe { entry }) => {
                let whole = spec.probes.remove(entry);
                left_out.insert((whole.probe, String::new()), BTreeSet::new());
            }
            None => break,
        }
        plan = Plan::whole(&spec, rooms)?;
    }
    let thinned = |((probe, axis), mut values): ((String, String), BTreeSet<Value>)| {
        // Another entry of the experiment may have kept it.
        let stays = |value: &Value| {
            plan.cases.iter().any(|case| *case.probe == probe && case.point.get(&axis) == Some(value))
        };
        values.retain(|value| !stays(value));
        Thinned { probe, axis, left_out: values.into_iter().collect() }
    };
    plan.thinned = left_out.into_iter().map(thinned).collect();
    Ok(plan)
}

fn fits(plan: &Plan, spec: &Spec) -> bool {
    enough(plan, spec) <= for_rounds(spec)
}

/// What rounds can count on of the time limit.
pub(super) fn for_rounds(spec: &Spec) -> Duration {
    spec.time_limit().mul_f64(if spec.only_rows() { FOR_ROWS } else { FOR_ROUNDS })
}

/// The part of so much time that rows can count on.
pub fn rows_time(limit: Duration) -> Duration {
    limit.mul_f64(FOR_ROWS)
}

/// How many rounds a figure or a decision of a quick run needs.
pub fn rows_rounds(spec: &Spec) -> u32 {
    match (spec.only_rows(), of_times(spec)) {
        (true, _) => ROUNDS_ALONE,
        (false, true) => ROUNDS_OF_TAILS,
        (false, false) => ROUNDS.min(spec.min_rounds),
    }
}

/// Is it asked for quantiles of single times? A tail scatters more than a median.
fn of_times(spec: &Spec) -> bool {
    let tails = |probe: &'static dyn Probe| {
        let decisive = probe.decisive();
        probe.metrics().iter().any(|metric| metric.of_times.is_some() && decisive.contains(&metric.id))
    };
    spec.probes.iter().filter(|asked| !asked.ruler).any(|asked| probe::find(&asked.probe).is_some_and(tails))
}

/// How long as many rounds as a decision needs take. What nobody compares has fewer.
fn enough(plan: &Plan, spec: &Spec) -> Duration {
    let rounds = rows_rounds(spec);
    let blocks = plan.blocks();
    let racing = blocks.iter().any(|block| block.in_turns());
    let time = |block| plan.visit_time(block, spec);
    blocks
        .iter()
        .map(|block| {
            time(block) * if racing && block.is_aside() { RivalBlock::rounds_aside(rounds) } else { rounds }
        })
        .sum()
}

/// What can be left out next.
enum LeastMissed {
    Value { entry: usize, axis: &'static str, value: Value, rest: Vec<Value> },
    Probe { entry: usize },
}

/// What the comparison loses least by: of the longest axis of numbers down to its ends, then rulers, then names, then
/// ends. Then rows that nobody compares, never the ends of their curves; at last the dearest of such rows.
fn choose(plan: &Plan, spec: &Spec) -> Option<LeastMissed> {
    let numbers = |probe: &dyn Probe, axis: &Axis| probe.compared() && numeric(axis);
    let rivals = |probe: &dyn Probe, axis: &Axis| probe.chosen(axis.id) || axis.id == MECHANISM.id;
    let names = |probe: &dyn Probe, axis: &Axis| probe.compared() && !numeric(axis) && rivals(probe, axis);
    let rows = |probe: &dyn Probe, axis: &Axis| !probe.compared() && numeric(axis);
    let ruler =
        || spec.probes.iter().rposition(|asked| asked.ruler).map(|entry| LeastMissed::Probe { entry });
    value_of_longest(spec, &numbers, ENDS)
        .or_else(ruler)
        .or_else(|| value_of_longest(spec, &names, ENDS))
        .or_else(|| value_of_longest(spec, &numbers, 1))
        .or_else(|| value_of_longest(spec, &rows, ENDS))
        .or_else(|| dearest_rows(plan, spec))
}

/// The rows whose visits take longest, where nobody compares them and no value of theirs was named. What was asked for alone
/// stays.
fn dearest_rows(plan: &Plan, spec: &Spec) -> Option<LeastMissed> {
    if spec.probes.iter().filter(|asked| !asked.ruler).count() < 2 {
        return None;
    }
    let may_go = |asked: &ProbeSpec| {
        !asked.ruler
            && asked.kept.is_empty()
            && probe::find(&asked.probe).is_some_and(|probe| !probe.compared())
    };
    let entry_of =
        |case: &Case| spec.probes.iter().position(|asked| *asked.probe == *case.probe && may_go(asked));
    let dearest = plan
        .cases
        .iter()
        .filter(|case| entry_of(case).is_some())
        .max_by_key(|case| round_time(case, spec))?;
    Some(LeastMissed::Probe { entry: entry_of(dearest)? })
}

/// A value of the longest axis of a kind that was not named and has more values than are to stay.
fn value_of_longest(
    spec: &Spec,
    wanted: &dyn Fn(&dyn Probe, &Axis) -> bool,
    stay: usize,
) -> Option<LeastMissed> {
    let mut longest: Option<(usize, Axis, Vec<Value>)> = None;
    for (entry, asked) in spec.probes.iter().enumerate().filter(|(_, asked)| !asked.ruler) {
        let Some(probe) = probe::find(&asked.probe) else { continue };
        let may_go = |axis: &Axis| !asked.kept.contains(axis.id) && asked.settled(axis.id).is_none();
        let axes = probe.axes().into_iter().filter(may_go);
        for axis in axes.filter(|axis| wanted(probe, axis)) {
            let values = asked.values(&axis, true);
            if values.len() > longest.as_ref().map_or(stay, |(_, _, longest)| longest.len()) {
                longest = Some((entry, axis, values));
            }
        }
    }
    let (entry, axis, values) = longest?;
    let mut rest = values.clone();
    let value =
        if numeric(&axis) { inner(values) } else { dispensable(&spec.probes[entry].probe, &axis, values) }?;
    rest.retain(|kept| *kept != value);
    Some(LeastMissed::Value { entry, axis: axis.id, value, rest })
}

/// The first and the last stay while there are others; of two the first stays: one thread rather than two.
fn inner(mut values: Vec<Value>) -> Option<Value> {
    values.sort();
    if values.len() <= ENDS { values.pop() } else { Some(values.swap_remove(values.len() / 2)) }
}

/// A name that the default study does not have, else the last of them; never the control.
fn dispensable(probe: &str, axis: &Axis, values: Vec<Value>) -> Option<Value> {
    let probe = probe::find(probe)?;
    let is_control = |value: &Value| {
        let mut point = Point::default();
        point.set(axis.id, value.clone());
        probe.is_control(&point)
    };
    let control = values.iter().find(|value| is_control(value)).or(values.first()).cloned();
    let usual = axis.default();
    let others: Vec<Value> = values.into_iter().filter(|value| Some(value) != control.as_ref()).collect();
    others.iter().rev().find(|value| !usual.contains(value)).or(others.last()).cloned()
}

fn numeric(axis: &Axis) -> bool {
    matches!(axis.kind, Kind::Bytes { .. } | Kind::Int { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(experiment: &str, named: &[(&str, &str)]) -> Spec {
        let mut spec = Spec::named(experiment).unwrap();
        spec.set_quick();
        named.iter().for_each(|(flag, value)| spec.set_axis(flag, &[value]).unwrap());
        spec
    }

    fn plan(spec: &Spec) -> Plan {
        Plan::make_within(spec, None).unwrap()
    }

    fn values(plan: &Plan, axis: &str) -> BTreeSet<Value> {
        plan.cases.iter().filter_map(|case| case.point.get(axis).cloned()).collect()
    }

    #[test]
    fn a_small_quick_run_keeps_its_values() {
        let small = spec("transfer", &[("path", "loopback"), ("mechanism", "send,sendmsg")]);
        assert_eq!(plan(&small).thinned, []);
    }

    #[test]
    fn every_case_that_is_left_gets_the_rounds_that_a_decision_needs() {
        for (experiment, named) in [
            ("default", &[("path", "loopback")][..]),
            ("default", &[("path", "loopback"), ("mechanism", "all")]),
            ("default", &[("path", "loopback"), ("threads", "1,2,4,8")]),
            ("ways", &[("path", "loopback")]),
            ("crossover", &[("path", "loopback")]),
            ("latency", &[("path", "loopback")]),
            ("os", &[]),
            ("os-more", &[]),
        ] {
            let spec = spec(experiment, named);
            let (plan, whole) = (plan(&spec), Plan::whole(&spec, None).unwrap());
            assert!(fits(&plan, &spec), "{experiment} {named:?}: {:?}", enough(&plan, &spec));
            assert_eq!(plan.thinned.is_empty(), fits(&whole, &spec), "{experiment} {named:?}");
            assert_eq!(
                plan.thinned.is_empty(),
                plan.cases.len() == whole.cases.len(),
                "what is missing is told"
            );
        }
    }

    #[test]
    fn numbers_go_before_names_and_the_control_stays() {
        let ways = spec("ways", &[("path", "loopback")]);
        let left = plan(&ways);
        let mechanisms = values(&left, "mechanism");
        assert!(mechanisms.len() >= ENDS && mechanisms.contains(&Value::text("send")), "{mechanisms:?}");
        let sizes = values(&left, "message_bytes");
        assert!(sizes.contains(&Value::Int(1024)), "{sizes:?}");
        let shrunk = |axis: &str| left.thinned.iter().any(|thinned| thinned.axis == axis);
        assert!(shrunk("message_bytes") && shrunk("mechanism"), "{:?}", left.thinned);
    }

    #[test]
    fn a_quick_look_at_latency_keeps_its_ladder_of_rates() {
        let left = plan(&spec("latency", &[("path", "loopback")]));
        assert!(values(&left, "rate").len() >= 3, "{:?}", left.thinned);
        assert!(values(&left, "mechanism").len() >= ENDS, "{:?}", left.thinned);
        assert!(left.cases.iter().any(|case| case.point.text_at("loop") == Some("closed")));
        for thinned in left.thinned.iter().filter(|thinned| !thinned.axis.is_empty()) {
            let kept = values(&left, &thinned.axis);
            assert!(thinned.left_out.iter().all(|value| !kept.contains(value)), "{}", thinned.what());
        }
    }

    /// Two lists of one axis were told without their probes, and of a whole probe to name its values.
    #[test]
    fn what_is_left_out_names_its_probe_and_its_own_way_back() {
        let left = plan(&spec("os", &[])).thinned;
        let (whole, values): (Vec<&Thinned>, Vec<&Thinned>) =
            left.iter().partition(|one| one.axis.is_empty());
        assert!(!whole.is_empty() && !values.is_empty(), "{left:?}");
        assert!(values.iter().all(|one| one.what().starts_with(&format!("{} ", one.probe))), "{left:?}");
        for one in whole {
            let alone = one.remedy();
            let experiment = alone.strip_prefix("run it alone: syscost run ").unwrap();
            assert!(!plan(&spec(experiment, &[])).cases.is_empty(), "{experiment}");
        }
    }

    #[test]
    fn what_was_named_is_measured_whole() {
        let named =
            [("path", "loopback"), ("mechanism", "all"), ("size", "64,1K,4K,64K,1M"), ("threads", "1,2")];
        let spec = spec("transfer", &named);
        let left = plan(&spec);
        assert_eq!((left.thinned.len(), fits(&left, &spec)), (0, false));
    }
}
