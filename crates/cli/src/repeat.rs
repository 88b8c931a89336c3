//! `run --repeat N`: one experiment, so many times, into one group directory; with `--variants`, each variant so many times:
//! side by side, slice by slice, or in turns as whole runs.
//!
//! Every run is a new process of this program: a run gives up the rights that its rounds do not need, and what one
//! process got by chance (where its memory lies) is no property of the experiment.

use crate::args::{Global, RunArgs};
use crate::side_by_side;
use crate::{asked, output, run, text_file};
use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use serde_json::json;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use syscost_core::units::count;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RECORD;
use syscost_experiment::run::group::{GroupRecord, member};
use syscost_experiment::variants::{self, Variant};
use syscost_host::remote::consent;
use syscost_sys::clock::unix_ns;
use syscost_sys::{program, random, signals};

/// A run ends so when a case failed, or somebody ended it: others follow, unless it was asked to stop.
const SOME_FAILED: i32 = 1;
/// A file of variants is a page of text.
const LARGEST_FILE: u64 = 1 << 20;
/// What a run of a group is not told, or is told anew.
const OWN: &[&str] = &["--repeat", "--out", "--group", "--variants"];

/// What a group is measured with.
struct Repeated<'a> {
    visits: Vec<GroupVisit>,
    /// The arguments of each run, without where it goes.
    arguments: Vec<OsString>,
    group_name: String,
    global: &'a Global,
    /// The seed of the experiment, where the runs of a turn measure side by side.
    side_by_side: Option<u64>,
}

/// One run of a group.
struct GroupVisit {
    out: PathBuf,
    variant: Variant,
    /// Which other runs were measured beside it.
    turn: Option<String>,
}

pub fn run(
    args: &RunArgs,
    runs: u32,
    matches: &ArgMatches,
    global: &Global,
    command: Vec<String>,
) -> Result<ExitCode> {
    if !args.exports.checked(global.json)?.is_empty() {
        bail!(
            "--repeat makes several runs: export one with `syscost report DIR/run-1`, or all with `syscost compare`"
        );
    }
    let spec = asked::spec(&args.asked, matches)?;
    let variants = args.names.variants.as_deref().map_or_else(|| Ok(vec![]), variants_of)?;
    let group = args.out.clone().map_or_else(|| run::default_dir(&spec.name), Ok)?;
    let directory = OpenDirectory::make(&group)?;
    if std::fs::read_dir(&group)?.next().is_some() {
        bail!("{} is not empty: a group of runs needs a new directory", group.display());
    }
    let mut names = run::names(&args.names);
    let group_name = names.group.get_or_insert_with(|| name_of(&group)).clone();
    let mut record = GroupRecord::new(unix_ns(), command, names, runs, spec);
    record.variants.clone_from(&variants);
    record.write(&directory)?;
    let hindrance = side_by_side::hindrance(&variants, &record.spec);
    if let Some(why) = hindrance.as_ref().filter(|_| !variants.is_empty()) {
        output::complain(&format!("the variants take turns as whole runs: {why}"));
    }
    let side_by_side = (!variants.is_empty() && hindrance.is_none()).then_some(record.spec.seed);
    let mut arguments = without(std::env::args_os().skip(1), OWN);
    if side_by_side.is_some() {
        arguments = without(arguments.into_iter(), &["--seed"]);
    }
    let visits = visits(&group, &variants, runs)?;
    let repeated = Repeated { visits, arguments, group_name, global, side_by_side };
    let status = repeated.measure()?;
    if global.json {
        output::print_json_line(
            &json!({ "event": "group_written", "dir": group, "runs": repeated.measured() }),
        )?;
    } else {
        let next = format!("Compare: syscost compare {}", next(&group, &variants));
        output::print(&format!("{}: {}\n{next}\n", group.display(), count(repeated.measured(), "run")))?;
    }
    Ok(status)
}

/// The sides to name next.
fn next(group: &Path, variants: &[Variant]) -> String {
    let side = |variant: &Variant| group.join(&variant.label).display().to_string();
    match variants {
        [] | [_] => format!("{} -- OTHER_GROUP", group.display()),
        [_, _] => group.display().to_string(),
        [base, other, ..] => format!("{} -- {}", side(base), side(other)),
    }
}

fn variants_of(file: &Path) -> Result<Vec<Variant>> {
    let text = text_file::read(file, LARGEST_FILE, "file of variants", "name the part to compare")?;
    let beside = file.parent().unwrap_or(Path::new(""));
    let about = || format!("cannot use {}", file.display());
    let variants = variants::read(&text, beside).map_err(anyhow::Error::msg).with_context(about)?;
    consent::to_file(variants.iter().flat_map(Variant::commands).collect())?;
    for variant in &variants {
        answers(variant).with_context(about)?;
    }
    Ok(variants)
}

/// A binary that cannot measure is found before the first run.
fn answers(variant: &Variant) -> Result<()> {
    let Some(binary) = &variant.binary else { return Ok(()) };
    let about = || format!("variant {}: cannot start {}", variant.label, binary.display());
    let said = Command::new(binary).arg("--version").envs(&variant.env).output().with_context(about)?;
    let version = String::from_utf8_lossy(&said.stdout);
    if !said.status.success() || !version.starts_with(env!("CARGO_PKG_NAME")) {
        bail!("variant {}: {} is no syscost", variant.label, binary.display());
    }
    Ok(())
}

