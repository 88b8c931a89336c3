//! A check: every case once, every byte verified, nothing timed and nothing written.

use super::{Event, OWN_PATIENCE, PATIENCE};
use crate::worker::path::Paths;
use crate::worker::{self, RoundError, RoundOptions};
use anyhow::{Context, Result};
use syscost_experiment::plan::{Case, Plan, Skip};
use syscost_experiment::run::{Failure, State};
use syscost_host::scratch::Scratch;
use syscost_measure::probe::{self, Timing};
use syscost_sys::{random, signals};

const TIMING: Timing = Timing { warmup_ns: 1_000_000, window_ns: 2_000_000, windows: 1 };

type Watch<'w> = dyn FnMut(&Event<'_>) + 'w;

/// What became of the cases that a pass has no result of.
#[derive(Debug, Default)]
pub struct UnfinishedCases {
    pub failures: Vec<Failure>,
    /// Cases that turned out to be impossible here.
    pub skips: Vec<Skip>,
    /// How many an interruption came before.
    pub unreached: usize,
    /// How many were done.
    pub done: usize,
}

impl UnfinishedCases {
    /// How the pass ended.
    pub fn state(&self) -> State {
        match (self.unreached, self.done) {
            (0, 0) => State::NothingMeasured,
            (0, _) => State::Complete,
            _ => State::Interrupted,
        }
    }
}

/// Runs every case once, verifying every byte; times nothing and writes nothing.
pub fn check(plan: &Plan, watch: &mut Watch<'_>) -> Result<UnfinishedCases> {
    each_case(plan, |_| true, watch, &mut |case, paths, scratch, watch| {
        let own = !probe::own_code(&case.point).is_empty();
        let patience = if own { OWN_PATIENCE } else { PATIENCE };
        let options = RoundOptions::of(TIMING, patience, &signals::caught);
        let options = RoundOptions { verify_all: true, ..options };
        worker::round(case, &options, paths, scratch)?;
        watch(&Event::CaseDone { case, rounds: 1, metric: "", estimate: None });
        Ok(())
    })
}

/// What is done with a case that is visited once, untimed.
pub(crate) type Visit<'v> =
    dyn FnMut(&Case, &mut Paths, &mut Scratch, &mut Watch<'_>) -> Result<(), RoundError> + 'v;

/// Visits the chosen cases of a plan once each, controls left out, until somebody interrupts.
pub(crate) fn each_case(
    plan: &Plan,
    chosen: impl Fn(&Case) -> bool,
    watch: &mut Watch<'_>,
    visit: &mut Visit<'_>,
) -> Result<UnfinishedCases> {
    signals::catch().context("cannot catch Ctrl-C")?;
    let mut paths = Paths::new(&random::token().context("the kernel gives no random numbers")?[..6]);
    let mut scratch = Scratch::default();
    watch(&Event::Started { cases: plan.cases.len(), skips: plan.skips.len(), estimate_ns: 0 });
    let cases: Vec<&Case> = plan.cases.iter().filter(|case| case.twin_of.is_none() && chosen(case)).collect();
    let unfinished = visited(&cases, watch, &mut |case, watch| {
        if signals::caught() {
            Err(RoundError::Interrupted)
        } else {
            visit(case, &mut paths, &mut scratch, watch)
        }
    });
    watch(&Event::Finished { state: unfinished.state() });
    Ok(unfinished)
}

/// One case after the other, until one is interrupted.
fn visited(
    cases: &[&Case],
    watch: &mut Watch<'_>,
    visit: &mut dyn FnMut(&Case, &mut Watch<'_>) -> Result<(), RoundError>,
) -> UnfinishedCases {
    let mut unfinished = UnfinishedCases::default();
    for (place, case) in cases.iter().enumerate() {
        match visit(case, watch) {
            Ok(()) => unfinished.done += 1,
            Err(RoundError::Interrupted) => {
                unfinished.unreached = cases.len() - place;
                break;
            }
            Err(RoundError::Unavailable(why)) => {
                watch(&Event::CaseSkipped { case, why: &why });
                unfinished.skips.push(Skip { probe: case.probe.clone(), point: case.point.clone(), why });
            }
            Err(error) => {
                let message = error.to_string();
                watch(&Event::CaseFailed { round: 0, case, message: &message });
                unfinished.failures.push(Failure { case: case.index, round: 0, message });
            }
        }
    }
    unfinished
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_experiment::spec::{DEFAULT, Spec};

    /// A pass that was stopped read as one that was complete.
    #[test]
    fn cases_that_an_interruption_came_before_are_counted() {
        let plan = Plan::make_within(&Spec::named(DEFAULT).expect("built in"), None).expect("a plan");
        let cases: Vec<&Case> = plan.cases.iter().take(5).collect();
        let unfinished = visited(&cases, &mut |_| {}, &mut |case, _| match case.index {
            0 => Ok(()),
            1 => Err(RoundError::Failed("gone".into())),
            _ => Err(RoundError::Interrupted),
        });
        assert_eq!((unfinished.failures.len(), unfinished.skips.len(), unfinished.unreached), (1, 0, 3));
    }
}
