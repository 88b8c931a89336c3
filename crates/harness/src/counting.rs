//! Which cases get a round for the hardware counters, and when.
//!
//! Counters slow down what they count, so they have rounds of their own, whose times are not used. Counts hardly vary:
//! a few rounds are enough, and they may take a small share of the run.

use crate::worker::path::another_host;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use syscost_core::sample::Sample;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Run;
use syscost_host::Unavailable;
use syscost_host::counters::{self, Counters};
use syscost_host::settings::clock_counts_instructions;
use syscost_measure::probe::transfer::axes::PATH;
use syscost_measure::probe::{self, Missing};

/// The share of the run's time that counting may take.
const SHARE: f64 = 0.1;
/// Rounds of a case.
const ROUNDS: usize = 3;

pub struct CountingSchedule {
    /// Counted rounds of each case; `None`: nothing of it is counted.
    rounds: Vec<Option<usize>>,
    /// Paths on whose two ends nothing can be counted.
    refused: BTreeSet<String>,
    missing: Vec<Missing>,
    spent: Duration,
    began: Instant,
}

impl CountingSchedule {
    /// Of a run that may already have counted. What this machine refuses altogether is not tried here.
    pub fn new(plan: &Plan, run: &Run) -> CountingSchedule {
        let planned: BTreeSet<&str> = plan.cases.iter().map(|case| &*case.probe).collect();
        let has_metrics = |id: &&str| probe::find(id).is_some_and(|p| p.metrics().iter().any(|m| m.counted));
        let wanted: BTreeSet<&str> = planned.into_iter().filter(has_metrics).collect();
        let refused = if wanted.is_empty() { Vec::new() } else { Counters::refused() };
        let nothing = refused.len() == counters::ids().count();
        // A resumed run's samples are read only where something can be counted.
        let counted = |case: &Case| {
            let possible = !nothing || another_host(&case.point).is_some();
            let asked = possible && case.twin_of.is_none() && wanted.contains(&*case.probe);
            asked.then(|| run.samples.of_case(case.index).iter().filter(|s| s.is_counting()).count())
        };
        CountingSchedule {
            rounds: plan.cases.iter().map(counted).collect(),
            refused: BTreeSet::new(),
            missing: of_roles(&wanted, &refused),
            spent: Duration::ZERO,
            began: Instant::now(),
        }
    }

    /// What cannot be counted on this machine.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Is it this case's turn? None gets a second round before the others had their first, on the average.
    pub fn due(&self, case: &Case) -> bool {
        // What the clocks count needs no counter.
        if clock_counts_instructions() {
            return false;
        }
        let Some(Some(rounds)) = self.rounds.get(case.index) else { return false };
        *rounds < ROUNDS
            && self.spent <= self.began.elapsed().mul_f64(SHARE)
            && !self.refused.contains(&path(case))
            && *rounds <= self.average()
    }

    fn average(&self) -> usize {
        let (sum, cases) = self.rounds.iter().flatten().fold((0, 0), |(sum, cases), n| (sum + n, cases + 1));
        sum / cases
    }

    /// Takes in a counted round; false where it counted nothing.
    pub fn counted(&mut self, case: &Case, samples: &[Sample], took: Duration) -> bool {
        self.spent += took;
        let any = samples.iter().any(has_counts);
        match self.rounds.get_mut(case.index) {
            Some(Some(rounds)) if any => *rounds += 1,
            _ => {
                self.refused.insert(path(case));
            }
        }
        any
    }

    /// A round that failed says nothing of the path: it is one of the case's, so that it is not tried for ever.
    pub fn failed(&mut self, case: &Case, took: Duration) {
        self.spent += took;
        if let Some(Some(rounds)) = self.rounds.get_mut(case.index) {
            *rounds += 1;
        }
    }
}

/// What each role of these probes cannot count.
fn of_roles(probes: &BTreeSet<&str>, refused: &[(String, Unavailable)]) -> Vec<Missing> {
    let roles: BTreeSet<&str> =
        probes.iter().filter_map(|id| probe::find(id)).flat_map(|probe| probe.roles()).copied().collect();
    let missing = |role: &str, (id, why): &(String, Unavailable)| Missing {
        quantity: format!("{role}_{id}"),
        why: why.clone(),
    };
    roles.iter().flat_map(|role| refused.iter().map(|each| missing(role, each))).collect()
}

fn path(case: &Case) -> String {
    case.point.text(PATH).unwrap_or_default().to_string()
}

fn has_counts(sample: &Sample) -> bool {
    sample.quantities.iter().any(|(id, _)| counters::ids().any(|counter| id.ends_with(counter)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_experiment::spec::Spec;

    fn sample(case: usize) -> Sample {
        let quantities = std::iter::once(("sender_cycles_user".to_string(), Some(1.0))).collect();
        Sample { case, verified: true, quantities, ..Sample::default() }
    }

    fn schedule(plan: &Plan) -> CountingSchedule {
        let wanted = |case: &Case| (case.twin_of.is_none() && case.probe == "transfer").then_some(0);
        CountingSchedule {
            rounds: plan.cases.iter().map(wanted).collect(),
            refused: BTreeSet::new(),
            missing: Vec::new(),
            spent: Duration::ZERO,
            began: Instant::now() - Duration::from_secs(1000),
        }
    }

    #[test]
    fn every_case_has_its_turn_and_no_more_than_its_rounds() {
        let plan = Plan::make_within(&Spec::named("default").unwrap(), None).unwrap();
        let mut schedule = schedule(&plan);
        let first = plan.cases.iter().find(|case| case.probe == "transfer").unwrap();
        assert!(schedule.due(first));
        assert!(schedule.counted(first, &[sample(first.index)], Duration::from_millis(1)));
        assert!(!schedule.due(first), "the others wait");
        for _ in 0..2 * ROUNDS {
            for case in &plan.cases {
                if schedule.due(case) {
                    schedule.counted(case, &[sample(case.index)], Duration::from_millis(1));
                }
            }
        }
        assert!(schedule.rounds.iter().flatten().all(|rounds| *rounds == ROUNDS));
        let other = plan.cases.iter().find(|case| case.probe != "transfer").unwrap();
        assert!(!schedule.due(other), "it has no metric that is counted");
    }

    #[test]
    fn a_round_that_failed_ends_counting_of_no_other_case() {
        let plan = Plan::make_within(&Spec::named("default").unwrap(), None).unwrap();
        let mut of_transfer = plan.cases.iter().filter(|case| case.probe == "transfer");
        let (first, second) = (of_transfer.next().unwrap(), of_transfer.next().unwrap());
        let mut schedule = schedule(&plan);
        schedule.failed(first, Duration::from_millis(1));
        assert!(schedule.due(second) && !schedule.due(first));
        (0..ROUNDS).for_each(|_| schedule.failed(second, Duration::from_millis(1)));
        assert!(!schedule.due(second), "not for ever");
    }

    #[test]
    fn counting_ends_where_nothing_is_counted_and_keeps_to_its_share() {
        let plan = Plan::make_within(&Spec::named("default").unwrap(), None).unwrap();
        let case = plan.cases.iter().find(|case| case.probe == "transfer").unwrap();
        let mut refused = schedule(&plan);
        assert!(!refused.counted(case, &[Sample::default()], Duration::from_millis(1)));
        assert!(!plan.cases.iter().any(|case| refused.due(case)));
        let mut slow = schedule(&plan);
        slow.counted(case, &[sample(case.index)], Duration::from_secs(500));
        assert!(!plan.cases.iter().any(|case| slow.due(case)), "half of the time is gone");
    }
}
