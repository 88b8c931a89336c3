//! No engine: hosts are network namespaces of this machine, and steps follow each other. For a first look.

use super::Engine;
use crate::drive;
use crate::folder::FleetFolder;
use crate::namespaces;
use crate::plan::{FleetPlan, FleetStep};
use anyhow::{Context, Result, bail};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use syscost_sys::{namespace, process, program};

/// The process whose mounts hold the names of hosts.
pub const SUBCOMMAND: &str = "fleet-local";

pub struct Local;

impl Engine for Local {
    fn id(&self) -> &'static str {
        "local"
    }

    fn about(&self) -> &'static str {
        "Namespaces of this machine, one step at a time: a first look"
    }

    fn files(&self, plan: &FleetPlan, _: &[FleetStep], _: &Path) -> Result<Vec<(String, String)>> {
        let hosts = plan.hosts()?.len();
        if hosts > namespaces::MOST {
            bail!("--engine local takes up to {} hosts, not {hosts}", namespaces::MOST);
        }
        Ok(Vec::new())
    }

    fn path(&self, _: &FleetFolder, _: &str, receiver: &str) -> Result<String> {
        Ok(format!("netns:{receiver}"))
    }

    fn submit(&self, folder: &FleetFolder) -> Result<String> {
        let mut command = Command::new(program::path());
        command.arg(SUBCOMMAND).arg(&folder.place);
        process::die_with_parent_on_exec(&mut command);
        let status = command.status().context("cannot start this program again")?;
        match status.code() {
            Some(0) => Ok("every step is done".into()),
            Some(1) => Ok("some steps failed: syscost fleet status says which".into()),
            _ => bail!("the steps were not measured"),
        }
    }
}

/// The whole of that process: 0 where every step is done.
pub fn main() -> i32 {
    let place = std::env::args_os().nth(2).unwrap_or_default();
    match measure(Path::new(&place)) {
        Ok(all) => i32::from(!all),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            2
        }
    }
}

fn measure(place: &Path) -> Result<bool> {
    let folder = FleetFolder::open(place)?;
    let hosts = folder.plan.hosts()?;
    let _held = namespaces::make(&hosts)?;
    let inside = |step: &FleetStep, command: &mut Command| {
        namespace::enter_on_exec(command, None, namespaces::of(&step.host)?.as_fd());
        Ok(())
    };
    let all = folder.plan.steps()?.len();
    let mut number = 0;
    let driven = drive::steps(&folder, 1, inside, |step, done| {
        number += 1;
        let word = if done { "done" } else { "failed" };
        let _ = writeln!(io::stderr(), "{} of {all}: {} {word}", step.number, step.name());
    })?;
    Ok(driven.done + driven.before == all)
}
