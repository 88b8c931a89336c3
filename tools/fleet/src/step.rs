//! One step, where an engine started it: `syscost run` into a directory that is the step's when it is whole.

use crate::engine;
use crate::folder::{ATTEMPT, ENDED, FleetFolder};
use crate::plan::FleetStep;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use syscost_experiment::run::State;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::{RECORD, RunDir};
use syscost_sys::{process, program, random};

/// Measures it; `false`: it was done before.
pub fn run(folder: &FleetFolder, number: usize) -> Result<bool> {
    let steps = folder.plan.steps()?;
    let step = number.checked_sub(1).and_then(|at| steps.get(at));
    let step = step.with_context(|| format!("there is no step {number}: there are {}", steps.len()))?;
    if folder.is_done(step) {
        return Ok(false);
    }
    let token = random::token().context("the kernel gives no random numbers")?;
    OpenDirectory::make(&folder.of_step(step))?;
    let attempt = folder.of_step(step).join(format!("{ATTEMPT}{}", &token[..8]));
    measure(folder, step, &attempt)?;
    whole(&attempt)?;
    match fs::rename(&attempt, folder.run_of(step)) {
        // Another job of the same fleet was faster. Its run counts, this one stays an attempt.
        Err(_) if folder.is_done(step) => Ok(false),
        renamed => renamed.map(|()| true).with_context(|| format!("cannot rename {}", attempt.display())),
    }
}

fn measure(folder: &FleetFolder, step: &FleetStep, out: &Path) -> Result<()> {
    let plan = &folder.plan;
    let mut command = Command::new(program::path());
    command.arg("run").args(plan.run_of(step).split_whitespace());
    if let Some(receiver) = &step.receiver {
        let path = engine::find(&plan.engine)?.path(receiver);
        command.args(["--path", &path]);
    }
    command.arg("--out").arg(out).args(["--quiet", "--label", &step.host, "--group", &plan.id]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    process::die_with_parent_on_exec(&mut command);
    let status = command.status().context("cannot start syscost run")?;
    match status.code() {
        // Where a case failed the others count.
        Some(0 | 1) => Ok(()),
        _ => bail!("{ENDED} {status}"),
    }
}

/// Was everything measured that could be?
fn whole(attempt: &Path) -> Result<()> {
    if !attempt.join(RECORD).exists() {
        bail!("nothing was measured");
    }
    let ended = RunDir::record(attempt)?;
    if !matches!(ended.state, State::Complete | State::TimeLimit) {
        bail!("the run was stopped; what it has measured is in {}", attempt.display());
    }
    if ended.plan.cases.is_empty() {
        let why = ended.plan.skips.into_iter().next().map(|skip| skip.why.reason);
        bail!("error: no case could run: {}", why.unwrap_or_else(|| "every case was skipped".into()));
    }
    Ok(())
}
