//! What does each layer and setting between the two ends cost? The same transfers over other paths are compared like
//! mechanisms are: veth beside loopback, every other layer beside veth. So are those with another value of what no way
//! chooses (TCP_NODELAY, the placement on CPUs): each beside the first that was asked for. Asked only of runs that varied
//! one of them.
//!
//! The cost that a layer adds, and its interval, follow from the tested ratio and the cost without the layer.

use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, CellRef, ComparisonRef, Lack};
use crate::compare::Comparison;
use crate::compare::comparisons::claims;
use crate::compare::family::Family;
use crate::compare::groups::{Group, Groups};
use crate::compare::study::ALONG;
use crate::finding::{Answer, AskedPair, Says, Shown};
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_core::axis::{Point, Value};
use syscost_core::decide::Verdict;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_host::namespaces::layer;
use syscost_measure::mechanism::{CONNECTIONS, THREADS};
use syscost_measure::probe::network::LOOPBACK;
use syscost_measure::probe::transfer::available::VETH;
use syscost_measure::probe::transfer::axes::{COMMON, PATH};
use syscost_measure::probe::{Probe, transfer};

pub struct Layers;

/// What is compared, and the same by message, in which it is told.
const COMPARED: &str = "total_cpu_ns_per_byte";
const COST: &str = "total_cpu_ns_per_message";

/// One layer beside the path that lacks it, or one value of a setting beside the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerCost {
    pub axis: String,
    pub layer: Value,
    pub beside: Value,
    pub places: Vec<LayerPlace>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerPlace {
    /// Without the axis.
    pub place: Point,
    /// CPU nanoseconds of a message without it.
    pub without: f64,
    /// CPU nanoseconds of a message that it adds; below 0: it saves them.
    pub added: Estimate,
    /// Of the cost with it over that without.
    pub verdict: Verdict,
}

impl Finding for Layers {
    fn id(&self) -> &'static str {
        "layers"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        let cases = &evidence.run.record.plan.cases;
        let skipped = &evidence.run.record.plan.skips;
        let points = || cases.iter().map(|case| &case.point).chain(skipped.iter().map(|skip| &skip.point));
        let varied = |axis: &'static str| {
            let values = points().filter_map(|point| point.get(axis)).filter(|value| is_layer(axis, value));
            values.collect::<BTreeSet<&Value>>().len() > 1
        };
        super::asked_of_transfers(evidence) && axes().any(varied)
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let pairs = pairs(evidence.run);
        let asked: Vec<AskedPair> = pairs.iter().map(|pair| pair.asked).collect();
        let claims = claims(evidence.run, evidence.cells, &asked);
        let of = |pairs: &[LayerPair]| layer_cost(evidence, &claims, pairs);
        let shown: Vec<Shown> =
            pairs.chunk_by(|a, b| (a.axis, &a.layer) == (b.axis, &b.layer)).filter_map(of).collect();
        let compared = vec![Family::of_pairs(self.id(), claims.clone())];
        if shown.is_empty() {
            let command = "syscost run overlay";
            return Answer::not_measured(self.id(), Lack::SeveralLayers, command).comparing(compared);
        }
        let places = || shown.iter().filter_map(places_of).flatten();
        let dearer = places().filter(|place| place.verdict == Verdict::More).count();
        let open = places().filter(|place| place.verdict == Verdict::Undecided).count();
        let of = places().count();
        let verdict = AnswerVerdict::at(dearer, of).or_open(open > 0);
        let open = Caveat::open(open, of);
        let caveats = std::iter::once(Caveat::CpuOfBothSides).chain(open).collect();
        Answer::found(self.id(), verdict, shown, caveats).comparing(compared)
    }
}

pub(crate) fn places_of(shown: &Shown) -> Option<&[LayerPlace]> {
    if let Says::Layers(cost) = &shown.says { Some(&cost.places) } else { None }
}

/// What no way chooses, and no other question is asked of.
fn axes() -> impl Iterator<Item = &'static str> {
    let asked_of = [ALONG.id, THREADS.id, CONNECTIONS.id];
    let all = COMMON.iter().map(|axis| axis.id);
    all.filter(move |id| !transfer::Transfer.chosen(id) && !asked_of.contains(id))
}

/// Hosts are no layers of each other.
fn is_layer(axis: &str, value: &Value) -> bool {
    axis != PATH.id || value.as_text().is_some_and(|path| base(path).is_some())
}

/// The paths that lack only this layer, the nearest first; `None`: it is no layer of one machine.
fn base(path: &str) -> Option<&'static [&'static str]> {
    match path {
        LOOPBACK => Some(&[]),
        VETH => Some(&[LOOPBACK]),
        path => layer::find(path).map(|_| &[VETH, LOOPBACK][..]),
    }
}

/// The same transfer with a layer and without it.
struct LayerPair {
    axis: &'static str,
    layer: Value,
    beside: Value,
    /// Metric, the case with the layer, the case without.
    asked: AskedPair,
}

/// By layer, in the order of the paths; then by setting.
fn pairs(run: &Run) -> Vec<LayerPair> {
    axes().flat_map(|axis| pairs_along(run, axis)).collect()
}

