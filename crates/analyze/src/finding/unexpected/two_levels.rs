//! Bistable cells: sometimes fast and sometimes slow, so that the median describes neither.
//!
//! They are found by [`crate::cells::quality`]; what is new is which counter tells the rounds apart.

use super::{FoundSurprise, Looked, Surprise, SurpriseKind, SurpriseSeen, SurprisingPlace, cause};
use crate::CellRef;
use crate::cells::metric;
use crate::finding::Evidence;
use crate::problem::{Problem, ProblemKind};
use std::collections::BTreeSet;
use syscost_core::sample::Better;
use syscost_core::stats::two_modes;
use syscost_core::units::Unit;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};

pub struct TwoLevels;

impl SurpriseKind for TwoLevels {
    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let problems = evidence.problems.iter().filter(|p| matches!(p.kind, ProblemKind::TwoLevels { .. }));
        let mut found: Vec<FoundSurprise> = problems.filter_map(|p| one(evidence, p)).collect();
        found.sort_by(|a, b| b.factor.total_cmp(&a.factor));
        Looked { kind: Surprise::TwoLevels, at: decisive(evidence), found }
    }
}

/// The figures that decide something, of every case that is no repeat.
fn decisive(evidence: &Evidence<'_>) -> Vec<CellRef> {
    let mut cells = Vec::new();
    for case in evidence.run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        let metrics = probe::find(&case.probe).map_or(&[][..], |p| p.decisive());
        let found = metrics.iter().filter_map(|metric| evidence.cells.cell(case.index, metric));
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
    let slow = if higher_is_worse { above } else { below };
    let slow: BTreeSet<u32> = slow.iter().map(|(round, _)| *round).collect();
    let all: BTreeSet<u32> = rounds.iter().map(|(round, _)| *round).collect();
    let lost_ns = lost_ns(evidence, place, modes.low, modes.high);
    let cause = cause::within(evidence, place.case, (&slow, &all), lost_ns);
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
        place: SurprisingPlace::of(case, case.point.clone(), seen, cause.of),
        comparisons: Vec::new(),
        cells: problem.cells.iter().cloned().chain(cause.cells).collect(),
    })
}

/// Nanoseconds that a message takes more at the slow level.
fn lost_ns(evidence: &Evidence<'_>, place: &CellRef, low: f64, high: f64) -> Option<f64> {
    let point = &evidence.run.case(place.case)?.point;
    let bytes = point.int(MESSAGE_BYTES)? as f64;
    let threads = point.int(THREADS).unwrap_or(1) as f64;
    match metric(evidence.run, place.metric)?.unit {
        Unit::BitsPerSecond => Some(threads * bytes * 8e9 * (1.0 / low - 1.0 / high)),
        Unit::NanosecondsPerByte => Some(bytes * (high - low)),
        _ => None,
    }
}
