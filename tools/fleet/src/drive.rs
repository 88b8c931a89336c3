//! Starts steps where no engine does it: stage by stage, in processes of this machine.

use crate::folder::FleetFolder;
use crate::plan::FleetStep;
use anyhow::{Context, Result};
use std::fs::OpenOptions;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use syscost_sys::{process, program, signals, sleep};

/// How often the end of a step is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driven {
    pub done: usize,
    pub failed: usize,
    pub before: usize,
}

/// Steps that are not done, so many of a stage at once; `prepare` says where each runs.
pub fn steps(
    folder: &FleetFolder,
    at_once: usize,
    prepare: impl Fn(&FleetStep, &mut Command) -> Result<()>,
    mut tell: impl FnMut(&FleetStep, bool),
) -> Result<Driven> {
    signals::catch().context("cannot catch Ctrl-C")?;
    let all = folder.plan.steps()?;
    let mut driven = Driven::default();
    for stage in all.chunk_by(|a, b| a.stage == b.stage) {
        let open: Vec<&FleetStep> = stage.iter().filter(|step| !folder.is_done(step)).collect();
        driven.before += stage.len() - open.len();
        for together in open.chunks(at_once.max(1)) {
            let mut running = Vec::new();
            for step in together {
                running.push((*step, start(folder, step, &prepare)?));
            }
            for (step, mut child) in running {
                let done = ended(&mut child)? && folder.is_done(step);
                if done {
                    driven.done += 1
                } else {
                    driven.failed += 1
                }
                tell(step, done);
            }
            if signals::caught() {
                return Ok(driven);
            }
        }
    }
    Ok(driven)
}

fn start(
    folder: &FleetFolder,
    step: &FleetStep,
    prepare: &impl Fn(&FleetStep, &mut Command) -> Result<()>,
) -> Result<Child> {
    let path = folder.log_of(step);
    let log = OpenOptions::new().create(true).append(true).open(&path);
    let log = log.with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = Command::new(program::path());
    command.args(["fleet", "step"]).arg(&folder.place).arg(step.number.to_string());
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    process::die_with_parent_on_exec(&mut command);
    prepare(step, &mut command)?;
    command.spawn().with_context(|| format!("cannot start step {}", step.number))
}

fn ended(child: &mut Child) -> Result<bool> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        sleep::sleep(LOOK);
    }
}
