//! `lab`: runs an experiment in emulated guests, where zero-copy is really not copied or instructions repeat, and brings the
//! runs' directories back.

use crate::args::Global;
use crate::lab_args::{GuestArgs, LabAction, LabArgs, LabCount};
use crate::lab_guest::Guest;
use crate::output::{self, Paint};
use crate::{asked, audit, lab_compare, lab_gate, report, run as run_command};
use anyhow::Result;
use clap::ArgMatches;
use serde_json::json;
use std::process::ExitCode;
use syscost_experiment::spec::{INSTRUCTIONS, LAB};
use syscost_lab::{self as lab, KernelChoice};

pub fn run(args: &LabArgs, matches: &ArgMatches, global: &Global, command: Vec<String>) -> Result<ExitCode> {
    match &args.action {
        Some(LabAction::Compare(args)) => return lab_compare::run(args, global),
        Some(LabAction::Gate(args)) => return lab_gate::run(args, global, command),
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
        if kernels.len() == 1 {
            report::written(
                &run,
                &place,
                global,
                json!({ "nic": args.guest.nic.name, "kernel": brought.kernel }),
            )?;
            if !global.json && !counting {
                let table = audit::recorded(&run.record, Paint::stdout(global.color));
                output::print(&format!("\n{table}"))?;
            }
        } else {
            report::kept(&run, &place)?;
        }
        places.push(place);
    }
    if counting && kernels.len() > 1 {
        lab_compare::compare(&places, None, global)?;
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
