//! A copy of the tree that mutants are tried in. It stays, with what was compiled of it, for the next time.

use super::list::Mutant;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct MutantTree {
    pub tree: PathBuf,
    /// Shared by all mutants: each compiles what it changes, and no more.
    pub target: PathBuf,
}

impl MutantTree {
    /// The tree as it is, with what is not committed.
    pub fn of(root: &Path) -> Result<MutantTree> {
        let folder = root.join("target/mutants");
        let scratch = MutantTree { tree: folder.join("tree"), target: folder.join("target") };
        fs::create_dir_all(&scratch.tree)?;
        let wanted = files(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        if scratch.tree.join(".git").exists() {
            for old in files(&scratch.tree, &["ls-files", "-z"])? {
                if !wanted.contains(&old) && scratch.tree.join(&old).exists() {
                    fs::remove_file(scratch.tree.join(&old))?;
                }
            }
        } else {
            git(&scratch.tree, &["init", "--quiet"])?;
        }
        for file in &wanted {
            copy(root, &scratch.tree, file)?;
        }
        scratch.commit()?;
        Ok(scratch)
    }

    /// Does this while these mutants are in the tree, each in a file of its own.
    pub fn with<T>(&self, mutants: &[&Mutant], what: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut before = Vec::new();
        for mutant in mutants {
            let path = self.tree.join(&mutant.file);
            let content = fs::read_to_string(&path)?;
            fs::write(&path, mutant.applied(&content)?)?;
            before.push((path, content));
        }
        self.commit()?;
        let result = what();
        for (path, content) in before {
            fs::write(path, content)?;
        }
        self.commit()?;
        result
    }

    /// What is handed out is made of what is committed.
    fn commit(&self) -> Result<()> {
        git(&self.tree, &["add", "--all"])?;
        let who = ["-c", "user.name=mutants", "-c", "user.email=mutants@localhost"];
        let commit = ["commit", "--quiet", "--allow-empty", "--no-verify", "--message", "a mutant"];
        git(&self.tree, &[&who[..], &commit].concat()).map(drop)
    }
}

/// Only where it differs: what is as old as it was is not compiled again.
fn copy(from: &Path, to: &Path, file: &Path) -> Result<()> {
    let (from, to) = (from.join(file), to.join(file));
    let Ok(content) = fs::read(&from) else { return Ok(()) };
    if fs::read(&to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().context("a file has a folder")?)?;
    fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

fn files(tree: &Path, arguments: &[&str]) -> Result<Vec<PathBuf>> {
    Ok(git(tree, arguments)?.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

fn git(tree: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(tree).args(arguments).output().context("git")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
