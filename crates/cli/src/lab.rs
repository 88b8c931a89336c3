//! `lab`: runs an experiment in emulated guests, where zero-copy is really not copied or instructions repeat, and brings the
//! runs' directories back. `lab compare` shows counted guests side by side.

use crate::args::Global;
use crate::compare::runs_at;
use crate::lab_args::{GuestArgs, LabAction, LabArgs, LabCompareArgs, LabCount};
use crate::lab_guest::Guest;
use crate::output;
use crate::{asked, audit, report, run as run_command};
use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_analyze::sides::counts;
use syscost_analyze::sides::facts::differing;
use syscost_experiment::run::Run;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::spec::{INSTRUCTIONS, LAB};
use syscost_lab::{self as lab, KernelChoice};
use syscost_report::kernels::{self, Kernels};
use syscost_report::side_page::ComparedSides;
use syscost_report::{html, sides};

const TABLE: &str = "kernels.csv";

pub fn run(args: &LabArgs, matches: &ArgMatches, global: &Global, command: Vec<String>) -> Result<ExitCode> {
    match &args.action {
        Some(LabAction::Compare(args)) => return run_compare(args, global),
        None => {}
    }
    let mut asked = args.asked.clone();
    let counting = args.count == Some(LabCount::Instructions);
    asked.experiment.get_or_insert_with(|| if counting { INSTRUCTIONS } else { LAB }.to_string());
    let mut spec = asked::spec(&asked, matches)?;
    if counting {
        // A guest that counts has one CPU.
        spec.set_default("placement", "same");
    }
    // What names no path goes from device to device: that is what the lab is for.
    spec.set_default("path", &lab::path());
    let kernels = kernels(&args.kernel, &args.guest)?;
    let out = args.out.clone().map_or_else(|| run_command::default_dir(&spec.name), Ok)?;
    let mut failed = false;
    let mut places = Vec::new();
    for (number, kernel) in kernels.iter().enumerate() {
        let place = if kernels.len() == 1 { out.clone() } else { out.join(named(&kernels, number)) };
        let guest = Guest { args: &args.guest, kernel, counting, spec: &spec };
        let brought = guest.run(&place, command.clone(), global);
        let (run, brought) =
            brought.inspect_err(|_| run_command::leave_nothing(args.out.as_deref(), &place))?;
        failed |= brought.status != 0;
        let alone = kernels.len() == 1;
        let more = json!({ "nic": args.guest.nic.name, "kernel": brought.kernel });
        report::written(&run, &place, alone.then_some(global), more)?;
        if alone && !global.json && !counting {
            output::print(&audit::recorded(&run.record, global.color))?;
        }
        places.push(place);
    }
    if counting && kernels.len() > 1 {
        compare(&places, None, global)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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

/// `lab compare`: a column for each kernel.
fn run_compare(args: &LabCompareArgs, global: &Global) -> Result<ExitCode> {
    let mut places = Vec::new();
    for place in &args.runs {
        let mut runs = runs_at(place)?;
        // A directory of several guests names them by their kernels; they ran one after the other.
        if runs.len() > 1 {
            let started = |run: &PathBuf| RunDir::record(run).map_or(0, |record| record.started_unix_ns);
            runs.sort_by_key(started);
        }
        places.extend(runs);
    }
    compare(&places, args.out.as_deref(), global)?;
    Ok(ExitCode::SUCCESS)
}

/// Compares each run with the first of them.
fn compare(places: &[PathBuf], out: Option<&Path>, global: &Global) -> Result<()> {
    let runs = places.iter().map(|place| RunDir::load(place)).collect::<Result<Vec<Run>, _>>()?;
    if let Some((_, place)) = runs.iter().zip(places).find(|(run, _)| !counts(&run.record)) {
        bail!("{} counts no instructions: make it with syscost lab --count instructions", place.display());
    }
    let Some((first, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        bail!("there is one run, and nothing to compare it with: name another directory");
    };
    let all = Kernels::of(first, others)
        .map_err(|why| anyhow!("these runs cannot be compared: {}", sides::refused(&why)))?;
    let base = std::slice::from_ref(&all.base);
    if let Some(out) = out {
        let place = OpenDirectory::make(out)?;
        place.replace_with(TABLE, |file| kernels::write(&all, file)).context("cannot keep the comparison")?;
        for (number, rival) in all.rivals.iter().enumerate() {
            let candidate = std::slice::from_ref(&rival.figures);
            let differing = differing(base, candidate);
            let page =
                ComparedSides { compared: &rival.comparison, first, base, candidate, differing: &differing };
            let name = format!("{}-{}.html", number + 1, kernels::file_name(&rival.label));
            place.replace(&name, html::page(&page.report()).as_bytes())?;
        }
    }
    if global.json {
        return output::print_json(
            &json!({ "base": kernels::label(&first.record), "answers": all.answers(), "dir": out }),
        );
    }
    let mut text = String::new();
    for answer in all.answers() {
        text += &output::entry("", 0, &answer);
    }
    text += &output::table(&kernels::table(&all), global.color);
    text += &output::entry("", 0, kernels::NOT_TOLD);
    output::print(&text)
}
