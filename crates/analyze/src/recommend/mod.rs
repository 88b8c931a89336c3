//! What to use: for each reader's situation, along the sizes, by the answers of [`crate::compare`]. Data, no words.

pub mod situation;
pub mod line;
pub mod advice;
pub mod batching;
pub mod zero_copy;

use crate::answer::Caveat;
use crate::cells::Cells;
use crate::compare::study::{RIVALS, Study};
use crate::compare::winners::Sure;
use advice::{Advice, AdviceScope};
use batching::BatchingAdvice;
use line::{SizeLine, disagree, lines, together};
use serde::Serialize;
use situation::Situation;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::Point;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_host::namespaces::{layer, named};
use syscost_measure::mechanism;
use syscost_measure::probe;
use syscost_measure::probe::network::LOOPBACK;
use syscost_measure::probe::transfer::axes::PATH;

/// What to use, by who asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recommendation {
    pub situations: Vec<SituationAdvice>,
    /// What holds for all of them.
    pub caveats: Vec<Caveat>,
}

/// What somebody in this situation should use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SituationAdvice {
    pub situation: Situation,
    /// The first metric before the others; one that supports the same choices is named with it and not told again.
    pub advice: Vec<Advice>,
    pub caveats: Vec<Caveat>,
}

impl Recommendation {
    /// From every way of doing one thing, by each metric in its order.
    pub fn of(run: &Run, cells: &Cells, studies: &[Study], along: &str) -> Recommendation {
        let of = |situation: Situation| {
            let advice = advice(run, cells, studies, along, situation);
            let caveats = zero_copy::caveats(run, cells, situation);
            (!advice.is_empty()).then_some(SituationAdvice { situation, advice, caveats })
        };
        let mut situations: Vec<SituationAdvice> = Situation::ALL.into_iter().filter_map(of).collect();
        // Where something was compared, that one way alone fits another reader answers no question.
        let compares = |of: &SituationAdvice| {
            of.advice.iter().flat_map(|advice| &advice.ranges).any(|range| range.sure != Sure::Alone)
        };
        if situations.iter().any(compares) {
            situations.retain(compares);
        }
        let advice = || situations.iter().flat_map(|of| &of.advice);
        let one_machine =
            advice().any(|a| a.scope.held.text(PATH).is_some_and(|path| on_one_machine(run, path)));
        let here_only =
            advice().filter_map(|a| probe::find(&a.scope.probe)).any(|probe| probe.about().here_only);
        // Two real devices, each in a namespace of its own, are a path that leaves no host.
        let path = if here_only { named::path("SENDER", "RECEIVER") } else { "ssh://HOST".into() };
        let caveats = one_machine.then(|| Caveat::NoDevice { command: format!("syscost run --path {path}") });
        Recommendation { caveats: caveats.into_iter().collect(), situations }
    }
}

/// Do packets on this path never meet a network device?
fn on_one_machine(run: &Run, path: &str) -> bool {
    path == LOOPBACK || layer::find(path).is_some() || (named::is_meant(path) && joined_by_veth(run, path))
}

/// Namespaces of this machine may also hold real devices.
fn joined_by_veth(run: &Run, path: &str) -> bool {
    let mut cases = run.record.plan.cases.iter().filter(|case| case.point.text(PATH) == Some(path));
    let is_veth = |case: &Case| {
        let settings = run.record.settings.get(&case.index)?;
        let driver = |role: &str| settings.get(&format!("{role}_driver"));
        Some(["sender", "receiver"].iter().all(|role| driver(role).is_some_and(|driver| driver == "veth")))
    };
    cases.find_map(is_veth).unwrap_or(false)
}

fn advice(run: &Run, cells: &Cells, studies: &[Study], along: &str, situation: Situation) -> Vec<Advice> {
    let mut told: Vec<Advice> = Vec::new();
    for study in studies {
        let mut grids: BTreeMap<(&str, Point), Vec<SizeLine>> = BTreeMap::new();
        for line in lines(run, study, along, situation) {
            grids.entry((line.probe, line.held.clone())).or_default().push(line);
        }
        // As planned: the tables have the same order.
        let mut grids: Vec<Vec<SizeLine>> = grids.into_values().collect();
        grids.sort_by_key(|grid| grid.iter().filter_map(SizeLine::first_case).min());
        for grid in &grids {
            for line in over_threads(grid) {
                let (single, per_call) = unbatched(&line);
                let scope = AdviceScope {
                    probe: line.probe.to_string(),
                    held: line.held.clone(),
                    threads: line.threads.clone(),
                    messages_per_call: per_call,
                };
                let Some(found) = Advice::of(cells, &single, scope, BatchingAdvice::of(cells, &line)) else {
                    continue;
                };
                match told.iter_mut().find(|told| told.holds_for(&found, &single)) {
                    Some(same) => same.also.push(found.metric),
                    None => told.push(found),
                }
            }
        }
    }
    told
}

/// One line where thread counts agree, else each.
fn over_threads<'s>(grid: &[SizeLine<'s>]) -> Vec<SizeLine<'s>> {
    let mut grid = grid.to_vec();
    grid.sort_by(|a, b| a.threads.cmp(&b.threads));
    match grid.len() {
        0 | 1 => grid,
        _ if disagree(&grid) => grid,
        _ => together(&grid).into_iter().collect(),
    }
}

/// The line with what hands over the fewest messages in a call, mostly one; and how many these are.
fn unbatched<'s>(line: &SizeLine<'s>) -> (SizeLine<'s>, Option<u64>) {
    let ways = || line.steps.iter().flat_map(|step| step.measured.iter().map(|measured| &measured.way));
    let counts: BTreeSet<u64> =
        ways().filter(|way| way.text(RIVALS).is_some()).map(mechanism::per_call).collect();
    match counts.first() {
        Some(fewest) if counts.len() > 1 => {
            (line.only(|way| mechanism::per_call(way) == *fewest), Some(*fewest))
        }
        fewest => (line.clone(), fewest.copied()),
    }
}

#[cfg(test)]
mod tests;
