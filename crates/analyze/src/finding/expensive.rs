//! What costs more than its parts predict on this machine, and what would change it: other ways of doing the same that
//! the run measured beside it ([`syscost_measure::probe::OtherWay`]), and settings of the machine.
//!
//! Dear is a row whose whole interval lies above twice its prediction. A way is cheaper where the pair is decided, corrected
//! over all pairs asked here.

use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, CellRef, ComparisonRef, Lack};
use crate::compare::Comparison;
use crate::compare::comparisons::claims;
use crate::compare::family::Family;
use crate::finding::{Answer, AskedPair, Says, Shown};
use crate::operations::accuracy::{Fit, fit};
use crate::operations::{Operation, headline, operations};
use serde::Serialize;
use std::collections::BTreeMap;
use syscost_core::axis::{Point, Value};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_host::Fact;
use syscost_measure::probe::{self, OtherWay};

pub struct Expensive;

/// Rows that are named.
const NAMED: usize = 3;

/// One thing that is said to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Expense {
    /// Rows that surely cost more than twice what their parts predict: the worst of each operation, worst first.
    Dear {
        rows: Vec<DearRow>,
        dear: usize,
        of: usize,
        undecided: usize,
    },
    OtherWay(CheaperWay),
    /// Reading the clock enters the kernel, which keeps time by this source.
    ClockByKernel {
        source: String,
    },
    /// The governor of CPU frequency is not the one that keeps it high.
    Governor {
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DearRow {
    pub case: usize,
    pub probe: String,
    pub place: Point,
    /// Measured over predicted.
    pub ratio: Estimate,
}

/// Another way does the same for less, at some of the places where both were measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheaperWay {
    pub probe: String,
    pub axis: String,
    pub from: Value,
    pub to: Value,
    /// How one gets it.
    pub how: String,
    pub places: usize,
    pub cheaper: usize,
    pub undecided: usize,
    /// Where it saves most: without the axis, and the cost of the one over that of the other.
    pub place: Point,
    pub ratio: Estimate,
}

impl Finding for Expensive {
    fn id(&self) -> &'static str {
        "expensive"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        // Rows of operations that this version does not know stand in no suite, and change no other row's answer.
        let mut known =
            evidence.run.record.plan.cases.iter().filter_map(|case| probe::find(&case.probe)).peekable();
        known.peek().is_some() && known.all(|probe| probe.suite().is_some())
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let operations = operations(evidence.run, evidence.cells);
        let dear = dear(evidence.run, &operations);
        let pairs = pairs(evidence.run);
        let asked: Vec<AskedPair> = pairs.iter().map(|pair| pair.asked).collect();
        let claims = claims(evidence.run, evidence.cells, &asked);
        let ways = cheaper(evidence.run, &pairs, &claims);
        let compared = vec![Family::of_pairs(self.id(), claims)];
        let decided = ways.iter().any(|(way, _)| way.cheaper > 0);
        let (found, predicted) = match dear.as_ref().map(|shown| &shown.says) {
            Some(Says::Expensive(Expense::Dear { dear, .. })) => (*dear > 0, true),
            _ => (false, false),
        };
        if !predicted && ways.is_empty() {
            return Answer::not_measured(self.id(), Lack::PredictedRows, "syscost run os")
                .comparing(compared);
        }
        let verdict = if found || decided { AnswerVerdict::Yes } else { AnswerVerdict::No };
        let mut shown: Vec<Shown> = dear.into_iter().collect();
        shown.extend(ways.into_iter().filter(|(way, _)| way.cheaper > 0).map(|(_, shown)| shown));
        shown.extend(settings(evidence.run, &operations));
        let caveats = mitigations(evidence.run).into_iter().collect();
        Answer::found(self.id(), verdict, shown, caveats).comparing(compared)
    }
}

