//! `lab`: runs an experiment in an emulated guest, where zero-copy is really not copied, and brings
//! the run's directory back.

use crate::args::{Global, LabArgs};
use crate::output::{self, Paint};
use crate::{asked, audit, report, run as run_command};
use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use syscost_core::units::{format_duration, parse_duration};
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::spec::{LAB, Spec};
use syscost_host::{Fact, Unavailable};
use syscost_lab::{self as lab, Arch, LabRequest, LabRun};
use syscost_sys::signals;

pub fn run(args: &LabArgs, matches: &ArgMatches, global: &Global, command: Vec<String>) -> Result<ExitCode> {
    let mut asked = args.asked.clone();
    asked.experiment.get_or_insert_with(|| LAB.to_string());
    let mut spec = asked::spec(&asked, matches)?;
    // What names no path goes from device to device: that is what the lab is for.
    spec.set_default("path", &lab::path());
    let out = args.out.clone().map_or_else(|| run_command::default_dir(&spec.name), Ok)?;
    // The emulator is started in a directory of its own.
    let cache = std::path::absolute(args.cache.clone().map_or_else(cache, Ok)?)?;
    let limit = parse_duration(&args.limit).map_err(|e| anyhow!("--limit: {e}"))?;
    refuse_short(&spec, limit)?;
    let here =
        || Arch::here().context("the lab cannot emulate this machine's architecture: name one with --arch");
    let arch = args.arch.map_or_else(here, Ok)?;
    signals::catch().context("cannot catch Ctrl-C")?;
    let request = LabRequest {
        spec: &spec,
        nic: args.nic,
        arch,
        program: args.binary.as_deref(),
        out: &out,
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
    let brought = lab::run(&request, &mut show);
    let brought = brought.inspect_err(|_| run_command::leave_nothing(args.out.as_deref(), &out));
    let brought = brought.map_err(with_remedy)?;
    let run = told_from_outside(&request, &brought, command)?;
    report::written(&run, &out, global, json!({ "nic": request.nic.name, "kernel": brought.kernel }))?;
    if !global.json {
        let table = audit::recorded(&run.record, Paint::stdout(global.color));
        output::print(&format!("\n{table}"))?;
    }
    Ok(if brought.status == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
    let fact = |id: &str, title: &str, value: String, source: &str| Fact {
        id: id.into(),
        title: title.into(),
        value: Some(value),
        source: source.into(),
    };
    run.record.host.extend([
        fact("lab_device", "lab: network devices", request.nic.name.into(), "--nic"),
        fact("lab_kernel_package", "lab: kernel", brought.kernel.clone(), "the package that was unpacked"),
        fact("lab_emulator", "lab: emulator", brought.emulator.clone(), "qemu --version"),
    ]);
    dir.write_record(&run.record)?;
    Ok(run)
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
