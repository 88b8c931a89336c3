//! Groups of runs: what `run --repeat` leaves, and how it ends.

use super::common::{signal, syscost};
use super::support::{SYSCOST, said, soon};
use std::path::Path;
use std::process::{Command, Stdio};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::group::{GROUP, member, members};

/// Runs of the clocks, a second each at most.
const SHORT: [&str; 5] = ["run", "timer", "--quiet", "--time-limit", "1s"];

#[test]
fn repeated_runs_are_whole_runs_of_one_group_with_their_names() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("base");
    let place = out.to_str().unwrap();
    let more = ["--repeat", "2", "--label", "old kernel", "--revision", "abc123", "--out", place];
    let done = syscost(&[&SHORT[..], &more].concat());
    assert!([0, 1].contains(&done.status.code().unwrap()), "{}", said(&done));
    assert!(String::from_utf8_lossy(&done.stdout).contains("2 runs"), "{}", said(&done));
    let runs = members(&out).unwrap();
    assert_eq!(runs.len(), 2);
    let records = runs.iter().map(|run| RunDir::load(run).unwrap().record).collect::<Vec<_>>();
    for record in &records {
        let names = [&record.names.label, &record.names.group, &record.names.revision];
        assert_eq!(names.map(|name| name.as_deref().unwrap()), ["old kernel", "base", "abc123"]);
    }
    assert_ne!(records[0].id, records[1].id);
    assert_eq!(shared(&out)["names"]["group"], "base");
    assert_eq!(shared(&out)["runs"], 2);
    let results = std::fs::read_to_string(runs[1].join("results.csv")).unwrap();
    assert!(results.lines().skip(1).all(|line| line.contains(&records[1].id)), "rows name their run");
    let again = syscost(&[&SHORT[..], &more].concat());
    assert_eq!(again.status.code(), Some(2), "a group is not written over: {}", said(&again));
}

fn shared(group: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(group.join(GROUP)).unwrap()).unwrap()
}

#[test]
fn a_group_that_is_stopped_ends_the_run_that_goes_on_and_begins_no_other() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("group");
    let mut command = Command::new(SYSCOST);
    command.args([
        "run",
        "timer",
        "--quiet",
        "--time-limit",
        "300s",
        "--precision",
        "0.0001%",
        "--repeat",
        "3",
    ]);
    let mut child = command.arg("--out").arg(&out).stdout(Stdio::null()).spawn().unwrap();
    soon("the first run", || members(&out).is_ok_and(|runs| runs.len() == 1));
    signal(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let runs = members(&out).unwrap();
    assert_eq!(runs.len(), 1, "no other run began");
    RunDir::load(&runs[0]).expect("what was measured is kept");
}

/// Groups of copies of a recorded run, named and so many.
fn copies(scratch: &Path, groups: &[(&str, u32)]) {
    for (group, runs) in groups {
        for number in 1..=*runs {
            let run = member(&scratch.join(group), number);
            std::fs::create_dir_all(&run).unwrap();
            let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small-run");
            let mut record: serde_json::Value =
                serde_json::from_slice(&std::fs::read(recorded.join("run.json")).unwrap()).unwrap();
            record["id"] = format!("{group}{number}").into();
            std::fs::write(run.join("run.json"), record.to_string()).unwrap();
            std::fs::copy(recorded.join("samples.csv"), run.join("samples.csv")).unwrap();
        }
    }
}

#[test]
fn two_sides_of_one_recorded_run_are_the_same_and_one_run_on_both_sides_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    copies(scratch.path(), &[("base", 2), ("new", 2)]);
    let [base, new, out] = ["base", "new", "out"].map(|name| scratch.path().join(name).display().to_string());
    let done = syscost(&["compare", "--out", &out, &base, "--", &new]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("0 worse, 0 better") && text.contains("0 undecided"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let table = std::fs::read_to_string(Path::new(&out).join("comparisons.csv")).unwrap();
    assert!(
        table.lines().skip(1).all(|line| line.contains(",same,") && line.contains("base1 base2")),
        "{table}"
    );
    let refused = syscost(&["compare", &base, "--", &base]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("both sides"), "{}", said(&refused));
}

#[test]
fn a_gate_ends_with_what_it_found() {
    let scratch = tempfile::tempdir().unwrap();
    copies(scratch.path(), &[("base", 2), ("new", 2), ("more", 2), ("one", 1)]);
    let place = |name: &str| scratch.path().join(name).display().to_string();
    let [base, new, more, one] = ["base", "new", "more", "one"].map(place);
    let gate = |arguments: &[&str]| syscost(&[&["gate", "--baseline", &base], arguments].concat());
    let ends = |arguments: &[&str], status: i32| {
        let done = gate(arguments);
        assert_eq!(done.status.code(), Some(status), "{arguments:?}: {}", said(&done));
        done
    };
    let within = ends(&["--budget", "5%", &new], 0);
    let text = String::from_utf8_lossy(&within.stdout).into_owned();
    assert!(text.trim_start().starts_with("0 over budget, ") && text.contains("within budget"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Identical runs have not become cheaper by a tenth.
    let junit = scratch.path().join("made/gate.xml");
    let target = format!("junit={}", junit.display());
    ends(&["--budget=-10%", "--write", &target, "--confirm", &more, &new], 1);
    assert!(std::fs::read_to_string(&junit).unwrap().contains("<failure type=\"exceeded\""));
    ends(&["--budget", "5%", &one], 4);
    for (when, status) in [("pass", 0), ("fail", 1), ("skip", 125)] {
        ends(&["--budget", "5%", "--undecided", when, &one], status);
    }
    for refused in [&base, &new] {
        ends(&["--budget", "5%", "--confirm", &new, refused], 3);
    }
    ends(&["--budget", "nothing=5%", &new], 3);
    ends(&["--budget", "much", &new], 2);
    ends(&["--budget", "5%", &place("none")], 2);
    let lines = ends(&["--budget=-10%", "--write", "github=-", &new], 1);
    assert!(String::from_utf8_lossy(&lines.stdout).lines().all(|line| line.starts_with("::error ")));
}
