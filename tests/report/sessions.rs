//! Sessions of a run on other machines: shown apart, and in no figure of it.

use crate::common;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use syscost_experiment::run::{Run, RunDir};

fn written(path: &Path, run: &Run) {
    RunDir::create(path, &run.record).unwrap().append(&run.samples).unwrap();
}

/// The same experiment on a machine that is so much slower.
fn elsewhere(factor: f64) -> Run {
    let mut run = common::small_run();
    let slower = run.samples.iter().cloned().map(|mut sample| {
        sample.elapsed_ns *= factor;
        sample
    });
    run.samples = slower.collect::<Vec<_>>().into();
    for (id, value) in [("cpu_model", "Another CPU"), ("kernel_release", "9.9.9-elsewhere")] {
        run.record.host.iter_mut().find(|fact| fact.id == id).expect("it is known").value =
            Some(value.into());
    }
    run
}

fn report(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_syscost")).arg("report").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const TABLES: [&str; 3] = ["results.csv", "comparisons.csv", "findings.json"];

#[test]
fn sessions_of_other_machines_are_shown_apart_and_pooled_with_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let (alone, dir) = (scratch.path().join("alone"), scratch.path().join("run"));
    for path in [&alone, &dir] {
        written(path, &common::small_run());
    }
    written(&dir.join("session-2"), &elsewhere(10.0));
    fs::create_dir(dir.join("session-3")).unwrap();
    fs::write(dir.join("session-3/run.json"), "{").unwrap();
    symlink(&alone, dir.join("session-4")).unwrap();

    report(&[alone.to_str().unwrap()]);
    let text = report(&[dir.to_str().unwrap()]);
    let read = |dir: &Path, file: &str| fs::read_to_string(dir.join(file)).unwrap();
    for file in TABLES {
        assert_eq!(read(&dir, file), read(&alone, file), "{file} has another machine's figures");
    }
    for (place, said) in [("terminal", &text), ("page", &read(&dir, "report.html"))] {
        for part in ["session-2", "Another CPU", "9.9.9-elsewhere", "session-3 could not be read"] {
            assert!(said.contains(part), "no {part} on the {place}");
        }
        assert!(!said.contains("session-4"), "a link leads elsewhere");
    }
    assert!(read(&dir, "report.html").contains("cpu_model was "), "what differs is named");
    assert!(!read(&alone, "report.html").contains("Other sessions"));

    let json: serde_json::Value = serde_json::from_str(&report(&["--json", dir.to_str().unwrap()])).unwrap();
    let session = dir.join("session-2");
    assert_eq!(json["sessions"][0]["dir"], session.to_str().unwrap());
    let own: serde_json::Value =
        serde_json::from_str(&report(&["--json", session.to_str().unwrap()])).unwrap();
    assert_eq!(json["sessions"][0]["verdict"], own["verdict"], "it answers as it does by itself");
    assert!(own["verdict"].as_array().is_some_and(|sentences| !sentences.is_empty()));
    assert_ne!(read(&session, "results.csv"), read(&dir, "results.csv"));
}
