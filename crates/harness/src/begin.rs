//! The start of a run: a new record, or an interrupted one taken up again.
//!
//! It says what made the run and what weakens it before anything is measured.

use super::RunOptions;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;
use syscost_experiment::plan::Plan;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Record, Run, SCHEMA, State, TimeSpent, Tool, Warning};
use syscost_host::{cleaner, fingerprint, remote};
use syscost_measure::probe::directory;
use syscost_measure::probe::transfer::planted;
use syscost_sys::clock::unix_ns;
use syscost_sys::{program, random};

/// Removes what killed runs left where this one writes; or killed workers of this run, at its end.
pub fn sweep(plan: &Plan) {
    let named: BTreeSet<&str> = plan.cases.iter().filter_map(|case| case.point.text(directory::ID)).collect();
    named.into_iter().for_each(|directory| cleaner::sweep(Path::new(directory)));
}

pub fn create(options: &RunOptions) -> Result<(RunDir, Run)> {
    sweep(&options.plan);
    let host = fingerprint::facts();
    let mut record = Record {
        schema: SCHEMA,
        id: random::token().context("the kernel gives no random numbers")?,
        tool: tool()?,
        started_unix_ns: unix_ns(),
        elapsed_ns: 0,
        sessions: 1,
        state: State::Running,
        command: options.command.clone(),
        host,
        spec: options.spec.clone(),
        plan: options.plan.clone(),
        settings: Default::default(),
        missing: Vec::new(),
        warnings: first_warnings(&options.plan),
        failures: Vec::new(),
        predictions: Vec::new(),
        audits: Vec::new(),
        time_spent: Some(TimeSpent::default()),
        conditions: Vec::new(),
        pilot: None,
        thread_clock: None,
        own_cost: Vec::new(),
    };
    record.warnings.extend(emulated(&record));
    record.warnings.extend(copied_to_hosts());
    let mut dir = RunDir::create(&options.out, &record)?;
    if warn_of_no_lock(&mut record, &dir) {
        dir.write_record(&record)?;
    }
    let samples = dir.no_samples()?;
    Ok((dir, Run { record, samples, slices: Default::default(), profiles: Vec::new() }))
}

pub fn resume(options: &RunOptions) -> Result<(RunDir, Run)> {
    let (mut dir, mut run) = RunDir::resume(&options.out)?;
    sweep(&run.record.plan);
    let tool = tool()?;
    if run.record.tool != tool {
        run.record.warnings.push(Warning {
            id: "resumed_by_another_build".into(),
            observed: format!(
                "the run was started by syscost {} ({}) and continued by {} ({})",
                run.record.tool.version,
                short(&run.record.tool.binary_sha256),
                tool.version,
                short(&tool.binary_sha256)
            ),
            consequence: "its rounds may not be comparable".into(),
            remedy: "syscost run --out NEW_DIR".into(),
            cases: Vec::new(),
        });
    }
    warn_of_no_lock(&mut run.record, &dir);
    run.record.state = State::Running;
    // A stage of refinement is in the record before its first sample is in the file.
    if options.plan.refinements.len() > run.record.plan.refinements.len() {
        run.record.plan = options.plan.clone();
        dir.write_record(&run.record)?;
    } else {
        // Another end at which verdicts are read. A stage of refinement is no end.
        run.record.sessions += 1;
    }
    Ok((dir, run))
}

/// Without locks two runs could write into one directory; says whether this is news.
fn warn_of_no_lock(record: &mut Record, dir: &RunDir) -> bool {
    const ID: &str = "no_lock";
    let news = !dir.is_locked() && record.warnings.iter().all(|warning| warning.id != ID);
    if news {
        record.warnings.push(Warning {
            id: ID.into(),
            observed: "the file system of the run's directory has no locks".into(),
            consequence: "a second syscost that writes there would not be kept out".into(),
            remedy: "start no other one there, or name a directory on a local disk with --out".into(),
            cases: Vec::new(),
        });
    }
    news
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn tool() -> Result<Tool> {
    Ok(Tool {
        version: env!("CARGO_PKG_VERSION").into(),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        binary_sha256: program::sha256().context("cannot read this program's own file")?,
    })
}

/// An emulated machine executes the same instructions and takes any time for them.
fn emulated(record: &Record) -> Option<Warning> {
    let emulator = record.emulator()?;
    Some(Warning {
        id: "emulated".into(),
        observed: format!("this machine is emulated in software ({emulator}): counts only"),
        consequence: "what was counted holds; times and rates mean nothing and are left out".into(),
        remedy: "for times, run syscost on the machine itself".into(),
        cases: Vec::new(),
    })
}

/// Planning may have put this program on other hosts: the only thing that stays there.
fn copied_to_hosts() -> Vec<Warning> {
    let warning = |copy: remote::InstalledCopy| Warning {
        id: "copied_to_host".into(),
        observed: format!("copied syscost to {}", copy.place),
        consequence: "it stays there, so that the next run need not copy it; no figure is touched by it"
            .into(),
        remedy: format!("to remove it: {}", copy.removal),
        cases: Vec::new(),
    };
    remote::copies().into_iter().map(warning).collect()
}

/// What weakens the run before it starts: a debug build, defaults that this machine cannot do.
fn first_warnings(plan: &Plan) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = plan
        .substitutions
        .iter()
        .map(|substitution| Warning {
            id: format!("{}_fallback", substitution.axis),
            observed: format!(
                "{} {} is not possible here: {}",
                substitution.axis, substitution.wanted, substitution.why.reason
            ),
            consequence: format!("{} was measured instead", substitution.used),
            remedy: substitution.why.remedy.clone(),
            cases: Vec::new(),
        })
        .collect();
    // Probes that share an axis share what becomes of it.
    let mut said = std::collections::BTreeSet::new();
    warnings.retain(|warning| said.insert((warning.id.clone(), warning.observed.clone())));
    warnings.extend(plan.thinned.iter().map(|thinned| Warning {
        id: "quick_thinned".into(),
        observed: format!("a quick run has no time for so many cases of {}", thinned.probe),
        consequence: format!("left out: {}", thinned.what()),
        remedy: "name the values to keep, or run without --quick".into(),
        cases: Vec::new(),
    }));
    if let Ok(planted) = std::env::var(planted::VARIABLE) {
        warnings.push(Warning {
            id: "planted".into(),
            observed: format!("differences are planted: {}={planted}", planted::VARIABLE),
            consequence:
                "these rivals are not what their names say; the run tries whether differences are found"
                    .into(),
            remedy: format!("unset {}", planted::VARIABLE),
            cases: Vec::new(),
        });
    }
    if cfg!(debug_assertions) {
        warnings.push(Warning {
            id: "debug_build".into(),
            observed: "this syscost was built without optimisation".into(),
            consequence: "user-space costs (memcpy, loops) are far too high".into(),
            remedy: "cargo build --release".into(),
            cases: Vec::new(),
        });
    }
    warnings
}
