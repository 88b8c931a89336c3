//! How a command ends that measures or reports cases: one exit status for all of them, and in words where nothing was measured.

use crate::output::entry;
use crate::plan::skipped;
use anyhow::{Error, Result, anyhow};
use std::process::ExitCode;
use syscost_experiment::plan::{Plan, Skip};
use syscost_experiment::run::{Failure, State};

/// Failures that are told: their messages may differ in nothing but a port.
const MOST_FAILURES: usize = 3;

/// `missed`: something that was planned did not come to its end, or `--strict` and a case was skipped.
pub fn of(state: State, missed: bool, nothing: impl FnOnce() -> Error) -> Result<ExitCode> {
    match state {
        State::NothingMeasured => Err(nothing()),
        State::Interrupted => Ok(ExitCode::FAILURE),
        _ => Ok(ExitCode::from(u8::from(missed))),
    }
}

/// Not one case of a plan: why, and what would help.
pub fn nothing(done: &str, plan: &Plan, skips: &[Skip], failures: &[Failure]) -> Error {
    let cases = plan.cases.iter().filter(|case| case.twin_of.is_none()).count();
    let what = match cases {
        1 => format!("the only case could not be {done}"),
        cases => format!("not one of {cases} cases could be {done}"),
    };
    because(what, skips, failures)
}

/// The error of a command that could do nothing: `what`, then each reason once.
pub fn because(what: String, skips: &[Skip], failures: &[Failure]) -> Error {
    let mut failed: Vec<String> =
        failures.iter().map(|failure| format!("failed: {}", failure.message)).collect();
    failed.dedup();
    failed.truncate(MOST_FAILURES);
    let why: Vec<String> = skipped(skips).chain(failed).collect();
    match why.as_slice() {
        [] => anyhow!(what),
        [one] => anyhow!("{what}. {one}"),
        several => {
            let lines: String = several.iter().map(|why| entry("", 2, why)).collect();
            anyhow!("{what}\n{}", lines.trim_end())
        }
    }
}
