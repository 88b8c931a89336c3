//! The whole analysis of a run in one call: what reports are made from.

use super::cells::{self, Cells};
use super::groups::Groups;
use super::limiter::{Limiter, limiters};
use super::study::{HEADLINES, RIVALS, Study};
use super::{Problem, Statement, quality, sanity, verdict};
use crate::run::Run;

/// Everything computed from a run.
#[derive(Clone, Debug)]
pub struct Analysis {
    pub cells: Cells,
    /// Groups of cases that compete.
    pub groups: Groups,
    /// The headline metrics that the run has.
    pub studies: Vec<Study>,
    pub limiters: Vec<Limiter>,
    /// Samples that were refused, then cells to be careful with.
    pub problems: Vec<Problem>,
    /// The paragraph at the top of a report.
    pub verdict: Vec<Statement>,
}

impl Analysis {
    pub fn of(run: &Run) -> Analysis {
        let cells = Cells::of(run);
        let groups = Groups::of(run, RIVALS);
        let studies: Vec<Study> =
            HEADLINES.iter().filter_map(|metric| Study::of(run, &cells, &groups, metric)).collect();
        let limiters = limiters(run, &cells);
        let mut problems = sanity::problems(run, None);
        for metric in HEADLINES.iter().filter_map(|id| cells::metric(run, id)) {
            problems.extend(quality::problems(run, &cells, &metric));
        }
        let verdict = verdict::verdict(run, &cells, &studies, &limiters);
        Analysis { cells, groups, studies, limiters, problems, verdict }
    }

    pub fn study(&self, metric: &str) -> Option<&Study> {
        self.studies.iter().find(|s| s.comparisons.metric.id == metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::Synthetic;

    #[test]
    fn one_call_holds_everything_and_repeats_itself() {
        let mut run = Synthetic { rounds: 4, ..Default::default() }.run();
        run.samples[0].elapsed_ns = -1.0;
        let first = Analysis::of(&run);
        assert_eq!(first.studies.len(), HEADLINES.len());
        for study in &first.studies {
            assert_eq!(study.winners.len(), first.groups.groups.len());
            assert_eq!(study.crossovers.len(), 6, "three pairs on two thread counts");
        }
        assert!(first.study("throughput").is_some() && first.study("no_such_metric").is_none());
        assert_eq!(first.limiters.len(), 30);
        assert_eq!(first.problems[0].id, "impossible_clock");
        assert!(first.problems.iter().any(|p| p.id == "few_rounds"));
        let again = Analysis::of(&run);
        assert_eq!((&first.verdict, &first.problems), (&again.verdict, &again.problems));
    }
}
