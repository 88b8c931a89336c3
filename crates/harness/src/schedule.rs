//! Which cases still need rounds, and how long a visit of each takes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use syscost_core::sample::{self, Metric, Sample};
use syscost_core::stats::{self, Estimate};
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Run;
use syscost_experiment::spec::Spec;
use syscost_measure::probe;

/// A case that failed this often without a success between is given up.
const FAILURES_ALLOWED: u32 = 2;
/// Where it had worked before, only when it has failed for so long: a link may be down for a while.
const OUTAGE: Duration = Duration::from_secs(10);
/// Rounds of which nothing can be used are made up for, up to so many visits for each round asked for.
pub const MOST_VISITS_PER_ROUND: usize = 2;

/// What is known of one case so far.
#[derive(Default)]
struct CaseProgress {
    /// Round values of each decisive metric.
    values: Vec<Vec<f64>>,
    /// Rounds in which it ran.
    rounds: BTreeSet<u32>,
    /// Of those, how many left something to use: others were disturbed from beginning to end.
    used: usize,
    failures_in_a_row: u32,
    failing_since: Option<Instant>,
    given_up: bool,
    first_visit: Duration,
    /// Of the visits after the first, which may have made files or links.
    longest_visit: Duration,
}

pub struct RoundSchedule<'a> {
    pub plan: &'a Plan,
    pub spec: &'a Spec,
    decisive: Vec<Vec<Metric>>,
    cases: Vec<CaseProgress>,
    /// Cases that need more rounds: kept with every visit, since looking at all of them takes as long as the
    /// plan is large.
    open: BTreeSet<usize>,
    /// Earlier ones are left as they are.
    first_case: usize,
}

impl<'a> RoundSchedule<'a> {
    pub fn new(plan: &'a Plan, spec: &'a Spec) -> RoundSchedule<'a> {
        let decisive: Vec<Vec<Metric>> = plan.cases.iter().map(decisive_metrics).collect();
        let cases = decisive
            .iter()
            .map(|metrics| CaseProgress {
                values: vec![Vec::new(); metrics.len()],
                ..CaseProgress::default()
            })
            .collect();
        let mut schedule =
            RoundSchedule { plan, spec, decisive, cases, open: BTreeSet::new(), first_case: 0 };
        (0..schedule.cases.len()).for_each(|case| schedule.look_at(case));
        schedule
    }

    /// After anything happened to a case.
    fn look_at(&mut self, case: usize) {
        if self.needs_more(case) {
            self.open.insert(case);
        } else {
            self.open.remove(&case);
        }
    }

    /// The same for the cases from this one on.
    pub fn starting_at(self, first_case: usize) -> RoundSchedule<'a> {
        RoundSchedule { first_case, ..self }
    }

    /// What an interrupted run already measured, and which cases it gave up.
    pub fn recalling(mut self, run: &Run) -> RoundSchedule<'a> {
        for case in &self.plan.cases {
            let own = run.samples.of_case(case.index);
            let mut rounds: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
            for sample in own.iter() {
                rounds.entry(sample.round).or_default().push(sample);
            }
            for (round, samples) in rounds {
                self.measured(case.index, round, &samples, Duration::ZERO);
            }
        }
        self.plan.given_up().into_iter().for_each(|case| self.give_up(case));
        self
    }

    /// Takes in one visit's samples.
    pub fn measured(&mut self, case: usize, round: u32, samples: &[&Sample], took: Duration) {
        let point = &self.plan.cases[case].point;
        let progress = &mut self.cases[case];
        for (metric, values) in self.decisive[case].iter().zip(&mut progress.values) {
            values.extend(sample::round_value(samples, metric, point));
        }
        progress.rounds.insert(round);
        progress.used += usize::from(samples.iter().any(|sample| sample.usable()));
        progress.failures_in_a_row = 0;
        progress.failing_since = None;
        match progress.rounds.len() {
            1 => progress.first_visit = took,
            _ => progress.longest_visit = progress.longest_visit.max(took),
        }
        self.look_at(case);
    }

    /// Takes in a failed visit; true when the case is now given up.
    pub fn failed(&mut self, case: usize) -> bool {
        let progress = &mut self.cases[case];
        progress.failures_in_a_row += 1;
        let since = *progress.failing_since.get_or_insert_with(Instant::now);
        let worked = !progress.rounds.is_empty();
        if progress.failures_in_a_row >= FAILURES_ALLOWED && (!worked || since.elapsed() >= OUTAGE) {
            progress.given_up = true;
        }
        self.look_at(case);
        self.given_up(case)
    }

    /// The case cannot be measured here.
    pub fn give_up(&mut self, case: usize) {
        self.cases[case].given_up = true;
        self.look_at(case);
    }

    pub fn has_rounds(&self, case: usize) -> bool {
        !self.cases[case].rounds.is_empty()
    }

    fn given_up(&self, case: usize) -> bool {
        self.cases[case].given_up
    }

    /// Cases that are not yet as precise as asked and may still become so.
    pub fn pending(&self) -> impl Iterator<Item = usize> {
        self.open.range(self.first_case..).copied()
    }

    /// Is any case of the whole plan not yet as precise as asked?
    pub fn unfinished(&self) -> bool {
        !self.open.is_empty()
    }

    /// The pending cases that this round has not visited.
    pub fn due(&self, round: u32) -> Vec<usize> {
        self.pending().filter(|case| !self.cases[*case].rounds.contains(&round)).collect()
    }

    fn needs_more(&self, case: usize) -> bool {
        let Spec { precision, confidence, min_rounds, max_rounds, .. } = *self.spec;
        let progress = &self.cases[case];
        // A machine that is disturbed all the time is visited twice as often, and no more.
        let visits = MOST_VISITS_PER_ROUND * max_rounds as usize;
        if self.given_up(case) || progress.used >= max_rounds as usize || progress.rounds.len() >= visits {
            return false;
        }
        progress.used < min_rounds as usize
            || progress
                .values
                .iter()
                .filter(|values| !values.is_empty())
                .any(|values| stats::needs_more(values, precision, confidence, min_rounds, max_rounds))
    }

    /// How long the next visit may take.
    pub fn expected(&self, case: usize) -> Duration {
        let CaseProgress { first_visit, longest_visit, .. } = self.cases[case];
        let seen = [longest_visit, first_visit].into_iter().find(|time| !time.is_zero());
        seen.unwrap_or_else(|| self.plan.visit_time(case, self.spec))
    }

    /// The first decisive metric and its estimate so far.
    pub fn estimate(&self, case: usize) -> (&'static str, Option<Estimate>) {
        match (self.decisive[case].first(), self.cases[case].values.first()) {
            (Some(metric), Some(values)) => {
                (metric.id, stats::median_interval(values, self.spec.confidence, metric.unit))
            }
            _ => ("", None),
        }
    }
}

