//! From the command line to a spec.

use crate::experiment_args::ExperimentArgs;
use crate::{axes, own_code, text_file};
use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use std::path::Path;
use syscost_core::units::{parse_duration, parse_fraction};
use syscost_experiment::spec::{self, BUILT_IN, ProbeSpec, Spec};
use syscost_host::remote::consent;
use syscost_measure::probe::own_operation::OWN_OPERATION;
use syscost_measure::probe::transfer::axes::{MECHANISM, PATH};

/// The option that names operations.
const OPERATION: &str = "operation";
/// A few lines are usual; every value of every axis written out is some hundred kilobytes.
const MOST_BYTES: u64 = 1 << 20;

/// The experiment asked for, with every flag applied.
pub fn spec(asked: &ExperimentArgs, matches: &ArgMatches) -> Result<Spec> {
    let mut spec = match &asked.experiment {
        None => unnamed(matches)?,
        Some(name) => experiment(name)?,
    };
    if asked.quick {
        spec.set_quick();
    }
    if let Some(text) = &asked.precision {
        spec.precision = parse_fraction(text).map_err(|e| anyhow!("--precision: {e}"))?;
    }
    if let Some(text) = &asked.time_limit {
        spec.time_limit_ns = time_limit_ns(text)?;
    }
    if let Some(text) = &asked.seed {
        spec.seed = text
            .parse()
            .map_err(|_| anyhow!("--seed: '{text}' is not a whole number from 0 to {}", u64::MAX))?;
    }
    if let Some(command) = &asked.rsh {
        spec.set_rsh(command).map_err(|e| anyhow!("--{e}"))?;
    }
    axes::apply(matches, &mut spec)?;
    consent::allow(asked.rsh.iter().cloned().chain(axes::typed_at(matches, PATH.id)));
    if asked.experiment.is_none() {
        spec.leave_out_rulers(&axes::given(matches).collect::<Vec<_>>());
    }
    spec.own = own_code::of_spec(&spec);
    if asked.refine {
        // A limit that was named is one of the whole run.
        spec.set_refine(asked.time_limit.is_none()).map_err(|e| anyhow!("--refine: {e}"))?;
    }
    spec.validate()?;
    Ok(spec)
}

/// Where no experiment is named: the default study, or the user's own operations, or both.
fn unnamed(matches: &ArgMatches) -> Result<Spec> {
    let given: Vec<&str> = axes::given(matches).collect();
    if !given.contains(&OPERATION) {
        return Ok(Spec::named(spec::DEFAULT)?);
    }
    if !given.contains(&MECHANISM.id) {
        return Ok(Spec::named(OWN_OPERATION.id)?);
    }
    let mut both = Spec::named(spec::DEFAULT)?;
    both.probes.push(ProbeSpec::of(OWN_OPERATION.id));
    Ok(both)
}

pub fn time_limit_ns(text: &str) -> Result<u64> {
    let limit = parse_duration(text).map_err(|e| anyhow!("--time-limit: {e}"))?;
    Ok(spec::nanoseconds(limit))
}

/// A file where the argument looks like one or is one, else a name.
fn experiment(name: &str) -> Result<Spec> {
    let path = Path::new(name);
    let looks_like_a_file = name.contains('/') || path.extension().is_some();
    if !looks_like_a_file && !path.is_file() {
        return Ok(Spec::named(name)?);
    }
    if path.is_dir() {
        bail!("{name} is a directory, not an experiment: for a recorded run, `syscost report {name}`");
    }
    let text = text_file::read(path, MOST_BYTES, "experiment", "`syscost list` shows them");
    let text = text.with_context(|| {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        format!("cannot read the experiment {name} (built-in ones are {})", names.join(", "))
    })?;
    Ok(Spec::from_toml(&text, name)?)
}
