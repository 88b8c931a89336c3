//! `cargo xtask mutants`: breaks each promise of docs/reliability.md on purpose and runs the test that has to notice.
//!
//! A mutant is a text of one file and what stands there instead. The files of `tools/xtask/mutants` list them.

mod company;
mod list;
mod score;
mod scratch;
mod trial;

use anyhow::{Result, ensure};
use company::companies;
use list::Mutant;
pub use list::list;
use score::MutantScore;
pub use score::page;
use scratch::MutantTree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use trial::MutantFate;

/// Of all tests that are run side by side without a mutant.
const LIMIT: Duration = Duration::from_secs(3600);

/// Which mutants to try.
#[derive(Clone, Copy)]
pub struct MutantChoice<'t> {
    /// Those with one of these in promise, file or test; none: all.
    pub wanted: &'t [&'t str],
    /// Those that are recorded as killed are left out.
    pub rest: bool,
}

impl MutantChoice<'_> {
    fn has(&self, mutant: &Mutant) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|text| mutant.has(text))
    }
}

/// Tries mutants; shows and records each as it is done.
pub fn run(root: &Path, choice: MutantChoice, show: impl Fn(&str)) -> Result<()> {
    let mut mutants = list(root)?;
    let mut score = MutantScore::load(root, &mutants)?;
    mutants.retain(|mutant| choice.has(mutant) && !(choice.rest && score.is_killed(mutant)));
    ensure!(!mutants.is_empty(), "no mutant has {:?} in its promise, file or test", choice.wanted);
    // Tests of one program share its build.
    mutants.sort_by(|one, other| one.test.cmp(&other.test));
    let scratch = MutantTree::of(root)?;
    let before = unbroken(&scratch, &mutants, &show)?;
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tell = |mutant: &Mutant, fate: MutantFate, neighbours: usize| {
        *tried.entry(fate.word()).or_default() += 1;
        show(&format!("{fate:9} {}\n          {} by {}", mutant.promise, mutant.file, mutant.test));
        score.add(root, mutant, &fate, neighbours)
    };
    let mut alone = Vec::new();
    // Of a test that skips a part another part may notice.
    let passes = |mutant: &&Mutant| {
        matches!(before[mutant.test.as_str()], MutantFate::Survived | MutantFate::Skipped(_))
    };
    for company in companies(&mutants.iter().filter(passes).collect::<Vec<_>>()) {
        company::halved(&company, &mut |company| {
            let mut killed = match company::killed(&scratch, company)? {
                Ok(killed) => killed,
                Err(fate) => {
                    show(&format!("{} mutants in one build: {fate}; each half is tried", company.len()));
                    return Ok(false);
                }
            };
            for mutant in company {
                match killed.remove(mutant.test.as_str()) {
                    Some(fate) => tell(mutant, fate, company.len() - 1)?,
                    None => alone.push(*mutant),
                }
            }
            Ok(true)
        })?;
    }
    // What one file makes anew is compiled once.
    alone.sort_by(|one, other| one.file.cmp(&other.file));
    for mutant in alone {
        let fate = scratch.with(&[mutant], || trial::run_twice(&scratch, &mutant.test))?;
        let fate = fate.unless_skipped(&before[mutant.test.as_str()]);
        tell(mutant, fate, 0)?;
    }
    for mutant in mutants.iter().filter(|mutant| !passes(mutant)) {
        let fate = match &before[mutant.test.as_str()] {
            MutantFate::Killed(_) => MutantFate::Untried("the test fails without the mutant".into()),
            known => known.clone(),
        };
        tell(mutant, fate, 0)?;
    }
    let parts: Vec<String> = tried.iter().map(|(word, count)| format!("{count} {word}")).collect();
    show(&format!("{} mutants: {}", mutants.len(), parts.join(", ")));
    let bad = tried.keys().any(|word| !matches!(*word, MutantFate::KILLED | MutantFate::SKIPPED));
    ensure!(!bad, "not every mutant that was tried is killed");
    Ok(())
}

/// What each test says of the tree as it is: nothing is learnt from one that fails there.
fn unbroken<'m>(
    scratch: &MutantTree,
    mutants: &'m [Mutant],
    show: &impl Fn(&str),
) -> Result<BTreeMap<&'m str, MutantFate>> {
    let tests: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.test.as_str()).collect();
    let tests: Vec<&str> = tests.into_iter().collect();
    let mut fates = trial::together(scratch, &tests, LIMIT)?;
    // Beside others a test may fail that does not when it is alone.
    fates.retain(|_, fate| !matches!(fate, MutantFate::Killed(_)));
    for test in tests {
        if !fates.contains_key(test) {
            fates.insert(test, trial::run(scratch, test)?);
        }
        if !matches!(fates[test], MutantFate::Survived) {
            show(&format!("without a mutant, {test}: {}", fates[test]));
        }
    }
    Ok(fates)
}
