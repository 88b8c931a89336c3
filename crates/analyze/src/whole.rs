//! The whole analysis of a run in one call: what reports are made from.

use crate::Problem;
use crate::cells::Cells;
use crate::cells::quality::{self, Judged};
use crate::cells::sanity;
use crate::cells::seen::Seen;
use crate::compare::groups::Groups;
use crate::compare::study::{ALONG, HEADLINES, RIVALS, Study};
use crate::copies::received;
use crate::finding::Answer;
use crate::finding::{self, Evidence};
use crate::latency::Latency;
use crate::level::{self, MachineLevel};
use crate::limits::limiter::{Limiter, limiters};
use crate::limits::own_cost;
use crate::model::Model;
use crate::operations::{self, Operation};
use crate::recommend::Recommendation;
use crate::trust::Trust;
use crate::varied;
use syscost_core::sample::Metric;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe;

/// Everything computed from a run.
#[derive(Clone, Debug)]
pub struct Analysis {
    pub cells: Cells,
    /// How fast the machine was over time.
    pub level: Option<MachineLevel>,
    /// Groups of cases that compete.
    pub groups: Groups,
    /// The headline metrics that the run has.
    pub studies: Vec<Study>,
    /// The same metrics, with every way of doing one thing beside every other.
    pub ways: Vec<Study>,
    /// Do ways differ in more than what competes first (in messages per call, in the receiver)?
    pub ways_vary: bool,
    /// The distributions of what was timed one by one.
    pub latency: Latency,
    pub limiters: Vec<Limiter>,
    /// What each transfer should cost, term by term.
    pub model: Model,
    /// What to use, by what a reader has to send.
    pub recommendation: Recommendation,
    /// Whether to believe it.
    pub trust: Trust,
    /// Samples that were refused, then cells to be careful with.
    pub problems: Vec<Problem>,
    /// Every case that is a row or a point of a curve.
    pub operations: Vec<Operation>,
    /// The questions that every report is asked.
    pub answers: Vec<Answer>,
}

impl Analysis {
    pub fn of(run: &Run) -> Analysis {
        let judged = judged(run);
        let Seen { cells, looks, warm_ups, visits } = Seen::of(run, &judged);
        let groups = Groups::of(run, RIVALS.id);
        let studies: Vec<Study> =
            HEADLINES.iter().filter_map(|metric| Study::of(run, &cells, &groups, metric)).collect();
        let all = Groups::of_ways(run, RIVALS.id);
        let ways: Vec<Study> =
            HEADLINES.iter().filter_map(|metric| Study::of(run, &cells, &all, metric)).collect();
        let ways_vary = ways_vary(run);
        let latency = Latency::of(run, &cells);
        let limiters = limiters(run, &cells);
        let model = Model::of(run, &cells);
        let mut problems = sanity::problems(run, &looks);
        problems.extend(operations::problems(run));
        problems.extend(judged.iter().flat_map(|judged| quality::problems(run, &cells, &warm_ups, judged)));
        let level = MachineLevel::of(&visits);
        problems.extend(level::problems(run, level.as_ref(), &visits));
        problems.extend(own_cost::problems(run));
        problems.extend(received::problems(run, &cells));
        let operations = operations::operations(run, &cells);
        let recommendation = Recommendation::of(run, &cells, &ways, ALONG.id);
        let mut analysis = Analysis {
            cells,
            level,
            groups,
            studies,
            ways,
            ways_vary,
            latency,
            limiters,
            model,
            recommendation,
            trust: Trust::default(),
            problems,
            operations,
            answers: Vec::new(),
        };
        analysis.answers = finding::answers(&analysis.evidence(run));
        // Advice stands on the comparisons of ways.
        let studies = if ways_vary { &analysis.ways } else { &analysis.studies };
        let judged = Evidence { studies, ..analysis.evidence(run) };
        analysis.trust = Trust::of(&judged, &analysis.answers, analysis.level.as_ref());
        analysis
    }

    /// What the questions are answered from.
    pub fn evidence<'a>(&'a self, run: &'a Run) -> Evidence<'a> {
        Evidence {
            run,
            cells: &self.cells,
            groups: &self.groups,
            studies: &self.studies,
            limiters: &self.limiters,
            latency: &self.latency,
            model: &self.model,
            problems: &self.problems,
        }
    }
}

/// Does the run vary an axis that is chosen, beside the one that names what competes?
fn ways_vary(run: &Run) -> bool {
    let varied = varied::axes(run);
    let chosen = |case: &Case| {
        let probe = probe::find(&case.probe)?;
        Some(case.point.names().any(|id| id != RIVALS.id && probe.chosen(id) && varied.contains(id.as_str())))
    };
    run.record.plan.cases.iter().any(|case| chosen(case) == Some(true))
}

/// The metrics whose cells are looked at for trouble: what is compared, or what a row shows.
fn judged(run: &Run) -> Vec<Judged> {
    let planned = |id: &str| run.record.plan.cases.iter().any(|c| c.probe == id);
    let mut judged = Vec::new();
    for probe in probe::ALL.iter().filter(|p| planned(p.about().id)) {
        let metrics = probe.metrics();
        let named = |id: &&str| metrics.iter().find(|m| m.id == *id).copied();
        let metrics: Vec<Metric> = if probe.compared() {
            HEADLINES.iter().filter_map(named).collect()
        } else {
            operations::headline(*probe).into_iter().collect()
        };
        judged.extend(metrics.into_iter().map(|metric| (probe.about().id, metric)));
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Fault, ProblemKind};
    use crate::synthetic::Synthetic;

    #[test]
    fn one_call_holds_everything_and_repeats_itself() {
        let mut run = Synthetic { rounds: 2, ..Default::default() }.run();
        run.samples[0].elapsed_ns = -1.0;
        let first = Analysis::of(&run);
        assert_eq!(first.studies.len(), HEADLINES.len());
        for study in &first.studies {
            assert_eq!(study.winners.len(), first.groups.groups.len());
            assert_eq!(study.crossovers.len(), 6, "three pairs on two thread counts");
        }
        let evidence = first.evidence(&run);
        assert!(evidence.study("throughput").is_some() && evidence.study("no_such_metric").is_none());
        assert_eq!(first.limiters.len(), 30);
        assert!(matches!(first.problems[0].kind, ProblemKind::Impossible { fault: Fault::Clock, .. }));
        assert!(first.problems.iter().any(|p| matches!(p.kind, ProblemKind::FewRounds { .. })));
        let again = Analysis::of(&run);
        assert_eq!((&first.recommendation, &first.trust), (&again.recommendation, &again.trust));
        assert_eq!(first.problems, again.problems);
    }
}
