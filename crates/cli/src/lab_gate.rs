//! `lab gate --kernel X --baseline BASE`: boots a kernel, repeats what the baseline counted, and ends as `git bisect run` wants it.
//!
//! What `syscost gate` would call undecided or not comparable, and a kernel that brings no run back, ends with 125.

use crate::args::Global;
use crate::compare::side;
use crate::gate::{self, CANNOT_BE_JUDGED, GateTerms};
use crate::lab_args::LabGateArgs;
use crate::lab_guest::Guest;
use crate::output;
use crate::side_args::WhenUndecided;
use anyhow::{Context, Result, bail};
use std::process::ExitCode;
use syscost_analyze::sides::{RunFigures, counts};
use syscost_host::cleaner::OwnedDirectory;
use syscost_lab::KernelChoice;
use syscost_sys::signals;

/// As a shell says of a command that Ctrl-C ended: git bisect stops.
const INTERRUPTED: u8 = 130;

pub fn run(args: &LabGateArgs, global: &Global, command: Vec<String>) -> Result<ExitCode> {
    let (first, base) = side(&args.baseline)?;
    if !base.iter().all(|run| counts(&run.record)) {
        bail!(
            "the baseline counts no instructions: make it with syscost lab --count instructions --out BASE"
        );
    }
    let kernel = match &args.kernel {
        Some(text) => KernelChoice::parse(text, args.guest.modules.as_deref())?,
        None => KernelChoice::Usual,
    };
    let scratch =
        OwnedDirectory::create(&std::env::temp_dir()).context("cannot make a temporary directory")?;
    let out = args.out.clone().unwrap_or_else(|| scratch.path().join("run"));
    let guest = Guest { args: &args.guest, kernel: &kernel, counting: true, spec: &first.record.spec };
    let run = match guest.run(&out, command, global) {
        Ok((run, _)) => run,
        Err(_) if signals::caught() => return Ok(ExitCode::from(INTERRUPTED)),
        Err(error) => return cannot_be_judged(&format!("{error:#}"), global),
    };
    let terms = GateTerms { budget: &args.budget, undecided: WhenUndecided::Skip, write: &args.write };
    match gate::judged(&terms, &base, &[RunFigures::of(&run)], None) {
        Ok(answer) => gate::told(&terms, global, &first, &answer),
        Err(gate::NotComparable(why)) => cannot_be_judged(&why, global),
    }
}

fn cannot_be_judged(why: &str, global: &Global) -> Result<ExitCode> {
    output::complain(&format!("{} {why}", output::Paint::stderr(global.color).red("error:")));
    Ok(ExitCode::from(CANNOT_BE_JUDGED))
}
