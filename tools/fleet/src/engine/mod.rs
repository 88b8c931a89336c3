//! What starts, places, retries and limits the steps of a fleet: one file an engine, and one line here.

mod kubernetes;
pub mod local;
mod slurm;

use crate::folder::FleetFolder;
use crate::plan::{FleetPlan, FleetStep};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a program that is asked for one thing may say: more is of no use.
const MOST_SAID: usize = 4 << 20;

pub trait Engine: Sync {
    fn id(&self) -> &'static str;
    /// For `--help`.
    fn about(&self) -> &'static str;
    /// The files that it takes: name and text.
    fn files(&self, plan: &FleetPlan, steps: &[FleetStep], place: &Path) -> Result<Vec<(String, String)>>;
    /// `--path` of a pair, as its sender runs it.
    fn path(&self, folder: &FleetFolder, sender: &str, receiver: &str) -> Result<String>;
    /// Hands the fleet over: what to tell the user.
    fn submit(&self, folder: &FleetFolder) -> Result<String>;
    /// What the engine says of it, a line each.
    fn status(&self, _: &FleetFolder) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// What is alike of hosts, where the engine tells: host -> kind.
    fn strata(&self, _: &[String]) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Hosts that it does not know; `None`: it cannot be asked here.
    fn unknown(&self, _: &[String]) -> Option<Vec<String>> {
        None
    }
}

pub static ALL: &[&dyn Engine] = &[&slurm::Slurm, &kubernetes::Kubernetes, &local::Local];

pub fn find(id: &str) -> Result<&'static dyn Engine> {
    let known = ALL.iter().find(|engine| engine.id() == id).copied();
    known.with_context(|| format!("there is no engine {id:?}: slurm, kubernetes or local"))
}

/// What a program says; an error with its own words where it fails.
fn said(program: &str, arguments: &[&str], package: &str) -> Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{program} is not here: run this where {package} is, or use --engine local")
        }
        other => other.with_context(|| format!("cannot start {program}"))?,
    };
    if !status.success() {
        let words = String::from_utf8_lossy(&stderr);
        let first = words.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says no reason");
        bail!("{program} refused: {}", first.trim());
    }
    if stdout.len() > MOST_SAID {
        bail!("{program} says more than {MOST_SAID} bytes");
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}