/// The rows that have a cost and a prediction of it, and whether they cost more. A rate costs nothing: how the others
/// stand to their predictions is in the table.
fn dear(run: &Run, operations: &[Operation]) -> Option<Shown> {
    let confidence = run.record.spec.confidence;
    let rated: Vec<(&Operation, Fit, Estimate)> = operations
        .iter()
        .filter(|o| o.metric.better == Better::Lower)
        .filter_map(|o| Some((o, fit(&o.ratio?, confidence), o.ratio?)))
        .collect();
    if rated.is_empty() {
        return None;
    }
    let mut dear: Vec<&(&Operation, Fit, Estimate)> =
        rated.iter().filter(|(_, fit, ratio)| *fit == Fit::Outside && ratio.value > 1.0).collect();
    dear.sort_by(|a, b| b.2.value.total_cmp(&a.2.value));
    let mut rows: Vec<DearRow> = Vec::new();
    let mut seen = Vec::new();
    for (o, _, ratio) in &dear {
        if rows.len() < NAMED && !seen.contains(&o.probe) {
            seen.push(o.probe);
            rows.push(DearRow { case: o.case, probe: o.probe.into(), place: o.point.clone(), ratio: *ratio });
        }
    }
    let undecided = rated.iter().filter(|(_, fit, _)| *fit == Fit::Undecided).count();
    let cells = if dear.is_empty() {
        rated.iter().map(|(o, ..)| o.cell()).collect()
    } else {
        dear.iter().map(|(o, ..)| o.cell()).collect()
    };
    let says = Expense::Dear { rows, dear: dear.len(), of: rated.len(), undecided };
    Some(Shown::of(Says::Expensive(says), cells))
}

/// Two cases that do the same in two ways.
struct WayPair {
    way: &'static OtherWay,
    probe: &'static str,
    asked: AskedPair,
    place: Point,
}

fn pairs(run: &Run) -> Vec<WayPair> {
    let cases: Vec<_> = run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()).collect();
    let mut pairs = Vec::new();
    for from in &cases {
        let Some(probe) = probe::find(&from.probe) else { continue };
        let Some(metric) = headline(probe) else { continue };
        for way in probe.other_ways() {
            let is = |point: &Point, value: &str| point.get(way.axis).is_some_and(|v| v.to_string() == value);
            if !is(&from.point, way.from) {
                continue;
            }
            let place = from.point.without(way.axis);
            let same = |to: &&&Case| {
                to.probe == from.probe && is(&to.point, way.to) && to.point.without(way.axis) == place
            };
            if let Some(to) = cases.iter().find(same) {
                let asked = (metric.id, from.index, to.index);
                pairs.push(WayPair { way, probe: probe.about().id, asked, place });
            }
        }
    }
    pairs
}

/// Of a way: its probe, axis, and both values.
type WayKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// What each other way saves, largest first.
fn cheaper(run: &Run, pairs: &[WayPair], decided: &[Comparison]) -> Vec<(CheaperWay, Shown)> {
    let mut by_way: BTreeMap<WayKey<'_>, Vec<(&WayPair, &Comparison)>> = BTreeMap::new();
    for pair in pairs {
        let found = decided.iter().find(|c| (c.metric, c.a, c.b) == pair.asked);
        if let Some(found) = found {
            let key = (pair.probe, pair.way.axis, pair.way.from, pair.way.to);
            by_way.entry(key).or_default().push((pair, found));
        }
    }
    let mut ways: Vec<(CheaperWay, Shown)> =
        by_way.into_values().filter_map(|of| one_way(run, &of)).collect();
    ways.sort_by(|a, b| b.0.ratio.value.total_cmp(&a.0.ratio.value));
    ways
}

fn one_way(run: &Run, of: &[(&WayPair, &Comparison)]) -> Option<(CheaperWay, Shown)> {
    let better = headline(probe::find(of.first()?.0.probe)?)?.better;
    let mut cheaper: Vec<&(&WayPair, &Comparison)> =
        of.iter().filter(|(_, found)| found.better(better) == Some(found.b)).collect();
    cheaper.sort_by(|a, b| b.1.strength().total_cmp(&a.1.strength()));
    let (pair, found) = cheaper.first().map(|one| **one).or_else(|| of.first().copied())?;
    let value = |case: usize| run.case(case)?.point.get(pair.way.axis).cloned();
    let way = CheaperWay {
        probe: pair.probe.into(),
        axis: pair.way.axis.into(),
        from: value(found.a)?,
        to: value(found.b)?,
        how: pair.way.how.into(),
        places: of.len(),
        cheaper: cheaper.len(),
        undecided: of.iter().filter(|(_, found)| found.is_open()).count(),
        place: pair.place.clone(),
        ratio: found.seen_from(found.a),
    };
    let rows = of.iter().map(|(_, found)| ComparisonRef::from(*found)).collect();
    let cells = [found.a, found.b].map(|case| CellRef { case, metric: found.metric }).to_vec();
    Some((way.clone(), Shown::comparing(Says::Expensive(Expense::OtherWay(way)), rows, cells)))
}

