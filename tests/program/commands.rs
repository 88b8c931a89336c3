//! `syscost cmp` as a user calls it. What is faster is no question here: times decide no test.

use serde_json::Value;
use std::process::{Command, Output};

fn cmp(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syscost"));
    command.args(["cmp", "--quiet", "--rounds", "3"]).args(arguments).output().expect("it starts")
}

fn json(arguments: &[&str]) -> Value {
    let out = cmp(&[arguments, &["--json"]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("a document")
}

fn refused(arguments: &[&str], words: &[&str]) {
    let out = cmp(arguments);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
}

#[test]
fn every_command_has_its_figures_and_a_verdict_against_the_first() {
    let all = json(&["-L", "n", "1..2", "seq {n}", "/bin/echo {n}"]);
    let commands = all["commands"].as_array().unwrap();
    let names: Vec<&str> = commands.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["seq 1", "seq 2", "/bin/echo 1", "/bin/echo 2"]);
    for one in commands {
        assert!(one["wall_ns"]["value"].as_f64().unwrap() > 0.0, "{one}");
        assert_eq!(one["wall_ns_by_round"].as_array().unwrap().len(), 3, "{one}");
        assert!(one["output_bytes"].as_u64().unwrap() >= 2, "{one}");
        assert!(one["page_faults"].as_f64().unwrap() > 0.0, "{one}");
    }
    let against_first = all["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["metric"] == "wall" && one["against"] == 0);
    assert_eq!(against_first.count(), 3);
    assert!(all["notes"].to_string().contains("output differs"), "{}", all["notes"]);
    assert_eq!(all["shell"], Value::Null, "none of them needs one");
}

#[test]
fn what_happens_around_a_run_happens_as_often_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str| folder.path().join(name);
    let append = |name: &str| format!("echo x >> {}", log(name).display());
    let times = |name: &str| std::fs::read_to_string(log(name)).map_or(0, |text| text.lines().count());
    let (setup, prepare, cleanup) = (append("setup"), append("prepare"), append("cleanup"));
    let (one, other) = (append("one"), append("other"));
    let all = json(&["--setup", &setup, "--prepare", &prepare, "--cleanup", &cleanup, &one, &other]);
    assert_eq!(all["shell"], "sh", "they write to a file");
    assert_eq!((times("setup"), times("cleanup")), (2, 2), "once for each command");
    // One more run of each looks at its output.
    assert_eq!(times("prepare"), times("one") + times("other") - 2);
    assert_eq!(times("one"), times("other"), "they take turns");
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_do() {
    refused(&["true", "no-such-program"], &["no-such-program", "PATH"]);
    refused(&["true", "false"], &["status 1", "--ignore-failure"]);
    refused(&["true", "sh -c 'kill -9 $$'"], &["signal 9"]);
    refused(&["--time-limit", "200ms", "sleep 30"], &["time limit", "--time-limit"]);
    refused(&["-L", "n", "1..3", "true"], &["{n}"]);
    refused(&["--prepare", "true", "--prepare", "true", "true", "true", "true"], &["--prepare", "2 times"]);
    refused(&["--prepare", "exit 3", "true"], &["exit 3"]);
    refused(&["--shell", "false", "--setup", "true", "true"], &["true: exit status: 1"]);
    assert!(cmp(&["--ignore-failure", "false", "true"]).status.success());
}

#[test]
fn exports_have_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (markdown, csv) = (file("a.md"), file("a.csv"));
    let out = cmp(&[
        "--export-markdown",
        &markdown,
        "--export-csv",
        &csv,
        "-n",
        "first",
        "-n",
        "second",
        "true",
        "true",
    ]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success() && said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let written = std::fs::read_to_string(&markdown).unwrap();
    assert!(written.contains("| command |") && written.contains("second"), "{written}");
    let mut reader = csv::Reader::from_path(&csv).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    assert_eq!(rows.iter().filter(|row| &row[1] == "wall").count(), 2);
    assert!(rows.iter().any(|row| &row[0] == "second" && !row[11].is_empty()), "{rows:?}");
}
