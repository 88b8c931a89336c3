//! What became of each mutant when it was last tried, and what the page of promises shows of that.

use super::list::Mutant;
use super::trial::MutantFate;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Written by `cargo xtask mutants` alone.
pub const RECORD: &str = "docs/runs/mutants.json";

#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MutantScore(Vec<TriedMutant>);

/// A mutant as it was tried: one that breaks something else by now was not.
#[derive(Serialize, Deserialize)]
struct TriedMutant {
    promise: String,
    test: String,
    file: String,
    find: String,
    replace: String,
    fate: String,
    /// How the test failed, or why it did not run.
    why: String,
    /// How many mutants were in the same build.
    #[serde(default)]
    neighbours: usize,
    /// The day of the newest commit of the tree.
    tree: String,
}

impl TriedMutant {
    /// A promise in other words is the same one.
    fn is(&self, mutant: &Mutant) -> bool {
        let same = [
            (&self.test, &mutant.test),
            (&self.file, &mutant.file),
            (&self.find, &mutant.find),
            (&self.replace, &mutant.replace),
        ];
        same.iter().all(|(one, other)| one == other)
    }
}

impl MutantScore {
    /// What is recorded of these mutants, with their promises as they are worded now.
    pub fn load(root: &Path, mutants: &[Mutant]) -> Result<MutantScore> {
        let path = root.join(RECORD);
        let mut score = match path.exists() {
            true => serde_json::from_str::<MutantScore>(&std::fs::read_to_string(path)?).context(RECORD)?,
            false => MutantScore::default(),
        };
        score.0.retain_mut(|tried| {
            let now = mutants.iter().find(|mutant| tried.is(mutant));
            now.is_some_and(|mutant| {
                tried.promise = mutant.promise.clone();
                true
            })
        });
        Ok(score)
    }

    pub fn is_killed(&self, mutant: &Mutant) -> bool {
        self.0.iter().any(|tried| tried.is(mutant) && tried.fate == MutantFate::KILLED)
    }

    pub fn add(&mut self, root: &Path, mutant: &Mutant, fate: &MutantFate, neighbours: usize) -> Result<()> {
        self.0.retain(|tried| !tried.is(mutant));
        self.0.push(TriedMutant {
            promise: mutant.promise.clone(),
            test: mutant.test.clone(),
            file: mutant.file.clone(),
            find: mutant.find.clone(),
            replace: mutant.replace.clone(),
            fate: fate.word().into(),
            why: fate.why().into(),
            neighbours,
            tree: day_of(root)?,
        });
        self.0.sort_by(|one, other| {
            (&one.test, &one.file, &one.find).cmp(&(&other.test, &other.file, &other.find))
        });
        std::fs::write(root.join(RECORD), serde_json::to_string_pretty(self)? + "\n").context(RECORD)
    }
}

fn day_of(root: &Path) -> Result<String> {
    let output = Command::new("git").current_dir(root).args(["log", "-1", "--format=%cs"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().into())
}

/// The score of those that were tried, and each of them that is not killed.
pub fn page(record: &Path) -> Result<String> {
    let score: MutantScore = serde_json::from_str(&std::fs::read_to_string(record)?).context(RECORD)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alive = String::new();
    for tried in &score.0 {
        *counts.entry(&tried.fate).or_default() += 1;
        if tried.fate != MutantFate::KILLED {
            let cells =
                [&tried.fate, &tried.promise, &tried.file, &tried.why].map(|cell| cell.replace('|', "/"));
            alive += &format!("| {} |\n", cells.join(" | "));
        }
    }
    let counts: Vec<String> = counts.iter().map(|(fate, count)| format!("{count} {fate}")).collect();
    let days: BTreeSet<&str> = score.0.iter().map(|tried| tried.tree.as_str()).collect();
    let days: Vec<&str> = days.into_iter().collect();
    let alone =
        score.0.iter().filter(|tried| tried.fate == MutantFate::KILLED && tried.neighbours == 0).count();
    let head = format!(
        "**{} changes were tried: {}** (trees of {}; {alone} of the killed were alone in their build).\n",
        score.0.len(),
        counts.join(", "),
        days.join(", ")
    );
    if alive.is_empty() {
        return Ok(head);
    }
    Ok(format!("{head}\n| not killed | promise | changed | why |\n|---|---|---|---|\n{alive}"))
}
