//! Where a store says that runs of a label lie, if this build has one.

use anyhow::Result;
use std::path::{Path, PathBuf};

/// What a build without the feature says.
#[cfg(not(feature = "store"))]
pub const MISSING: &str = "this syscost was built without the store: cargo install --path . --features store";

/// Where the runs of a label lie, by the store there.
#[cfg(feature = "store")]
pub fn labelled(store: &Path, label: &str) -> Result<Vec<PathBuf>> {
    syscost_store::history::labelled(store, label)
}

#[cfg(not(feature = "store"))]
pub fn labelled(_: &Path, _: &str) -> Result<Vec<PathBuf>> {
    anyhow::bail!("{MISSING}")
}
