//! Every family of questions that a report tells of: the rows of `comparisons.csv`.

use crate::compare::Comparisons;
use crate::compare::family::Family;
use crate::compare::groups::Groups;
use crate::compare::study::RIVALS;
use crate::finding::own_operations::is_asked;
use crate::operations;
use crate::whole::Analysis;
use std::collections::BTreeSet;
use syscost_core::axis::Value;
use syscost_experiment::run::Run;
use syscost_measure::probe::{self, Probe};

/// Shows each, in the order of the report; one at a time, since their rows as text would take more memory than the run.
pub fn each_family<E>(
    run: &Run,
    analysis: &Analysis,
    mut show: impl FnMut(&Family<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for study in analysis.studies.iter().chain(&analysis.latency.studies) {
        show(&Family::known(&study.comparisons.axis, &study.comparisons))?;
    }
    if analysis.ways_vary {
        analysis.ways.iter().try_for_each(|study| show(&Family::known("ways", &study.comparisons)))?;
    }
    analysis.answers.iter().flat_map(|answer| &answer.compared).try_for_each(&mut show)?;
    of_rows(run, analysis).into_iter().map(Family::made).try_for_each(|family| show(&family))
}

/// Rows of one operation that differ in one word: threads and processes, placements.
fn of_rows(run: &Run, analysis: &Analysis) -> Vec<Comparisons> {
    let planned: BTreeSet<&str> = run.record.plan.cases.iter().map(|c| c.probe.as_str()).collect();
    let probes = || {
        probe::ALL.iter().copied().filter(|p: &&dyn Probe| !p.compared() && planned.contains(p.about().id))
    };
    let worded =
        |axis: &str| run.record.plan.cases.iter().any(|c| matches!(c.point.get(axis), Some(Value::Text(_))));
    let mut asked: Vec<(&str, &str)> = Vec::new();
    for probe in probes() {
        let Some(metric) = operations::headline(probe) else { continue };
        for axis in probe.axes().iter().filter(|a| a.id != RIVALS.id && !is_asked(a.id) && worded(a.id)) {
            if !asked.contains(&(axis.id, metric.id)) {
                asked.push((axis.id, metric.id));
            }
        }
    }
    let compare = |(axis, metric): (&str, &str)| {
        let mut groups = Groups::of(run, axis);
        groups.groups.retain(|group| probes().any(|p| p.about().id == group.probe.as_str()));
        Comparisons::of(run, &analysis.cells, &groups, metric).filter(|all| !all.pairs.is_empty())
    };
    asked.into_iter().filter_map(compare).collect()
}
