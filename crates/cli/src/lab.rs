//! `lab`: runs an experiment in emulated guests, where zero-copy is really not copied or instructions repeat, and brings the
//! runs' directories back, as a user outside has them.

use crate::args::Global;
use crate::export::Exports;
use crate::lab_args::{GuestArgs, LabArgs, LabCount};
use crate::output::{self, Paint};
use crate::{asked, audit, report, run as run_command, status};
use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use syscost_core::units::{format_duration, parse_duration};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Run, State};
use syscost_experiment::spec::{CACHE, INSTRUCTIONS, LAB, Spec};
use syscost_host::Unavailable;
use syscost_lab::{self as lab, Arch, Caches, KernelChoice, LabRequest, LabRun};
use syscost_sys::{random, signals};

/// Of a guest that is not told otherwise.
const LIMIT: Duration = Duration::from_secs(120);
/// Every instruction of it is emulated by one thread.
const COUNTING_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Each of its accesses is looked up in modelled caches.
const CACHE_LIMIT: Duration = Duration::from_secs(60 * 60);

pub fn run(args: &LabArgs, matches: &ArgMatches, global: &Global, command: Vec<String>) -> Result<ExitCode> {
    let mut asked = args.asked.clone();
    let usual = match args.count {
        None => LAB,
        Some(LabCount::Instructions) => INSTRUCTIONS,
        Some(LabCount::Cache) => CACHE,
    };
    let counting = args.count.is_some();
    let caches = match (args.count, &args.guest.caches) {
        (Some(LabCount::Cache), asked) => Some(Caches::of_this_machine_but(asked.as_deref().unwrap_or(""))?),
        (_, Some(_)) => bail!("--caches says what to model: it needs --count cache"),
        (_, None) => None,
    };
    asked.experiment.get_or_insert_with(|| usual.to_string());
    let mut spec = asked::spec(&asked, matches)?;
    if let Some(object) = spec.own.first() {
        bail!("{} is not in the guest: code of your own is measured by `syscost run`", object.path);
    }
    if counting && asked.quick && asked.time_limit.is_none() {
        // Half a minute by the guest's clock, which is the count, ends before the first case has its rounds.
        let limit = limit(args.guest.limit.as_deref(), counting, caches.is_some())?;
        spec.time_limit_ns = limit.as_nanos() as u64;
    }
    if counting && caches.is_none() {
        // A guest that counts has one CPU.
        spec.set_default("placement", "same");
    }
    // What names no path goes from device to device: that is what the lab is for.
    spec.set_default("path", &lab::path());
    let kernels = kernels(&args.kernel, &args.guest)?;
    let out = args.out.clone().map_or_else(|| run_command::default_dir(&spec.name), Ok)?;
    let (mut failed, mut measured) = (false, false);
    let mut places = Vec::new();
    for (number, kernel) in kernels.iter().enumerate() {
        let place = if kernels.len() == 1 { out.clone() } else { out.join(named(&kernels, number)) };
        let guest = Guest { args: &args.guest, kernel, counting, caches: caches.as_ref(), spec: &spec };
        let brought = guest.run(&place, command.clone(), global);
        let (run, brought) =
            brought.inspect_err(|_| run_command::leave_nothing(args.out.as_deref(), &place))?;
        failed |= brought.status != 0;
        measured |= run.record.state != State::NothingMeasured;
        let alone = kernels.len() == 1;
        let more = json!({ "nic": args.guest.nic.name, "kernel": brought.kernel });
        report::written(&run, &place, alone.then_some(global), &Exports::default(), more)?;
        if alone && !global.json && !counting {
            output::print(&audit::recorded(&run.record, global.color))?;
        }
        places.push(place);
    }
    if let Some((base, others @ [_, ..])) = places.split_first() {
        if global.json {
            output::print_json_line(&json!({ "event": "group_written", "dir": out, "runs": places }))?;
        } else {
            let next = |other: &PathBuf| {
                format!("Compare: syscost compare {} -- {}\n", base.display(), other.display())
            };
            output::print(&others.iter().map(next).collect::<String>())?;
        }
    }
    let state = if measured { State::Complete } else { State::NothingMeasured };
    status::of(state, failed, || anyhow!("no guest could measure a case: {} has each reason", out.display()))
}

/// Each kernel that was asked for; none: the usual one.
fn kernels(asked: &[String], guest: &GuestArgs) -> Result<Vec<KernelChoice>> {
    if asked.is_empty() {
        return Ok(vec![KernelChoice::Usual]);
    }
    asked.iter().map(|text| KernelChoice::parse(text, guest.modules.as_deref())).collect()
}