/// Every run of the group, in the order in which they are measured.
fn visits(group: &Path, variants: &[Variant], runs: u32) -> Result<Vec<GroupVisit>> {
    if variants.is_empty() {
        let alone =
            |number| GroupVisit { out: member(group, number), variant: Variant::default(), turn: None };
        return Ok((1..=runs).map(alone).collect());
    }
    let token = random::token().context("the kernel gives no random numbers")?;
    for variant in variants {
        OpenDirectory::make(&group.join(&variant.label))?;
    }
    let visit = |(number, index): (u32, usize)| {
        let variant: Variant = variants[index].clone();
        let out = member(&group.join(&variant.label), number);
        GroupVisit { out, variant, turn: Some(format!("{token}-{number}")) }
    };
    Ok(variants::order(variants.len(), runs).into_iter().map(visit).collect())
}

fn name_of(group: &Path) -> String {
    let whole = group.canonicalize().unwrap_or_else(|_| group.into());
    whole.file_name().map_or_else(|| "group".into(), |name| name.to_string_lossy().into_owned())
}

impl Repeated<'_> {
    /// All runs, one after the other: success where each was one.
    fn measure(&self) -> Result<ExitCode> {
        signals::catch().context("cannot catch Ctrl-C")?;
        let mut status = ExitCode::SUCCESS;
        let steps: Vec<&[GroupVisit]> = match self.side_by_side {
            Some(_) => self.visits.chunk_by(|a, b| a.turn == b.turn).collect(),
            None => self.visits.chunks(1).collect(),
        };
        for (index, step) in steps.iter().enumerate() {
            let kind = if self.side_by_side.is_some() { "turn" } else { "run" };
            let name = format!("{kind} {} of {}", index + 1, steps.len());
            let labels: Vec<&str> = step.iter().map(|visit| visit.variant.label.as_str()).collect();
            let labels = labels.join(" beside ");
            if !self.global.quiet {
                output::complain(&if labels.is_empty() { name.clone() } else { format!("{name}: {labels}") });
            }
            let ended = match step {
                [alone] => self.between_commands(alone),
                beside => {
                    let commands = beside.iter().map(|visit| self.beside(visit, index));
                    side_by_side::all(commands.collect(), true)
                }
            };
            let ended = ended.with_context(|| name.clone())?;
            if signals::caught() {
                return Ok(ExitCode::FAILURE);
            }
            for one in ended {
                match one.code() {
                    Some(0) => {}
                    Some(SOME_FAILED) => status = ExitCode::FAILURE,
                    _ => bail!("{name} ended with {}", told(one)),
                }
            }
        }
        Ok(status)
    }

    /// A run of a turn: all of them draw the same order of cases and slices, another one in each turn.
    fn beside(&self, visit: &GroupVisit, turn: usize) -> Command {
        let mut command = self.command(visit);
        let seed = self.side_by_side.unwrap_or_default().wrapping_add(turn as u64);
        command.arg(format!("--seed={seed}")).args((!self.global.quiet).then_some("--quiet"));
        command
    }

    fn measured(&self) -> usize {
        self.visits.iter().filter(|visit| visit.out.join(RECORD).exists()).count()
    }

    /// A run, with what its variant asks to be done before and after it.
    fn between_commands(&self, visit: &GroupVisit) -> Result<Vec<ExitStatus>> {
        let Variant { before, after, env, .. } = &visit.variant;
        let shell = |line: &Option<String>, what: &str, heeds: bool| -> Result<()> {
            let Some(line) = line else { return Ok(()) };
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]).envs(env).stdout(std::io::stderr());
            match side_by_side::all(vec![command], heeds)?.first() {
                Some(ended) if !ended.success() => {
                    bail!("its command `{what}` ended with {}: {line}", told(*ended))
                }
                _ => Ok(()),
            }
        };
        let done =
            shell(before, "before", true).and_then(|()| side_by_side::all(vec![self.command(visit)], true));
        // What it undoes is undone also where the run failed.
        let undone = shell(after, "after", false);
        let ended = done?;
        undone.map(|()| ended)
    }

    fn command(&self, visit: &GroupVisit) -> Command {
        let GroupVisit { out, variant, turn } = visit;
        let mut command = Command::new(variant.binary.clone().unwrap_or_else(program::path));
        if let Some(typed) = std::env::args_os().next().filter(|_| variant.binary.is_none()) {
            // The record tells the command as it was typed, not where this program lies.
            command.arg0(typed);
        }
        // Builds from before it have no such option.
        let known = |argument: &&OsString| variant.binary.is_none() || *argument != "--allow-commands";
        command
            .args(self.arguments.iter().filter(known))
            .args(&variant.arguments)
            .arg("--out")
            .arg(out)
            .envs(&variant.env);
        command.arg(format!("--group={}", self.group_name));
        command.args(turn.iter().map(|turn| format!("--turn={turn}")));
        let label = Some(&variant.label).filter(|label| !label.is_empty());
        command.args(label.map(|label| format!("--label={label}")));
        command.args(variant.revision.iter().map(|revision| format!("--revision={revision}")));
        // Its report is in its directory; events are for whoever asked for them.
        command.stdout(if self.global.json { Stdio::inherit() } else { Stdio::null() });
        command
    }
}

fn told(ended: ExitStatus) -> String {
    ended.code().map_or("a signal".into(), |code| format!("exit status {code}"))
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
        let kept = without(given.split(' ').map(OsString::from), OWN);
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
