//! Bistable cells: sometimes fast and sometimes slow, so that the median describes neither.
//!
//! They are found by [`crate::cells::quality`]; what is new is what the slow rounds have more of.

use super::{FoundSurprise, Looked, Surprise, SurpriseKind, SurpriseSeen, SurprisingPlace};
use crate::CellRef;
use crate::cause::{Between, Difference, LostBy, LostTime};
use crate::cells::metric;
use crate::finding::Evidence;
use crate::problem::{Problem, ProblemKind};
use std::collections::BTreeSet;
use syscost_core::sample::Better;
use syscost_core::stats::{TWO_MODES_FEWEST, two_modes};
use syscost_core::units::Unit;
use syscost_measure::probe;

pub struct TwoLevels;

impl SurpriseKind for TwoLevels {
    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let problems = evidence.problems.iter().filter(|p| matches!(p.kind, ProblemKind::TwoLevels { .. }));
        let mut found: Vec<FoundSurprise> = problems.filter_map(|p| one(evidence, p)).collect();
        found.sort_by(|a, b| b.factor.total_cmp(&a.factor));
        Looked::uncompared(&[Surprise::TwoLevels], decisive(evidence), found)
    }
}

/// The figures that decide something and could show two levels, of every case that is no repeat.
fn decisive(evidence: &Evidence<'_>) -> Vec<CellRef> {
    let mut cells = Vec::new();
    for case in evidence.run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        let metrics = probe::find(&case.probe).map_or(&[][..], |p| p.decisive());
        let found = metrics.iter().filter_map(|metric| evidence.cells.cell(case.index, metric));
        let found = found.filter(|cell| cell.rounds.values().len() >= TWO_MODES_FEWEST);
        cells.extend(found.map(|cell| CellRef { case: case.index, metric: cell.metric }));
    }
    cells
}

/// The levels and their cause; stronger the farther they lie apart.
fn one(evidence: &Evidence<'_>, problem: &Problem) -> Option<FoundSurprise> {
    let place = problem.cells.first()?;
    let cell = evidence.cells.cell(place.case, place.metric)?;
    let mut rounds = cell.rounds.pairs();
    rounds.sort_by(|a, b| a.1.total_cmp(&b.1));
    let values: Vec<f64> = rounds.iter().map(|(_, v)| *v).collect();
    let modes = two_modes(&values)?;
    let (below, above) = rounds.split_at(modes.low_count);
    let higher_is_worse = metric(evidence.run, place.metric)?.better == Better::Lower;
    let (slow, fast) = if higher_is_worse { (above, below) } else { (below, above) };
    let set = |of: &[(u32, f64)]| -> BTreeSet<u32> { of.iter().map(|(round, _)| *round).collect() };
    let time = match metric(evidence.run, place.metric)?.unit {
        Unit::BitsPerSecond => Some(LostTime::Clock),
        Unit::NanosecondsPerByte | Unit::Nanoseconds => Some(LostTime::Cpu),
        _ => None,
    };
    let between = Between::Rounds { case: place.case, slow: set(slow), fast: set(fast) };
    let why = time.map(|time| Difference { between, time, by: LostBy::Message });
    let seen = SurpriseSeen::Levels {
        metric: place.metric,
        low: modes.low,
        high: modes.high,
        share_of_low: modes.low_share,
    };
    let case = evidence.run.case(place.case)?;
    Some(FoundSurprise {
        kind: Surprise::TwoLevels,
        factor: (modes.high / modes.low).abs(),
        place: SurprisingPlace::of(case, case.point.clone(), seen),
        why,
        comparisons: Vec::new(),
        cells: problem.cells.clone(),
    })
}
