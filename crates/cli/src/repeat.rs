//! `run --repeat N`: one experiment, so many times, into one group directory.
//!
//! Every run is a new process of this program: a run gives up the rights that its rounds do not need, and what one
//! process got by chance (where its memory lies) is no property of the experiment.

use crate::args::{Global, RunArgs};
use crate::{asked, output, run};
use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use syscost_core::units::count;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RECORD;
use syscost_experiment::run::group::{GroupRecord, member};
use syscost_sys::clock::unix_ns;
use syscost_sys::{process, program, signals, sleep};

/// How often the end of a run is looked for: a run takes seconds.
const LOOK: Duration = Duration::from_millis(200);
/// A run ends so when a case failed, or somebody ended it: others follow, unless it was asked to stop.
const SOME_FAILED: i32 = 1;

/// What a group is measured with.
pub struct Repeated<'a> {
    pub group: PathBuf,
    pub runs: u32,
    /// The arguments of each run, without where it goes.
    pub arguments: Vec<OsString>,
    pub group_name: String,
    pub global: &'a Global,
}

pub fn run(
    args: &RunArgs,
    runs: u32,
    matches: &ArgMatches,
    global: &Global,
    command: Vec<String>,
) -> Result<ExitCode> {
    let spec = asked::spec(&args.asked, matches)?;
    let group = args.out.clone().map_or_else(|| run::default_dir(&spec.name), Ok)?;
    let directory = OpenDirectory::make(&group)?;
    if std::fs::read_dir(&group)?.next().is_some() {
        bail!("{} is not empty: a group of runs needs a new directory", group.display());
    }
    let mut names = run::names(&args.names);
    let group_name = names.group.get_or_insert_with(|| name_of(&group)).clone();
    GroupRecord::new(unix_ns(), command, names, runs, spec).write(&directory)?;
    let arguments = without(std::env::args_os().skip(1), &["--repeat", "--out", "--group"]);
    let repeated = Repeated { group: group.clone(), runs, arguments, group_name, global };
    let status = repeated.measure()?;
    if global.json {
        output::print_json_line(
            &json!({ "event": "group_written", "dir": group, "runs": repeated.measured() }),
        )?;
    } else {
        let next = format!("Compare: syscost compare {} -- OTHER_GROUP", group.display());
        output::print(&format!("{}: {}\n{next}\n", group.display(), count(repeated.measured(), "run")))?;
    }
    Ok(status)
}

fn name_of(group: &Path) -> String {
    let whole = group.canonicalize().unwrap_or_else(|_| group.into());
    whole.file_name().map_or_else(|| "group".into(), |name| name.to_string_lossy().into_owned())
}

impl Repeated<'_> {
    /// All runs, one after the other: success where each was one.
    pub fn measure(&self) -> Result<ExitCode> {
        signals::catch().context("cannot catch Ctrl-C")?;
        let mut status = ExitCode::SUCCESS;
        for number in 1..=self.runs {
            if !self.global.quiet {
                output::complain(&format!("run {number} of {}", self.runs));
            }
            match self.once(number)?.code() {
                Some(0) => {}
                Some(SOME_FAILED) => status = ExitCode::FAILURE,
                code => bail!(
                    "run {number} of {} ended with {}",
                    self.runs,
                    code.map_or("a signal".into(), |code| format!("exit status {code}"))
                ),
            }
            if signals::caught() {
                return Ok(ExitCode::FAILURE);
            }
        }
        Ok(status)
    }

    fn measured(&self) -> usize {
        (1..=self.runs).filter(|number| member(&self.group, *number).join(RECORD).exists()).count()
    }

    fn once(&self, number: u32) -> Result<ExitStatus> {
        let mut command = Command::new(program::path());
        command.args(&self.arguments).arg("--out").arg(member(&self.group, number));
        command.arg(format!("--group={}", self.group_name));
        // Its report is in its directory; events are for whoever asked for them.
        command.stdout(if self.global.json { Stdio::inherit() } else { Stdio::null() });
        // A Ctrl-C of the terminal is for this process, which passes it on once: a second one ends a run at once.
        command.process_group(0);
        process::die_with_parent_on_exec(&mut command);
        let mut child = command.spawn().context("cannot start a run")?;
        end_of(&mut child)
    }
}

fn end_of(child: &mut Child) -> Result<ExitStatus> {
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if signals::caught() && !std::mem::replace(&mut told, true) {
            let id = Pid::from_child(child);
            kill_process(id, Signal::TERM).context("cannot stop the run")?;
        }
        sleep::sleep(LOOK);
    }
}

/// The arguments without these options and their values.
fn without(arguments: impl Iterator<Item = OsString>, options: &[&str]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        let with_value =
            options.iter().any(|option| text.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')));
        if options.contains(&text.as_ref()) {
            arguments.next();
        } else if !with_value {
            kept.push(argument);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_gets_the_arguments_but_for_where_it_goes() {
        let given = "run timer --repeat 3 --out=x --label base --group g --only-out 1";
        let kept = without(given.split(' ').map(OsString::from), &["--repeat", "--out", "--group"]);
        assert_eq!(kept, ["run", "timer", "--label", "base", "--only-out", "1"].map(OsString::from));
    }

    #[test]
    fn a_group_is_named_by_its_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let group = scratch.path().join("base");
        std::fs::create_dir(&group).unwrap();
        assert_eq!(name_of(&group.join(".")), "base");
    }
}