fn pairs_along(run: &Run, axis: &'static str) -> Vec<LayerPair> {
    let groups = Groups::of(run, axis);
    let found = |base: &&str| groups.values.iter().find(|value| value.as_text() == Some(base));
    let beside = |value: &Value| match axis == PATH.id {
        true => base(value.as_text()?)?.iter().find_map(found),
        false => first(run, axis),
    };
    let layers = groups.values.iter().filter_map(|value| Some((value, beside(value)?)));
    let layers: Vec<(&Value, &Value)> = layers.filter(|(value, beside)| value != beside).collect();
    let transfers = groups.groups.iter().filter(|group| group.probe == transfer::Transfer.about().id);
    let transfers: Vec<&Group> = transfers.collect();
    let pair = |(layer, beside): (&Value, &Value), group: &&Group| {
        let with = |value: &Value| {
            let is = |case: &&usize| run.case(**case).is_some_and(|c| c.point.get(axis) == Some(value));
            group.members.iter().find(is).copied()
        };
        let asked = (COMPARED, with(layer)?, with(beside)?);
        Some(LayerPair { axis, layer: layer.clone(), beside: beside.clone(), asked })
    };
    let of = |layer: &(&Value, &Value)| {
        transfers.iter().filter_map(|group| pair(*layer, group)).collect::<Vec<_>>()
    };
    layers.iter().flat_map(of).collect()
}

/// The value that was asked for first.
fn first<'r>(run: &'r Run, axis: &str) -> Option<&'r Value> {
    run.record.plan.cases.iter().find_map(|case| case.point.get(axis))
}

fn layer_cost(evidence: &Evidence<'_>, claims: &[Comparison], pairs: &[LayerPair]) -> Option<Shown> {
    let (mut places, mut comparisons, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for pair in pairs {
        let (_, with, without) = pair.asked;
        let claim = claims.iter().find(|claim| (claim.metric, claim.a, claim.b) == pair.asked);
        let cost = |case: usize| evidence.cells.estimate(case, COST);
        let (Some(claim), Some(base)) = (claim, cost(without)) else { continue };
        let place = evidence.run.case(with)?.point.without(pair.axis);
        let added = added(&base, &claim.seen_from(with));
        places.push(LayerPlace { place, without: base.value, added, verdict: claim.decision.verdict });
        comparisons.push(ComparisonRef::from(claim));
        cells.extend([with, without].map(|case| CellRef { case, metric: COST }));
    }
    let first = pairs.first()?;
    let LayerPair { axis, layer, beside, .. } = first;
    let says = LayerCost { axis: axis.to_string(), layer: layer.clone(), beside: beside.clone(), places };
    (!says.places.is_empty()).then(|| Shown::comparing(Says::Layers(says), comparisons, cells))
}

/// The cost that the tested ratio adds to the median without the layer. Its interval holds every cost and ratio within theirs.
fn added(without: &Estimate, ratio: &Estimate) -> Estimate {
    let ends = [without.low, without.high]
        .into_iter()
        .flat_map(|cost| [cost * (ratio.low - 1.0), cost * (ratio.high - 1.0)]);
    let value = without.value * (ratio.value - 1.0);
    let (low, high) = ends.fold((value, value), |(low, high), end| (low.min(end), high.max(end)));
    Estimate { value, low, high, level: ratio.level.min(without.level), n: ratio.n, unit: without.unit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;

    /// What was made as mechanisms are paths: `send` is veth, `sendmsg` a bridge.
    fn planted(cost_ns: fn(&Point) -> f64) -> Run {
        let mut run = Synthetic {
            mechanisms: vec!["send", "sendmsg"],
            sizes: vec![1024, 65536],
            threads: vec![1],
            cost_ns,
            rounds: 12,
            noise: 0.01,
            ..Default::default()
        }
        .run();
        for case in &mut run.record.plan.cases {
            let bridge = case.point.text_at("mechanism") == Some("sendmsg");
            case.point.set(PATH.id, Value::text(if bridge { "bridge" } else { VETH }));
            case.point.set("mechanism", Value::text("send"));
        }
        run
    }

    fn answer(run: &Run) -> Option<Answer> {
        let analysis = Analysis::of(run);
        let evidence = analysis.evidence(run);
        Layers.asked(&evidence).then(|| Layers.answered(&evidence))
    }

    /// The experiments that vary one ask just this.
    #[test]
    fn a_setting_is_held_against_the_first_that_was_asked_for() {
        let mut run = planted(|p| if p.text_at("mechanism") == Some("sendmsg") { 400.0 } else { 1000.0 });
        for case in &mut run.record.plan.cases {
            let same = case.point.text_at(PATH.id) == Some("bridge");
            case.point.set(PATH.id, Value::text(VETH));
            case.point.set("placement", Value::text(if same { "same" } else { "different" }));
        }
        let found = answer(&run).unwrap();
        let Says::Layers(cost) = &found.shown[0].says else { panic!("{found:?}") };
        assert_eq!((cost.axis.as_str(), &cost.layer), ("placement", &Value::text("same")));
        assert!(found.shown.len() == 1 && cost.places.iter().all(|p| p.verdict == Verdict::Less), "{cost:?}");
    }

    #[test]
    fn an_interval_holds_every_end_of_both() {
        let estimate = |value, low, high, unit| Estimate { value, low, high, level: 0.95, n: 8, unit };
        use syscost_core::units::Unit;
        let cost = estimate(1000.0, 900.0, 1200.0, Unit::Nanoseconds);
        let both = added(&cost, &estimate(1.1, 0.95, 1.3, Unit::Ratio));
        assert!((both.value - 100.0).abs() < 1e-6 && (both.low + 60.0).abs() < 1e-6, "{both:?}");
        assert!((both.high - 360.0).abs() < 1e-6, "{both:?}");
    }
}
