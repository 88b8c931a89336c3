//! `run`: measures an experiment into a directory, writes its report there, and says how it went.

use crate::args::{Global, RunArgs};
use crate::baseline::RUNS;
use crate::compare::Telling;
use crate::export::Exports;
use crate::progress::Progress;
use crate::side_args::NameArgs;
use crate::{asked, axes, baseline, compare, output, refine, report, status};
use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use syscost_core::units::{count, utc};
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Record, Run, RunNames, State};
use syscost_experiment::spec::Spec;
use syscost_harness::rights::RunRights;
use syscost_harness::worker::path::another_host;
use syscost_harness::{Event, Part, RunOptions};
use syscost_host::remote::patience;
use syscost_measure::probe::own_command::OWN_COMMAND;
use syscost_sys::baton::Baton;
use syscost_sys::optional;

/// From argv to a spec, its plan, workers that fill the run directory, cells and answers, and what renders them.
pub fn run(args: &RunArgs, matches: &ArgMatches, global: &Global, command: Vec<String>) -> Result<ExitCode> {
    let baton = baton(&args.names)?;
    // A mistyped baseline or file is told before a minute is measured.
    let exports = args.exports.checked(global.json)?;
    let base = args.names.baseline.as_deref().map(baseline::runs_at).transpose()?;
    let begun = Instant::now();
    if let Some(flag) = axes::any(matches).filter(|_| args.resume.is_some()) {
        bail!("--{flag} cannot be used with --resume: a resumed run keeps its cases");
    }
    let Asked { out, resume, spec, mut plan, command } = match &args.resume {
        Some(dir) => recorded(dir, args, command)?,
        None => planned(args, matches, command)?,
    };
    plan.side_by_side = baton.is_some();
    warn_of_unreached(&plan);
    // Other hosts may have been waited for: the limit is of the whole command.
    let limit = spec.time_limit().saturating_sub(begun.elapsed());
    let part = Some(Part { first_case: 0, limit });
    let mut progress = Progress::new(&plan, global, false);
    let rights = RunRights::of(&plan, &spec, &out, args.profile);
    optional::SET_RIGHTS.tried(rights.keep_for_setting_up());
    let names = names(&args.names);
    let profile = args.profile;
    let options = RunOptions { out: out.clone(), resume, spec, plan, command, names, profile, part, baton };
    let measured = refine::measure(options, &mut |event| {
        if let Event::RoundStarted { .. } = event {
            optional::SET_RIGHTS.tried(rights.keep_for_rounds());
        }
        progress.show(event);
    });
    let run = measured.inspect_err(|_| leave_nothing(args.out.as_deref(), &out))?;
    if !args.no_report {
        report::written(&run, &out, Some(global), &exports, json!({}))?;
    }
    if args.no_report || global.json {
        warn_of_unmeasured(&run, &out);
    }
    if let Some(base) = base {
        let exports = &Exports::default();
        compare::told(&base, &[out], Telling { out: None, all: false, exports }, global)?;
    }
    outcome(&run, args.strict)
}

/// What the user calls it.
pub fn names(args: &NameArgs) -> RunNames {
    let NameArgs { label, group, revision, turn, variants: _, baton: _, save_baseline, baseline: _ } = args;
    let label = label.as_ref().or(save_baseline.as_ref());
    RunNames { label: label.cloned(), group: group.clone(), revision: revision.clone(), turn: turn.clone() }
}

/// The line by which this run takes turns with another, once it has its first turn.
fn baton(args: &NameArgs) -> Result<Option<Rc<Baton>>> {
    let Some(number) = args.baton else { return Ok(None) };
    let baton = Baton::inherited(number).context("--baton: syscost sets it by itself")?;
    baton.pass().context("the process that runs this beside another is gone")?;
    Ok(Some(Rc::new(baton)))
}

/// What is measured, and where it goes.
struct Asked {
    out: PathBuf,
    /// Is it there already?
    resume: bool,
    spec: Spec,
    plan: Plan,
    command: Vec<String>,
}

fn planned(args: &RunArgs, matches: &ArgMatches, command: Vec<String>) -> Result<Asked> {
    let spec = asked::spec(&args.asked, matches)?;
    // A host that keeps silent leaves time for the cases that need none.
    patience::end_by(Instant::now() + spec.time_limit() / 2);
    let plan = Plan::make(&spec)?;
    refuse_nothing(&plan)?;
    let out = match (&args.out, &args.names.save_baseline) {
        (Some(out), _) => out.clone(),
        (None, Some(name)) => new_dir(&baseline::place(name), &spec.name)?,
        (None, None) => default_dir(&spec.name)?,
    };
    Ok(Asked { out, resume: false, spec, plan, command })
}

