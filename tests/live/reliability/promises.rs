//! The page of promises and the tests agree: each promise names a test that exists, or a step of
//! `.ci/supply`, and each of those is named by a promise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The script whose steps keep promises that need whole builds.
const STEPS: &str = ".ci/supply";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What the page names as `FILE::FUNCTION`.
fn named() -> BTreeSet<(String, String)> {
    let page = std::fs::read_to_string(root().join("docs/reliability.md")).expect("the page exists");
    let quoted = page.split('`').skip(1).step_by(2);
    let tests = quoted.filter_map(|text| text.split_once("::"));
    let tests = tests.filter(|(file, _)| file.ends_with(".rs") || *file == STEPS);
    tests.map(|(file, function)| (file.to_string(), function.to_string())).collect()
}

/// The steps that the script takes, in its list, each a function of it.
fn steps() -> Vec<String> {
    let text = std::fs::read_to_string(root().join(STEPS)).expect("the script exists");
    let list =
        text.split("\nsteps=(").nth(1).and_then(|rest| rest.split(')').next()).expect("its list of steps");
    let steps: Vec<String> = list.split_whitespace().map(String::from).collect();
    for step in &steps {
        assert!(
            text.contains(&format!("\n{step}() {{\n")),
            "{STEPS} lists {step}, which is no function of it"
        );
    }
    steps
}

/// The functions of a file that are tests, property tests among them.
fn tests_of(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut found = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        marked |= line == "#[test]";
        if let (true, Some(rest)) = (marked, line.strip_prefix("fn ")) {
            found.extend(rest.split('(').next().map(str::to_string));
            marked = false;
        }
    }
    found
}

#[test]
fn every_promise_names_a_test_and_every_test_is_promised() {
    let named = named();
    assert!(!named.is_empty(), "the page names no test");
    let steps = steps();
    for step in &steps {
        assert!(
            named.contains(&(STEPS.into(), step.clone())),
            "docs/reliability.md does not name {STEPS}::{step}"
        );
    }
    for (file, function) in &named {
        let tests = if file == STEPS { steps.clone() } else { tests_of(&root().join(file)) };
        assert!(tests.contains(function), "docs/reliability.md names {file}::{function}, which is no test");
    }
    let entries = std::fs::read_dir(root().join("tests/live/reliability")).expect("this folder");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let file = format!("tests/live/reliability/{}", path.file_name().expect("a name").to_string_lossy());
        if path.extension().is_none_or(|e| e != "rs") {
            continue;
        }
        for function in tests_of(&path) {
            assert!(
                named.contains(&(file.clone(), function.clone())),
                "docs/reliability.md does not name {file}::{function}"
            );
        }
    }
}