/// The name of a kernel's directory: another number where two are called alike.
fn named(kernels: &[KernelChoice], number: usize) -> String {
    let label = kernels[number].label();
    let before = kernels[..number].iter().filter(|other| other.label() == label).count();
    if before == 0 { label } else { format!("{label}-{}", before + 1) }
}

/// One guest: its kernel, and what runs in it.
struct Guest<'a> {
    args: &'a GuestArgs,
    kernel: &'a KernelChoice,
    counting: bool,
    caches: Option<&'a Caches>,
    spec: &'a Spec,
}

impl Guest<'_> {
    fn run(&self, out: &Path, command: Vec<String>, global: &Global) -> Result<(Run, LabRun)> {
        let args = self.args;
        // The emulator is started in a directory of its own.
        let cache = std::path::absolute(args.cache.clone().map_or_else(cache, Ok)?)?;
        let limit = limit(args.limit.as_deref(), self.counting, self.caches.is_some())?;
        // A time limit inside a guest that counts is one of instructions.
        if !self.counting {
            refuse_short(self.spec, limit)?;
        }
        let here = || {
            Arch::here().context("the lab cannot emulate this machine's architecture: name one with --arch")
        };
        let arch = args.arch.map_or_else(here, Ok)?;
        signals::catch().context("cannot catch Ctrl-C")?;
        let request = LabRequest {
            spec: self.spec,
            nic: args.nic,
            kernel: self.kernel,
            arch,
            program: args.binary.as_deref(),
            counting: self.counting,
            caches: self.caches,
            append: args.append.as_deref(),
            out,
            cache: &cache,
            offline: args.offline,
            limit,
            interrupted: &signals::caught,
        };
        let mut show = |step: &str| {
            if !global.quiet && !global.json {
                output::complain(&format!("{} {step}", Paint::stderr(global.color).bold("lab:")));
            }
        };
        let brought = lab::run(&request, &mut show).map_err(with_remedy)?;
        Ok((told_from_outside(&request, &brought, command)?, brought))
    }
}

/// When a guest is ended.
fn limit(asked: Option<&str>, counting: bool, caches: bool) -> Result<Duration> {
    match asked {
        Some(text) => parse_duration(text).map_err(|e| anyhow!("--limit: {e}")),
        None if caches => Ok(CACHE_LIMIT),
        None if counting => Ok(COUNTING_LIMIT),
        None => Ok(LIMIT),
    }
}

/// A measurement that the guest cannot end in time would bring nothing back.
fn refuse_short(spec: &Spec, limit: Duration) -> Result<()> {
    if spec.time_limit() < limit {
        return Ok(());
    }
    bail!(
        "measuring may take {} (--time-limit), but the guest ends after {}: raise --limit",
        format_duration(spec.time_limit()),
        format_duration(limit)
    )
}

/// The run as a user of the lab repeats it, and what the guest itself cannot know.
fn told_from_outside(request: &LabRequest<'_>, brought: &LabRun, command: Vec<String>) -> Result<Run> {
    let about = "the run that the guest returned cannot be read";
    let (mut dir, mut run) = RunDir::resume(request.out).context(about)?;
    run.record.command = command;
    if request.counting {
        // A guest that repeats itself has the same date and the same random numbers each time.
        run.record.id = random::token().context("the kernel gives no random numbers")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        run.record.started_unix_ns = now.as_nanos() as u64;
    }
    let label = label(request, &run);
    run.record.names.label.get_or_insert(label);
    run.record.host.extend(brought.facts.iter().cloned());
    dir.write_record(&run.record)?;
    Ok(run)
}

/// What a user calls this guest: its kernel, and its boot options where these were named. What is newest, or usual, is
/// another kernel tomorrow: it is called by its version.
fn label(request: &LabRequest<'_>, run: &Run) -> String {
    let release = run.record.fact("kernel_release").filter(|_| request.kernel.moves());
    let version = |release: &str| release.split(['-', '+']).next().unwrap_or(release).to_string();
    let kernel = release.map_or_else(|| request.kernel.label(), version);
    let own = request.append.map_or(String::new(), |own| format!(" {own}"));
    format!("{kernel}{own}")
}

fn with_remedy(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Unavailable>().cloned() {
        Some(why) => anyhow!("{error:#} -> {}", why.remedy),
        None => error,
    }
}

/// `$XDG_CACHE_HOME/syscost/lab`, or below `~/.cache`.
fn cache() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    Ok(base
        .context("no home directory to keep a kernel in: name a directory with --cache")?
        .join("syscost/lab"))
}