/// The recorded experiment again; only the time limit may differ.
fn recorded(dir: &Path, args: &RunArgs, command: Vec<String>) -> Result<Asked> {
    let Record { mut spec, plan, .. } = RunDir::record(dir)?;
    if plan.cases.iter().any(|case| case.probe == OWN_COMMAND.id) {
        bail!(
            "{} is a record of syscost cmp, which cannot go on: measure again with another --out",
            dir.display()
        );
    }
    if let Some(text) = &args.asked.time_limit {
        spec.time_limit_ns = asked::time_limit_ns(text)?;
        spec.validate()?;
    }
    Ok(Asked { out: dir.to_path_buf(), resume: true, spec, plan, command })
}

/// Each host that was asked for and is not in the plan, once.
fn warn_of_unreached(plan: &Plan) {
    let skips = plan.skips.iter().filter(|skip| another_host(&skip.point).is_some());
    let said: BTreeSet<String> =
        skips.map(|skip| format!("warning: {}; {}", skip.why.reason, skip.why.remedy)).collect();
    said.iter().for_each(|warning| output::complain(warning));
}

fn warn_of_unmeasured(run: &Run, out: &Path) {
    let left = unmeasured(run);
    let nothing = run.record.state == State::NothingMeasured && run.record.failures.is_empty();
    if left > 0 && (nothing || run.record.state == State::TimeLimit) {
        output::complain(&format!(
            "warning: {left} of {} not measured: the time limit was over before: syscost run --resume {} --time-limit \
             LONGER",
            count(run.record.plan.cases.len(), "case"),
            out.display()
        ));
    }
}

/// A plan with nothing to run is an answer, but not a run.
pub fn refuse_nothing(plan: &Plan) -> Result<()> {
    if !plan.cases.is_empty() {
        return Ok(());
    }
    Err(status::because("no case of this experiment can run here".into(), &plan.skips, &[]))
}

/// Good: every planned case was measured or found to be impossible here, and nobody cut it short. Rounds may have failed.
fn outcome(run: &Run, strict: bool) -> Result<ExitCode> {
    let Record { state, plan, failures, .. } = &run.record;
    let missed = unmeasured(run) > 0 || strict && !plan.skips.is_empty();
    status::of(*state, missed, || status::nothing("measured", plan, &plan.skips, failures))
}

/// Cases that have no verified sample, and are not known to be impossible here.
fn unmeasured(run: &Run) -> usize {
    let plan = &run.record.plan;
    let given_up = plan.given_up();
    let measured = |case: &Case| run.samples.verified(case.index) || given_up.contains(&case.index);
    plan.cases.iter().filter(|case| !measured(case)).count()
}

pub fn default_dir(name: &str) -> Result<PathBuf> {
    new_dir(Path::new(RUNS), name)
}

/// Makes `20261121T090000Z-default`, or `..-default-2` where another run began in that second.
fn new_dir(place: &Path, name: &str) -> Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{}-{name}", stamp(now.as_secs()));
    Ok(OpenDirectory::make(place)?.make_another(&name)?)
}

/// A directory of our own choice into which nothing came is no run.
pub fn leave_nothing(asked: Option<&Path>, out: &Path) {
    if asked.is_none() {
        let _ = std::fs::remove_dir(out);
    }
}

/// ISO 8601 in its basic form, which sorts by time and needs no escaping.
fn stamp(unix_seconds: u64) -> String {
    utc(unix_seconds).replace(['-', ':'], "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Point;
    use syscost_experiment::plan::Skip;
    use syscost_host::Unavailable;

    #[test]
    fn directories_are_named_by_time() {
        assert_eq!(stamp(951_782_399), "20000228T235959Z");
    }

    #[test]
    fn one_case_that_cannot_run_is_not_called_several() {
        let why = Unavailable { reason: "no such thing".into(), remedy: "none".into() };
        let skip = Skip { probe: "p".into(), point: Point::default(), why };
        let skipped = |n: usize| Plan { skips: vec![skip.clone(); n], ..Plan::default() };
        let said = |n| refuse_nothing(&skipped(n)).unwrap_err().to_string();
        assert_eq!(said(1), "no case of this experiment can run here. 1 case: no such thing -> none");
        assert!(said(2).contains("2 cases: "), "{}", said(2));
    }
}
