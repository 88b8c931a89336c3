//! findings.json is what its published schema says.

use crate::report::schema::Schema;
use serde_json::Value;
use std::path::{Path, PathBuf};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::group::is_run;
use syscost_experiment::run::{Run, RunDir};

fn schema() -> Schema {
    Schema::new(include_str!("../../../docs/findings.schema.json"))
}

fn findings(run: &Run) -> Value {
    let mut out = Vec::new();
    syscost_report::findings::write(run, &Analysis::of(run), &mut out).expect("memory takes it");
    serde_json::from_slice(&out).expect("it is JSON")
}

/// Directories with a record of a run, at any depth.
fn recorded(folder: &Path, found: &mut Vec<PathBuf>) {
    if is_run(folder) {
        found.push(folder.to_path_buf());
    }
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.is_dir()).for_each(|path| recorded(&path, found));
}

#[test]
fn findings_of_every_recorded_run_are_what_the_schema_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut runs = Vec::new();
    ["docs/runs", "tests/data"].iter().for_each(|folder| recorded(&root.join(folder), &mut runs));
    assert!(runs.len() > 5, "{runs:?}");
    for path in runs {
        let run = RunDir::load(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let errors = schema().errors(&findings(&run));
        assert!(errors.is_empty(), "{}: {:#?}", path.display(), &errors[..errors.len().min(5)]);
    }
}

type Change = fn(&mut Value);

#[test]
fn what_the_schema_does_not_allow_is_found() {
    let right = findings(&crate::report::common::small_run());
    assert_eq!(schema().errors(&right), Vec::<String>::new());
    let wrong: [(&str, Change); 4] = [
        ("no run", |all| drop(all.as_object_mut().expect("a map").remove("run"))),
        ("does not name more", |all| all["trust"]["more"] = 1.into()),
        ("enum", |all| all["answers"][0]["verdict"] = "maybe".into()),
        ("type", |all| {
            all["recommendation"]["situations"][0]["advice"][0]["ranges"][0]["from"] = "1K".into()
        }),
    ];
    for (why, change) in wrong {
        let mut changed = right.clone();
        change(&mut changed);
        let errors = schema().errors(&changed);
        assert!(errors.iter().any(|error| error.contains(why)), "{why}: {errors:?}");
    }
}
