//! The start of a run: a new record, with what made the run and what weakens it before anything is measured.

use super::RunOptions;
use super::calendar::Moment;
use super::forewarning;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;
use syscost_experiment::plan::Plan;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Record, Run, SCHEMA, State, TimeSpent, Tool, Warning};
use syscost_host::{cleaner, fingerprint};
use syscost_measure::probe::directory;
use syscost_sys::{program, random};

/// Removes what killed runs left where this one writes; or killed workers of this run, at its end.
pub fn sweep(plan: &Plan) {
    let named: BTreeSet<&str> = plan.cases.iter().filter_map(|case| case.point.text(directory::ID)).collect();
    named.into_iter().for_each(|directory| cleaner::sweep(Path::new(directory)));
}

pub fn create(options: &RunOptions, began: Moment) -> Result<(RunDir, Run)> {
    sweep(&options.plan);
    let host = fingerprint::facts();
    let mut record = Record {
        schema: SCHEMA,
        id: random::token().context("the kernel gives no random numbers")?,
        tool: tool()?,
        started_unix_ns: began.unix_ns,
        elapsed_ns: 0,
        sessions: 1,
        state: State::Running,
        command: options.command.clone(),
        names: options.names.clone(),
        host,
        spec: options.spec.clone(),
        plan: options.plan.clone(),
        settings: Default::default(),
        missing: Vec::new(),
        warnings: Vec::new(),
        failures: Vec::new(),
        predictions: Vec::new(),
        audits: Vec::new(),
        time_spent: Some(TimeSpent::default()),
        conditions: Vec::new(),
        slice_rounds: 0,
        sample_rows: 0,
        resumed: Vec::new(),
        thread_clock: None,
        own_cost: Vec::new(),
    };
    record.warnings = forewarning::of(&record);
    let mut dir = RunDir::create(&options.out, &record)?;
    if warn_of_no_lock(&mut record, &dir) {
        dir.write_record(&record)?;
    }
    let samples = dir.no_samples()?;
    Ok((dir, Run { record, samples, slices: Default::default(), profiles: Vec::new() }))
}

/// Without locks two runs could write into one directory; says whether this is news.
pub fn warn_of_no_lock(record: &mut Record, dir: &RunDir) -> bool {
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

pub fn tool() -> Result<Tool> {
    Ok(Tool {
        version: env!("CARGO_PKG_VERSION").into(),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        binary_sha256: program::sha256().context("cannot read this program's own file")?,
    })
}
