//! The directory of a fleet: its plan, a directory a step, and logs.
//!
//! `runs/STEP/run` is there when the step is done: it got that name when it was whole. What a step that was killed had
//! measured stays beside it as `runs/STEP/attempt-..`.

use crate::plan::{FleetPlan, FleetStep};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use syscost_experiment::run::directory::OpenDirectory;

pub const PLAN: &str = "fleet.toml";
pub const RUNS: &str = "runs";
pub const LOGS: &str = "logs";
pub const DONE: &str = "run";
pub const ATTEMPT: &str = "attempt-";
/// What `collect` writes, and `report` reads.
pub const TABLES: &str = "collected";
/// How the last line of a step begins whose `syscost run` has said why before.
pub const ENDED: &str = "syscost run ended with";
/// Of a log, the end tells.
const LOG_END: usize = 4096;

pub struct FleetFolder {
    pub place: PathBuf,
    pub plan: FleetPlan,
}

impl FleetFolder {
    pub fn open(place: &Path) -> Result<FleetFolder> {
        let path = place.join(PLAN);
        let text = fs::read_to_string(&path).with_context(|| {
            format!(
                "cannot read {} (the directory of `syscost fleet plan`, which every host sees)",
                path.display()
            )
        })?;
        let plan = FleetPlan::read(&text).with_context(|| format!("cannot use {}", path.display()))?;
        Ok(FleetFolder { place: place.into(), plan })
    }

    /// Makes it, new or empty, with the script that its engine starts.
    pub fn make(place: &Path, plan: &FleetPlan, (name, text): (&str, &str)) -> Result<FleetFolder> {
        let folder = OpenDirectory::make(place)?;
        if fs::read_dir(place)?.next().is_some() {
            anyhow::bail!("{} is not empty: a fleet needs a new directory", place.display());
        }
        for inside in [RUNS, LOGS] {
            OpenDirectory::make(&place.join(inside))?;
        }
        folder.replace(name, text.as_bytes())?;
        folder.replace(PLAN, plan.write()?.as_bytes())?;
        Ok(FleetFolder { place: place.into(), plan: plan.clone() })
    }

    pub fn of_step(&self, step: &FleetStep) -> PathBuf {
        self.place.join(RUNS).join(step.name())
    }

    /// Where the step's run is, or will be.
    pub fn run_of(&self, step: &FleetStep) -> PathBuf {
        self.of_step(step).join(DONE)
    }

    pub fn is_done(&self, step: &FleetStep) -> bool {
        self.run_of(step).is_dir()
    }

    pub fn log_of(&self, step: &FleetStep) -> PathBuf {
        self.place.join(LOGS).join(format!("{}.log", step.name()))
    }

    /// How many attempts did not become the step's run.
    pub fn attempts(&self, step: &FleetStep) -> usize {
        let entries = fs::read_dir(self.of_step(step)).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(ATTEMPT)).count()
    }

    /// The last thing that the step, or what was to start it, said.
    pub fn last_words(&self, step: &FleetStep) -> Option<String> {
        let bytes = fs::read(self.log_of(step)).ok()?;
        let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_END)..]).into_owned();
        let lines: Vec<&str> = end.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // Ours and an engine's own last line say only that something ended.
        let says_why = |line: &str| !line.contains("task 0: Exited") && !line.contains(ENDED);
        let telling = lines.iter().rev().find(|line| line.contains("error") && says_why(line));
        telling.or(lines.last()).map(|line| line.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_say_why() {
        let place = tempfile::tempdir().unwrap();
        let plan = FleetPlan {
            id: "a".into(),
            hosts: "n[1-2]".into(),
            engine: "local".into(),
            each: None,
            pairs: Some("all".into()),
            pair_run: "transfer".into(),
            repeats: 1,
            seed: 1,
            binary: "/syscost".into(),
            strata: Default::default(),
        };
        let folder = FleetFolder { place: place.path().into(), plan };
        let step = &folder.plan.steps().unwrap()[0];
        fs::create_dir(place.path().join(LOGS)).unwrap();
        let log =
            format!("error: no such size\nerror: {ENDED} exit status: 2\nsrun: error: n1: task 0: Exited\n");
        fs::write(folder.log_of(step), log).unwrap();
        assert_eq!(folder.last_words(step).as_deref(), Some("error: no such size"));
        fs::write(folder.log_of(step), format!("error: {ENDED} signal: 9\n")).unwrap();
        assert!(folder.last_words(step).unwrap().ends_with("signal: 9"), "nothing else was said");
    }
}
