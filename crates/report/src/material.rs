//! What every section of a report is made from.

use super::context::Layout;
use syscost_analyze::operations::beside::Beside;
use syscost_analyze::whole::Analysis;
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
    }
}
