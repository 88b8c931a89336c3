//! The mutants, and the promises that they break.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::Path;

/// Where the promises stand.
const PAGE: &str = "docs/reliability.md";
/// One file for each part of that page.
const FOLDER: &str = "tools/xtask/mutants";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// How its line on the page begins.
    pub promise: String,
    /// `FILE::FUNCTION`, as the page names it. Where the line names one test, that is it.
    #[serde(default)]
    pub test: String,
    /// From the root.
    pub file: String,
    /// Stands in the file once.
    pub find: String,
    pub replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantFile {
    mutant: Vec<Mutant>,
}

/// A line of the page.
struct PromiseLine {
    text: String,
    tests: Vec<String>,
}

impl Mutant {
    pub fn has(&self, wanted: &str) -> bool {
        [&self.promise, &self.test, &self.file].iter().any(|text| text.contains(wanted))
    }

    /// The file's content with the mutant in it.
    pub fn applied(&self, content: &str) -> Result<String> {
        let found = content.matches(&self.find).count();
        ensure!(found == 1, "{}: {:?} stands there {found} times, not once", self.file, self.find);
        ensure!(self.find != self.replace, "{}: {:?} is replaced by itself", self.file, self.find);
        Ok(content.replacen(&self.find, &self.replace, 1))
    }
}

/// Every mutant, each with its promise in full and its test.
pub fn list(root: &Path) -> Result<Vec<Mutant>> {
    let promises = promises(root)?;
    read(root)?.into_iter().map(|mutant| resolved(mutant, &promises)).collect()
}

fn resolved(mutant: Mutant, promises: &[PromiseLine]) -> Result<Mutant> {
    let begins: Vec<&PromiseLine> = promises.iter().filter(|p| p.text.starts_with(&mutant.promise)).collect();
    let [promise] = begins[..] else {
        anyhow::bail!("{} lines of {PAGE} begin with {:?}, not one", begins.len(), mutant.promise);
    };
    let test = match &promise.tests[..] {
        [only] if mutant.test.is_empty() => only.clone(),
        _ => mutant.test.clone(),
    };
    ensure!(promise.tests.contains(&test), "{PAGE}: {:?} is not kept by {test:?}", promise.text);
    Ok(Mutant { promise: promise.text.clone(), test, ..mutant })
}

fn read(root: &Path) -> Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for entry in std::fs::read_dir(root.join(FOLDER)).context(FOLDER)? {
        let path = entry?.path();
        let file: MutantFile =
            toml::from_str(&std::fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
        mutants.extend(file.mutant);
    }
    Ok(mutants)
}

fn promises(root: &Path) -> Result<Vec<PromiseLine>> {
    let page = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let rows =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | "));
    let promise = |(text, tests): (&str, &str)| PromiseLine {
        text: text.into(),
        tests: tests.split('`').filter(|name| name.contains("::")).map(String::from).collect(),
    };
    Ok(rows.map(promise).filter(|promise| !promise.tests.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root")
    }

    #[test]
    fn every_promise_has_a_mutant_that_applies_to_this_tree() {
        let mutants = list(root()).expect("every mutant names a promise and its test");
        for mutant in &mutants {
            let content = std::fs::read_to_string(root().join(&mutant.file)).expect(&mutant.file);
            mutant.applied(&content).unwrap_or_else(|error| panic!("{}: {error}", mutant.promise));
        }
        let promises = promises(root()).expect("the page");
        assert!(promises.len() > 100, "{} promises read", promises.len());
        let without: Vec<String> = promises
            .iter()
            .flat_map(|promise| promise.tests.iter().map(move |test| (promise, test)))
            .filter(|(promise, test)| !mutants.iter().any(|m| m.promise == promise.text && m.test == **test))
            .map(|(promise, test)| format!("{:.60}: {test}", promise.text))
            .collect();
        assert!(without.is_empty(), "no mutant shows that these notice anything:\n{}", without.join("\n"));
    }

    #[test]
    fn a_mutant_replaces_one_place_or_none() {
        let mutant = |find: &str, replace: &str| Mutant {
            promise: String::new(),
            test: String::new(),
            file: "a.rs".into(),
            find: find.into(),
            replace: replace.into(),
        };
        assert_eq!(mutant("one", "two").applied("one and more").unwrap(), "two and more");
        for wrong in [mutant("o", "p"), mutant("none", "some"), mutant("one", "one")] {
            assert!(wrong.applied("one and more").is_err(), "{wrong:?}");
        }
    }
}
