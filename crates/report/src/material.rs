//! What every section of a report is made from.

use super::context::Layout;
use syscost_analyze::operations::beside::Beside;
use syscost_analyze::whole::Analysis;
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Run, State};
use syscost_measure::probe;

/// Everything that a section is made from.
pub struct Material<'a> {
    pub run: &'a Run,
    pub analysis: &'a Analysis,
    /// One per probe of the run, in registry order.
    pub layouts: Vec<Layout<'a>>,
    /// Figures from elsewhere, shown beside this run's.
    pub beside: &'a [Beside],
}

impl<'a> Material<'a> {
    pub fn of(run: &'a Run, analysis: &'a Analysis, beside: &'a [Beside]) -> Material<'a> {
        let planned = |id: &str| run.record.plan.cases.iter().any(|c| c.probe == id);
        let probes = probe::ALL.iter().filter(|p| planned(p.about().id));
        let layouts = probes.map(|p| Layout::of(run, &analysis.cells, *p)).collect();
        Material { run, analysis, layouts, beside }
    }

    /// The cases that were asked for, a twin being the same place again; and those that the run ended before.
    pub fn begun_too_late(&self) -> (usize, Vec<&'a Case>) {
        let record = &self.run.record;
        let (given_up, ended) = (record.plan.given_up(), record.state != State::Complete);
        let failed = |case: usize| record.failures.iter().any(|failure| failure.case == case);
        let has_figures = |case: usize| !self.analysis.cells.of_case(case).is_empty();
        let is_late = |case: &&Case| {
            let known = given_up.contains(&case.index) || failed(case.index) || has_figures(case.index);
            ended && !known && !self.run.samples.has(case.index)
        };
        let asked: Vec<&Case> = record.plan.cases.iter().filter(|case| case.twin_of.is_none()).collect();
        (asked.len(), asked.into_iter().filter(is_late).collect())
    }

    /// Are ways of doing one thing compared in this run?
    pub fn compared(&self) -> bool {
        self.layouts.iter().any(|l| l.probe.compared())
    }
}

/// How the run ended, in a few words.
pub fn state(state: State) -> &'static str {
    match state {
        State::Running => "not finished: still running, or killed",
        State::Complete => "complete",
        State::TimeLimit => "stopped at its time limit",
        State::Interrupted => "interrupted",
        State::NothingMeasured => "without a measured case",
    }
}
