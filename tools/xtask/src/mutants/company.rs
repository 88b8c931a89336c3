//! Mutants that are tried in one build: of different files and different tests.
//!
//! A test that fails there was broken by its own mutant or by a neighbour. What the others do to a test that has to do
//! with none of them is looked at first; its words are in the record, for people to read. A test that does not fail is
//! tried again with its mutant alone.

use super::list::Mutant;
use super::scratch::MutantTree;
use super::trial::{self, MutantFate};
use anyhow::Result;
use std::collections::BTreeMap;
use std::time::Duration;

/// More of them break each other's tests.
const LARGEST: usize = 8;
/// Runs, checks and reports: a mutant that breaks everything breaks this too.
const EVERYTHING: &str = "tests/live/reliability/sandboxes.rs::a_small_stack_is_enough";
const LIMIT: Duration = Duration::from_secs(900);

/// Each of these mutants in one company.
pub fn companies<'m>(mutants: &[&'m Mutant]) -> Vec<Vec<&'m Mutant>> {
    let mut companies: Vec<Vec<&Mutant>> = Vec::new();
    for mutant in mutants {
        let fits = |company: &&mut Vec<&Mutant>| {
            let apart = |other: &&Mutant| other.file != mutant.file && other.test != mutant.test;
            company.len() < LARGEST
                && company.iter().all(|other| apart(other) && is_code(other))
                && is_code(mutant)
        };
        match companies.iter_mut().find(fits) {
            Some(company) => company.push(mutant),
            None => companies.push(vec![mutant]),
        }
    }
    companies
}

/// What a file says that is not compiled, and what a script does, may change any build.
fn is_code(mutant: &Mutant) -> bool {
    mutant.file.ends_with(".rs") && mutant.test.contains(".rs::") && mutant.test != EVERYTHING
}

/// The tests that fail in a company, or the reason why none was run.
pub type Killed<'m> = Result<BTreeMap<&'m str, MutantFate>, MutantFate>;

/// Those whose tests fail in this company, twice: a busy machine may fail one once.
pub fn killed<'m>(scratch: &MutantTree, company: &[&'m Mutant]) -> Result<Killed<'m>> {
    if company.len() < 2 {
        return Ok(Ok(BTreeMap::new()));
    }
    scratch.with(company, || {
        let all = trial::run(scratch, EVERYTHING)?;
        if !matches!(all, MutantFate::Survived) {
            return Ok(Err(all));
        }
        let tests: Vec<&str> = company.iter().map(|mutant| mutant.test.as_str()).collect();
        let once = failed(trial::together(scratch, &tests, LIMIT)?);
        let again: Vec<&str> = once.into_keys().collect();
        Ok(Ok(failed(trial::together(scratch, &again, LIMIT)?)))
    })
}

/// Tries this company, or its halves where one mutant breaks everything.
pub fn halved<'m>(
    company: &[&'m Mutant],
    tried: &mut impl FnMut(&[&'m Mutant]) -> Result<bool>,
) -> Result<()> {
    if !tried(company)? {
        let (one, other) = company.split_at(company.len() / 2);
        halved(one, tried)?;
        halved(other, tried)?;
    }
    Ok(())
}

fn failed(mut fates: BTreeMap<&str, MutantFate>) -> BTreeMap<&str, MutantFate> {
    fates.retain(|_, fate| matches!(fate, MutantFate::Killed(_)));
    fates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(file: &str, test: &str) -> Mutant {
        Mutant {
            promise: String::new(),
            test: test.into(),
            file: file.into(),
            find: "a".into(),
            replace: "b".into(),
        }
    }

    #[test]
    fn a_mutant_that_does_not_compile_leaves_half_of_its_company() {
        let all = ["a", "b", "bad", "d", "e"].map(|file| mutant(file, "t"));
        let mut asked = Vec::new();
        halved(&all.iter().collect::<Vec<_>>(), &mut |company| {
            let files: Vec<&str> = company.iter().map(|mutant| mutant.file.as_str()).collect();
            asked.push(files.join(" "));
            Ok(files.len() < 2 || !files.contains(&"bad"))
        })
        .expect("nothing fails");
        assert_eq!(asked, ["a b bad d e", "a b", "bad d e", "bad", "d e"]);
    }

    #[test]
    fn no_two_of_a_company_share_a_file_or_a_test() {
        let all = [
            mutant("a.rs", "t.rs::one"),
            mutant("a.rs", "t.rs::two"),
            mutant("b.rs", "t.rs::one"),
            mutant("b.rs", "t.rs::three"),
            mutant("c.toml", "t.rs::four"),
            mutant("d.rs", ".ci/supply::five"),
        ];
        let sizes: Vec<usize> = companies(&all.iter().collect::<Vec<_>>()).iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 2, 1, 1]);
    }
}
