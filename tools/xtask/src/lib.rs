//! Every file of the repository that the code makes: what it has to contain today.
//!
//! `cargo xtask regenerate` writes these files; tests/program/generated.rs compares them.

pub mod answers;
pub mod deciding;
pub mod figure;
pub mod documents;
pub mod program;
pub mod published;
pub mod reports;

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use syscost_experiment::run::{Run, RunDir};

/// What to tell whoever finds a stale file.
pub const COMMAND: &str = "cargo xtask regenerate";

/// The repository, and the program built from it.
pub struct Tree {
    pub root: PathBuf,
    pub program: PathBuf,
}

/// A file that the code makes, or a document in which it fills the parts between markers.
pub struct Generated {
    /// From the root.
    pub path: PathBuf,
    pub content: Vec<u8>,
}

type Files = fn(&Tree) -> Result<Vec<Generated>>;

/// Every kind of generated file.
pub const KINDS: &[Files] =
    &[published::files, documents::files, figure::files, reports::files, answers::files, program::files];

impl Tree {
    fn load(&self, run: &str) -> Result<Run> {
        RunDir::load(&self.root.join(run)).with_context(|| run.to_string())
    }
}

/// Processor, hypervisor and kernel of a run.
fn machine(run: &Run) -> Result<String> {
    let fact = |id: &str| {
        let fact = run.record.host.iter().find(|fact| fact.id == id);
        fact.and_then(|fact| fact.value.clone()).with_context(|| format!("the run does not record {id}"))
    };
    Ok(format!(
        "{} (CPUs {}, virtual machine: {}), Linux {}",
        fact("cpu_model")?,
        fact("cpus_online")?,
        fact("hypervisor")?,
        fact("kernel_release")?,
    ))
}

impl Generated {
    fn golden(name: &str, content: impl Into<Vec<u8>>) -> Generated {
        Generated { path: Path::new("tests/golden").join(name), content: content.into() }
    }

    /// Writes the file where it differs; was that so?
    pub fn write(&self, tree: &Tree) -> Result<bool> {
        let path = tree.root.join(&self.path);
        if std::fs::read(&path).is_ok_and(|now| now == self.content) {
            return Ok(false);
        }
        let folder = path.parent().context("a file has a folder")?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, &self.content))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(true)
    }

    /// Where the file differs from what it has to contain; `None`: nowhere.
    pub fn difference(&self, tree: &Tree) -> Option<String> {
        let now = std::fs::read(tree.root.join(&self.path)).unwrap_or_default();
        if now == self.content {
            return None;
        }
        let (now, wanted) = (String::from_utf8_lossy(&now), String::from_utf8_lossy(&self.content));
        let lines = now.lines().map(Some).chain(std::iter::repeat(None)).zip(wanted.lines());
        let first = lines.enumerate().find(|(_, (now, wanted))| *now != Some(wanted));
        let first = first.map_or("it is longer than it should be".to_string(), |(at, (now, wanted))| {
            format!("line {} is {now:?}, should be {wanted:?}", at + 1)
        });
        Some(format!("{}: {first}\nregenerate it: {COMMAND}", self.path.display()))
    }
}
