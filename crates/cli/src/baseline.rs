//! Named baselines: runs that are kept for later ones to be compared with, in `syscost-runs/baselines/NAME`.
//!
//! Each run that is saved under a name is one more replicate of it. Nothing is replaced: to begin anew, remove the directory.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use syscost_core::axis::suggest;
use syscost_experiment::run::group::{is_run, members};

/// Where runs go when no directory is named.
pub const RUNS: &str = "syscost-runs";
const BASELINES: &str = "baselines";

pub fn place(name: &str) -> PathBuf {
    Path::new(RUNS).join(BASELINES).join(name)
}

/// A run, or those of a group; a name that is no path here is that of a baseline.
pub fn runs_at(named: &Path) -> Result<Vec<PathBuf>> {
    if is_run(named) {
        return Ok(vec![named.into()]);
    }
    let path = if named.exists() { named.into() } else { kept(named)? };
    let runs = members(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if runs.is_empty() {
        bail!("{} is neither a run nor a group of runs: no run.json in it or below", path.display());
    }
    Ok(runs)
}

/// The directory of a baseline.
fn kept(named: &Path) -> Result<PathBuf> {
    let name = named.to_str().filter(|name| !name.contains('/'));
    if let Some(place) = name.map(place).filter(|place| place.is_dir()) {
        return Ok(place);
    }
    let entries = fs::read_dir(Path::new(RUNS).join(BASELINES)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let known = match names.as_slice() {
        [] => "no baseline is kept here (syscost run --save-baseline NAME keeps one)".to_string(),
        names => {
            let (wanted, names) =
                (named.to_string_lossy(), names.iter().map(String::as_str).collect::<Vec<_>>());
            format!("of the baselines here, {}", suggest(&wanted, &names, &[]))
        }
    };
    bail!("cannot read {}: no such directory and no such baseline; {known}", named.display())
}
