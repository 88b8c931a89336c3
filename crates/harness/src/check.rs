//! A check: every case once, every byte verified, nothing timed and nothing written.

use super::{Event, PATIENCE};
use crate::worker::path::Paths;
use crate::worker::{self, RoundError, RoundOptions};
use anyhow::{Context, Result};
use syscost_experiment::plan::{Case, Plan, Skip};
use syscost_experiment::run::{Failure, State};
use syscost_host::scratch::Scratch;
use syscost_measure::probe::Timing;
use syscost_sys::{random, signals};

const TIMING: Timing = Timing { warmup_ns: 1_000_000, window_ns: 2_000_000, windows: 1 };

type Watch<'w> = dyn FnMut(&Event<'_>) + 'w;

/// Runs every case once, verifying every byte; times nothing and writes nothing. Returns the
/// failures, and the cases that turned out to be impossible here.
pub fn check(plan: &Plan, watch: &mut Watch<'_>) -> Result<(Vec<Failure>, Vec<Skip>)> {
    each_case(plan, |_| true, watch, &mut |case, paths, scratch, watch| {
        let options = RoundOptions::of(TIMING, PATIENCE, &signals::caught);
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
) -> Result<(Vec<Failure>, Vec<Skip>)> {
    signals::catch().context("cannot catch Ctrl-C")?;
    let mut paths = Paths::new(&random::token().context("the kernel gives no random numbers")?[..6]);
    let mut scratch = Scratch::default();
    let (mut failures, mut skips) = (Vec::new(), Vec::new());
    watch(&Event::Started { cases: plan.cases.len(), skips: plan.skips.len(), estimate_ns: 0 });
    for case in plan.cases.iter().filter(|case| case.twin_of.is_none() && chosen(case)) {
        match visit(case, &mut paths, &mut scratch, watch) {
            Ok(()) => {}
            Err(RoundError::Interrupted) => break,
            Err(RoundError::Unavailable(why)) => {
                watch(&Event::CaseSkipped { case, why: &why });
                skips.push(Skip { probe: case.probe.clone(), point: case.point.clone(), why });
            }
            Err(error) => {
                let message = error.to_string();
                watch(&Event::CaseFailed { round: 0, case, message: &message });
                failures.push(Failure { case: case.index, round: 0, message });
            }
        }
    }
    let state = if signals::caught() { State::Interrupted } else { State::Complete };
    watch(&Event::Finished { state });
    Ok((failures, skips))
}
