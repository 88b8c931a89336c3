//! What `check`, `audit` and `profile` share: a plan whose cases are visited once, untimed, and what was left over of it.

use crate::args::Global;
use crate::experiment_args::ExperimentArgs;
use crate::label::Labels;
use crate::output::{self, Paint, entry};
use crate::progress::Progress;
use crate::{asked, plan as plan_command, run as run_command};
use anyhow::Result;
use clap::ArgMatches;
use std::path::Path;
use syscost_experiment::plan::Plan;
use syscost_harness::{UnfinishedCases, audit::audited, rights};

/// The cases of an experiment; without one, the transfers of the default study, with these values on the axes that no flag
/// names. `every`: also cases that only repeat another's way to move data.
pub fn plan(
    experiment: Option<String>,
    defaults: &[(&str, &str)],
    every: bool,
    matches: &ArgMatches,
) -> Result<Plan> {
    let chosen = experiment.is_some();
    let mut spec = asked::spec(&ExperimentArgs { experiment, ..ExperimentArgs::default() }, matches)?;
    for (flag, values) in defaults.iter().filter(|(flag, _)| !chosen && !matches.contains_id(flag)) {
        spec.set_axis(flag, &[values])?;
    }
    let mut plan = Plan::make(&spec)?;
    plan.cases.retain(|case| case.twin_of.is_none() && (every || audited(case)));
    for (index, case) in plan.cases.iter_mut().enumerate() {
        case.index = index;
    }
    Ok(plan)
}

/// Before the first case: rights that no case needs are given up. `counts`: inside the kernel; `place`: where files go.
pub fn begin(plan: &Plan, place: Option<&Path>, counts: bool, global: &Global) -> Result<Progress> {
    run_command::refuse_nothing(plan)?;
    // A sandbox may refuse it: then the command has the rights that it was started with.
    if let Err(error) = rights::keep_for_one_pass(plan, place, counts) {
        output::complain(&format!("warning: rights that are not needed could not be given up: {error}"));
    }
    Ok(Progress::new(plan, global, true))
}

/// What failed, what was skipped, and what an interruption left, a line each.
pub fn left_over(plan: &Plan, unfinished: &UnfinishedCases, indent: usize, paint: Paint) -> String {
    let labels = Labels::of(plan);
    let mut text = String::new();
    for failure in &unfinished.failures {
        let label = plan.cases.get(failure.case).map(|case| labels.case(case)).unwrap_or_default();
        text += &entry(&paint.red("failed"), indent, &format!("{label}: {}", failure.message));
    }
    for what in plan_command::skipped(&unfinished.skips) {
        text += &entry(&paint.yellow("skipped"), indent, &what);
    }
    if let Some(what) = plan_command::unreached(plan, unfinished.unreached) {
        text += &entry(&paint.yellow("stopped"), indent, &what);
    }
    text
}