fn decisive_metrics(case: &Case) -> Vec<Metric> {
    let Some(probe) = probe::find(&case.probe) else { return Vec::new() };
    let wanted = probe.decisive();
    probe.metrics().into_iter().filter(|m| wanted.contains(&m.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One case of three rounds at most, and two at least.
    fn spec() -> (Spec, Plan) {
        let mut spec = Spec::named("os").expect("built in");
        spec.probes.truncate(1);
        (spec.min_rounds, spec.max_rounds) = (2, 3);
        let plan = Plan::make_within(&spec, None).expect("a plan");
        (spec, plan)
    }

    fn sample(marks: &[&str]) -> Sample {
        let marks = marks.iter().map(|mark| mark.to_string()).collect();
        Sample { verified: true, marks, ..Sample::default() }
    }

    #[test]
    fn a_round_of_which_nothing_is_used_is_made_up_for() {
        let (spec, plan) = spec();
        let mut schedule = RoundSchedule::new(&plan, &spec);
        let (clean, marked) = (sample(&[]), sample(&["stopped"]));
        schedule.measured(0, 0, &[&marked, &marked], Duration::ZERO);
        assert!(schedule.has_rounds(0) && !schedule.due(0).contains(&0), "it ran in this round");
        schedule.measured(0, 1, &[&marked, &clean], Duration::ZERO);
        assert!(schedule.due(2).contains(&0), "one usable round of two");
        schedule.measured(0, 2, &[&clean, &clean], Duration::ZERO);
        assert!(!schedule.due(3).contains(&0), "as many as asked for, and nothing in them varies");
    }

    #[test]
    fn a_machine_that_is_always_disturbed_comes_to_an_end() {
        let (spec, plan) = spec();
        let mut schedule = RoundSchedule::new(&plan, &spec);
        let marked = sample(&["steal"]);
        for round in 0..5 {
            assert!(schedule.due(round).contains(&0), "round {round}");
            schedule.measured(0, round, &[&marked], Duration::ZERO);
        }
        schedule.measured(0, 5, &[&marked], Duration::ZERO);
        assert!(!schedule.due(6).contains(&0), "twice the three rounds asked for");
    }
}
