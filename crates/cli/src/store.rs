//! `store add DIR..`: runs as Parquet.

use crate::args::Global;
use crate::store_args::{StoreArgs, StoreCommand};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Adds runs to the store there.
pub fn add_runs(store: &Path, runs: &[PathBuf]) -> Result<usize> {
    built::add_runs(store, runs, false)
}

pub fn run(args: &StoreArgs, global: &Global) -> Result<()> {
    let StoreCommand::Add(args) = &args.command;
    built::add(args, global)
}

#[cfg(feature = "store")]
mod built {
    use crate::args::Global;
    use crate::compare::runs_at;
    use crate::output;
    use crate::store_args::StoreAddArgs;
    use anyhow::{Context, Result};
    use serde_json::json;
    use std::path::{Path, PathBuf};
    use syscost_core::units::count;
    use syscost_experiment::run::files::RunDir;
    use syscost_experiment::run::group::{GroupSides, members};
    use syscost_store::add::OpenStore;

    pub fn add(args: &StoreAddArgs, global: &Global) -> Result<()> {
        let runs = args.dirs.iter().map(|path| all_at(path)).collect::<Result<Vec<_>>>()?.concat();
        let all = add_runs(&args.store, &runs, args.samples)?;
        let added = runs.len();
        if global.json {
            return output::print_json(&json!({ "store": args.store, "added": added, "runs": all }));
        }
        output::print(&format!("{}: {} added, {all} in all\n", args.store.display(), count(added, "run")))
    }

    /// How many runs the store has then.
    pub fn add_runs(place: &Path, runs: &[PathBuf], samples: bool) -> Result<usize> {
        let mut store = OpenStore::make(place)?;
        let mut done = Ok(());
        for path in runs {
            let loaded = RunDir::load(path).map_err(anyhow::Error::new);
            done = loaded
                .and_then(|run| store.add(&run, path, samples))
                .with_context(|| format!("cannot add {}", path.display()));
            if done.is_err() {
                break;
            }
        }
        // What was added before is named also where one could not be.
        let all = store.finish()?;
        done.map(|()| all)
    }

    /// A run, those of a group, or those of each variant of a group.
    fn all_at(path: &Path) -> Result<Vec<PathBuf>> {
        let about = || format!("cannot read {}", path.display());
        let variants = GroupSides::load(path).with_context(about)?.map_or(vec![], |group| group.variants);
        if variants.is_empty() {
            return runs_at(path);
        }
        let sides = variants.iter().map(|variant| members(&path.join(&variant.label)));
        Ok(sides.collect::<std::io::Result<Vec<_>>>().with_context(about)?.concat())
    }
}

#[cfg(not(feature = "store"))]
mod built {
    use crate::args::Global;
    use crate::store_args::StoreAddArgs;
    use crate::stored::MISSING;
    use anyhow::{Result, bail};
    use std::path::{Path, PathBuf};

    pub fn add(_: &StoreAddArgs, _: &Global) -> Result<()> {
        bail!("{}", MISSING)
    }

    pub fn add_runs(_: &Path, _: &[PathBuf], _: bool) -> Result<usize> {
        bail!("{}", MISSING)
    }
}
