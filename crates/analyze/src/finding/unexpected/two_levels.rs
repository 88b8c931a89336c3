//! Bistable cells: sometimes fast and sometimes slow, so that the median describes neither.
//!
//! They are found by [`crate::cells::quality`].

use super::{FoundSurprise, Looked, Surprise, SurpriseSeen, SurprisingPlace};
use crate::CellRef;
use crate::finding::Evidence;
use crate::problem::{Problem, ProblemKind};
use syscost_core::stats::{TWO_MODES_FEWEST, two_modes};
use syscost_measure::probe;

pub fn look(evidence: &Evidence<'_>) -> Looked {
    let problems = evidence.problems.iter().filter(|p| matches!(p.kind, ProblemKind::TwoLevels { .. }));
    let mut found: Vec<FoundSurprise> = problems.filter_map(|p| one(evidence, p)).collect();
    found.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    Looked { kinds: &[Surprise::TwoLevels], at: decisive(evidence), found, compared: None }
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

/// The levels; stronger the farther they lie apart.
fn one(evidence: &Evidence<'_>, problem: &Problem) -> Option<FoundSurprise> {
    let place = problem.cells.first()?;
    let cell = evidence.cells.cell(place.case, place.metric)?;
    let mut values = cell.rounds.values();
    values.sort_by(f64::total_cmp);
    let modes = two_modes(&values)?;
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
        comparisons: Vec::new(),
        cells: problem.cells.clone(),
    })
}
