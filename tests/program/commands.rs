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

fn syscost(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syscost")).args(arguments).output().expect("it starts")
}

#[test]
fn a_record_of_commands_is_a_run_that_is_reported_compared_and_gated() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (today, before) = (place("today"), place("before"));
    let commands = ["-n", "fast", "sleep 0.002", "sleep 0.06", "sleep 0.06"];
    let kept = cmp(&[&commands[..], &["--out", &today]].concat());
    let said = String::from_utf8_lossy(&kept.stdout);
    assert!(kept.status.success() && said.contains("report.html"), "{said}");
    let answer = json(&[&commands[..], &["--out", &before, "--label", "before"]].concat());
    let record: Value = serde_json::from_slice(&std::fs::read(place("before/run.json")).unwrap()).unwrap();
    assert_eq!(
        (record["state"].as_str(), record["names"]["label"].as_str()),
        (Some("complete"), Some("before"))
    );
    // A command may be held against itself; the settings have its whole text.
    assert_eq!(record["plan"]["cases"][2]["point"]["own_command"], "sleep 0.06 (2)");
    assert_eq!(record["settings"]["0"]["caller.command"], "sleep 0.002");
    // What the record tells of a command is what cmp told.
    let report = syscost(&["report", &before, "--export-csv", "-"]);
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let mut rows = csv::Reader::from_reader(&*report.stdout);
    let columns = rows.headers().unwrap().clone();
    let column = |name: &str| columns.iter().position(|own| own == name).expect("a column");
    let of_fast =
        |row: &csv::StringRecord| &row[column("metric")] == "cost" && row.iter().any(|field| field == "fast");
    let row = rows.records().map(|row| row.unwrap()).find(of_fast).expect("the time of the first command");
    let (value, told): (f64, _) = (row[column("value")].parse().unwrap(), &answer["commands"][0]["wall_ns"]);
    assert!(
        (value / told["value"].as_f64().unwrap() - 1.0).abs() < 1e-6,
        "{value} of the record, {told} of cmp"
    );
    let findings: Value =
        serde_json::from_slice(&std::fs::read(place("before/findings.json")).unwrap()).unwrap();
    assert_eq!(findings["answers"][0]["shown"][0]["says"]["operation"], "fast", "{findings}");
    let compared = syscost(&["compare", &before, &today]);
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(compared.status.success() && text.contains("fast") && text.contains("sleep 0.06"), "{text}");
    let gated = syscost(&["gate", "--baseline", &before, "--budget", "99%", &today]);
    let said = String::from_utf8_lossy(&gated.stdout).into_owned() + &String::from_utf8_lossy(&gated.stderr);
    assert!(matches!(gated.status.code(), Some(0 | 4)), "{said}");
    // Nothing is written where something is, and nothing is left of what never ran.
    refused(&["true", "--out", &today], &["already holds files"]);
    let resumed = syscost(&["run", "--resume", &today]);
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert!(resumed.status.code() == Some(2) && said.contains("a record of syscost cmp"), "{said}");
    refused(&["false", "--out", &place("failed")], &["status 1"]);
    assert!(!folder.path().join("failed").exists());
}
