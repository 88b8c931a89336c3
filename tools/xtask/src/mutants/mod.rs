//! `cargo xtask mutants`: breaks each promise of docs/reliability.md on purpose and runs the test that has to notice.
//!
//! A mutant is a text of one file and what stands there instead. The files of `tools/xtask/mutants` list them.

mod list;
mod scratch;
mod trial;

use anyhow::{Result, ensure};
use list::Mutant;
pub use list::list;
use scratch::MutantTree;
use std::collections::BTreeMap;
use std::path::Path;
use trial::MutantFate;

/// Tries the mutants whose promise, file or test has this text in it, and shows each as it is done.
pub fn run(root: &Path, wanted: &str, mut show: impl FnMut(&str)) -> Result<()> {
    let mut mutants = list(root)?;
    mutants.retain(|mutant| mutant.has(wanted));
    ensure!(!mutants.is_empty(), "no mutant has {wanted:?} in its promise, file or test");
    // What one file makes anew is compiled once.
    mutants.sort_by(|one, other| one.file.cmp(&other.file));
    let scratch = MutantTree::of(root)?;
    let mut score: BTreeMap<&str, usize> = BTreeMap::new();
    let before = unbroken(&scratch, &mutants, &mut show)?;
    for mutant in &mutants {
        let fate = match &before[mutant.test.as_str()] {
            MutantFate::Survived | MutantFate::Skipped(_) => {
                scratch.apply(mutant)?;
                let fate = trial::run(&scratch, &mutant.test);
                scratch.restore(root, mutant)?;
                fate?
            }
            MutantFate::Killed(_) => MutantFate::Untried("the test fails without the mutant".into()),
            known => known.clone(),
        };
        *score.entry(fate.word()).or_default() += 1;
        show(&format!("{fate:9} {}\n          {} by {}", mutant.promise, mutant.file, mutant.test));
    }
    let parts: Vec<String> = score.iter().map(|(word, count)| format!("{count} {word}")).collect();
    show(&format!("{} mutants: {}", mutants.len(), parts.join(", ")));
    let bad = score.keys().any(|word| !matches!(*word, MutantFate::KILLED | MutantFate::SKIPPED));
    ensure!(!bad, "not every mutant that was tried is killed");
    Ok(())
}

/// What each test says of the tree as it is: nothing is learnt from one that fails there.
fn unbroken<'m>(
    scratch: &MutantTree,
    mutants: &'m [Mutant],
    show: &mut impl FnMut(&str),
) -> Result<BTreeMap<&'m str, MutantFate>> {
    let mut fates = BTreeMap::new();
    for mutant in mutants {
        if fates.contains_key(mutant.test.as_str()) {
            continue;
        }
        let fate = trial::run(scratch, &mutant.test)?;
        if !matches!(fate, MutantFate::Survived) {
            show(&format!("without a mutant, {}: {fate}", mutant.test));
        }
        fates.insert(mutant.test.as_str(), fate);
    }
    Ok(fates)
}