/// What of the machine's settings makes operations dear.
fn settings(run: &Run, operations: &[Operation]) -> Vec<Shown> {
    // Of all that is paid for in time: the clock and the frequency are in each figure.
    let timed = operations.iter().filter(|o| o.measured.is_some() && o.metric.better == Better::Lower);
    let cells: Vec<CellRef> = timed.map(Operation::cell).collect();
    let fact = |id| run.record.fact(id);
    let by_kernel = fact("clocksource").filter(|_| fact("clock_by_vdso") == Some("no"));
    let by_kernel = by_kernel.map(|source| Expense::ClockByKernel { source: source.into() });
    let governor = fact("cpu_governor").filter(|told| *told != "performance");
    let governor = governor.map(|name| Expense::Governor { name: name.into() });
    let told = [by_kernel, governor].into_iter().flatten().filter(|_| !cells.is_empty());
    told.map(|says| Shown::of(Says::Expensive(says), cells.clone())).collect()
}

/// Mitigations cost at each entry of the kernel; how much, no run of one boot can say.
fn mitigations(run: &Run) -> Option<Caveat> {
    let in_force = |fact: &&Fact| fact.value.as_deref().is_some_and(|v| v.starts_with("Mitigation"));
    let of: Vec<String> = run
        .record
        .host
        .iter()
        .filter(in_force)
        .filter_map(|fact| Some(fact.id.strip_prefix("vulnerability_")?.to_string()))
        .collect();
    (!of.is_empty()).then_some(Caveat::MitigationsNotPriced { of })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{clocks, tell};
    use crate::whole::Analysis;
    use syscost_core::sample::Sample;

    fn answer(run: &Run) -> Answer {
        Analysis::of(run).answers.into_iter().find(|a| a.question == Expensive.id()).expect("it is asked")
    }

    fn expenses(answer: &Answer) -> Vec<&Expense> {
        let of = |shown: &'_ Shown| matches!(shown.says, Says::Expensive(_));
        let known = answer.shown.iter().filter(|shown| of(shown));
        known
            .filter_map(|shown| if let Says::Expensive(one) = &shown.says { Some(one) } else { None })
            .collect()
    }

    #[test]
    fn a_rate_is_no_cost() {
        let mut run = clocks(8, Some(1.0), 3.0);
        for case in &mut run.record.plan.cases[1..] {
            (case.probe, case.point) = ("memory_bandwidth".into(), Point::default());
            case.point.set("operation", Value::text("read"));
        }
        for prediction in &mut run.record.predictions[1..] {
            prediction.metric = "bandwidth".into();
        }
        // A third of a byte in a second, where one was predicted.
        let slow = |sample: &Sample| Sample { bytes: sample.elapsed_ns / 3e9, ..sample.clone() };
        run.samples = run.samples.iter().map(slow).collect::<Vec<_>>().into();
        let told = answer(&run);
        let Expense::Dear { dear, of, undecided, .. } = expenses(&told)[0] else { panic!("rows first") };
        assert_eq!((*dear, *of, *undecided, told.shown[0].cells.len()), (1, 1, 0, 1));
    }

    #[test]
    fn a_clock_of_the_kernel_a_governor_and_mitigations_are_told() {
        let mut run = clocks(8, Some(1.0), 1.0);
        for (id, value) in [
            ("clock_by_vdso", "no"),
            ("clocksource", "hpet"),
            ("vulnerability_meltdown", "Mitigation: PTI"),
            ("vulnerability_mds", "Not affected"),
        ] {
            tell(&mut run, id, Some(value));
        }
        let told = answer(&run);
        let source = "hpet".to_string();
        assert!(expenses(&told).contains(&&Expense::ClockByKernel { source }), "{told:?}");
        assert_eq!(told.caveats, [Caveat::MitigationsNotPriced { of: vec!["meltdown".into()] }]);
    }
}
