//! The command line as a person meets it: help, listings, and what bad input is answered.

use assert_cmd::Command;
use predicates::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::spec::Spec;
use tempfile::TempDir;

fn syscost(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syscost"));
    command.args(arguments).env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    command
}

fn stdout(arguments: &[&str]) -> String {
    let output = syscost(arguments).output().expect("it starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What a refused command says: status 2, nothing on stdout, one short message without debris.
fn refused(arguments: &[&str]) -> String {
    let output = syscost(arguments).output().expect("it starts");
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let message = message.strip_prefix("error: ").unwrap_or_else(|| panic!("{arguments:?}: {message}"));
    for debris in ["panicked", "RUST_BACKTRACE", "Error {", "Os {", "Some("] {
        assert!(!message.contains(debris), "{arguments:?}: {message}");
    }
    assert!(message.trim_end().lines().count() == 1, "one message: {message}");
    message.trim_end().to_string()
}

fn contains(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn short_help_has_what_matters_and_the_axes_have_a_page() {
    let run = stdout(&["run", "-h"]);
    assert!(run.lines().count() <= 40 && run.lines().all(|line| line.chars().count() <= 80), "{run}");
    for option in ["quick", "time-limit", "out", "resume", "mechanism", "size", "threads", "path"] {
        assert!(run.contains(&format!("\n      --{option} ")), "{option} is not in: {run}");
    }
    assert!(run.contains("syscost help axes"), "{run}");
    let (axes, whole) = (stdout(&["help", "axes"]), stdout(&["run", "--help"]));
    assert_eq!(axes, stdout(&["axes"]));
    assert!(axes.lines().all(|line| line.chars().count() <= 80), "{axes}");
    assert!(whole.lines().count() < 200, "{whole}");
    for axis in syscost_measure::probe::ALL.iter().flat_map(|p| p.axes()) {
        let flag = format!("--{}", axis.flag);
        assert!(axes.contains(&format!("\n      {flag} <")), "{flag}");
        assert!(whole.split_whitespace().any(|word| word == flag), "{flag}");
    }
}

#[test]
fn list_fits_a_terminal_and_names_everything() {
    use syscost_measure::{mechanism, probe, receiver};
    let list = stdout(&["list"]);
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    let ways = mechanism::ALL.iter().map(|m| m.about().id).chain(receiver::ALL.iter().map(|r| r.about().id));
    for id in ways.chain(probe::ALL.iter().map(|p| p.about().id)) {
        assert!(list.contains(&format!("\n  {id}")), "{id} is not in: {list}");
    }
    for probe in probe::ALL {
        let list = stdout(&["list", probe.about().id]);
        assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
        for axis in probe.axes() {
            assert!(list.contains(&format!("\n  --{}", axis.flag)), "{} is not in: {list}", axis.flag);
        }
        for metric in probe.metrics() {
            assert!(list.contains(&format!("\n  {}", metric.id)), "{} is not in: {list}", metric.id);
        }
    }
}

#[test]
fn list_as_json_names_what_the_text_names() {
    let text = stdout(&["list"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&["list", "--json"])).expect("JSON");
    for room in ["experiments", "probes", "mechanisms", "receivers"] {
        let entries = json[room].as_array().unwrap_or_else(|| panic!("{room}"));
        assert!(!entries.is_empty(), "{room}");
        for entry in entries {
            let name = entry["id"].as_str().or(entry["name"].as_str()).expect("a name");
            assert!(text.contains(&format!("  {name}")), "{name}");
        }
    }
    for mechanism in json["mechanisms"].as_array().expect("list") {
        let mentions = mechanism["available"] == true || mechanism["reason"].is_string();
        assert!(mentions, "{mechanism}");
    }
}

#[test]
fn a_plan_kept_as_toml_is_the_same_plan() {
    let dir = TempDir::new().expect("temporary directory");
    let file = dir.path().join("mine.toml");
    let flags = ["--path", "loopback", "--size", "64,1M", "--threads", "1,2", "--quick", "--seed", "9"];
    fs::write(&file, stdout(&[&["plan", "--toml"], &flags[..]].concat())).expect("written");
    let again = stdout(&["plan", "--json", file.to_str().expect("UTF-8")]);
    assert_eq!(again, stdout(&[&["plan", "--json"], &flags[..]].concat()));
}

#[test]
fn values_that_an_axis_refuses() {
    contains(
        &refused(&["run", "--mechanism", "sendmesg"]),
        &["--mechanism", "did you mean sendmsg?", "valid are"],
    );
    contains(&refused(&["run", "--mechanism", "zerocopy"]), &["did you mean msg_zerocopy?"]);
    contains(&refused(&["run", "--size", "0"]), &["\"0\" is not a value of --size", "the smallest is 8 B"]);
    contains(&refused(&["run", "--size", "64Q"]), &["--size", "write bytes (4096) or a number with K, M, G"]);
    contains(&refused(&["run", "--size", "1T"]), &["--size", "the largest is 1 GiB"]);
    contains(&refused(&["run", "--threads", "10,000"]), &["--threads", "the smallest is 1"]);
    contains(&refused(&["run", "--threads", "10000"]), &["\"10000\"", "--threads", "the largest is 1024"]);
    // A bound is told as it may be typed.
    contains(&refused(&["run", "--mtu", "64K", "--path", "veth"]), &["--mtu", "the largest is 65535 B"]);
    contains(&refused(&["run", "--size", "10000T"]), &["--size", "the largest is 1 GiB"]);
    contains(
        &refused(&["run", "--placement", "0:100000"]),
        &["CPU 100000 does not exist", "choose from CPUs"],
    );
    contains(&refused(&["run", "--placement", "left"]), &["--placement", "write different, same, none"]);
}

/// Of a command line that is not understood, one that cannot be done, and a subcommand with an ending of its own.
#[test]
fn an_error_is_a_document_where_json_was_asked_for() {
    let asked: [&[&str]; 5] = [
        &["run", "--nonesuch"],
        &["plan", "--size", "0"],
        &["report", "/nonesuch"],
        &["check", "--mechanism", "nonesuch"],
        &["gate", "--baseline", "/nonesuch", "--budget", "5%", "/nonesuch"],
    ];
    for arguments in asked {
        let output = syscost(arguments).arg("--json").output().expect("it starts");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
        let said = String::from_utf8_lossy(&output.stderr);
        let error = told["error"].as_str().expect("an error");
        assert!(told["event"] == "error" && said.contains(error), "{arguments:?}: {told} {said}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn more_memory_than_there_is() {
    // 1024 threads x 1 GiB x what a sender holds: more than any machine this runs on has.
    let message = refused(&["run", "--size", "1G", "--threads", "1024", "--path", "loopback"]);
    contains(&message, &["of memory, and this machine", "to give; --size", "would fit"]);
}

#[test]
fn limits_that_no_run_can_keep() {
    contains(&refused(&["run", "--precision", "0"]), &["--precision: '0' is not a share", "5%"]);
    contains(&refused(&["run", "--precision", "100%"]), &["--precision"]);
    contains(&refused(&["run", "--time-limit", "0"]), &["the time limit must be at least 1s"]);
    contains(&refused(&["run", "--time-limit", "soon"]), &["--time-limit: 'soon' is not a duration", "90s"]);
    contains(&refused(&["run", "--time-limit", "1000000h"]), &["'1000000h' is too long", "8760h"]);
    contains(&refused(&["run", "--seed", "lucky"]), &["--seed: 'lucky' is not a whole number"]);
}

#[test]
fn experiments_that_cannot_be_read() {
    let dir = TempDir::new().expect("temporary directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_string()
    };
    let broken = file("broken.toml", "name = \"x\"\n[[probe\n");
    contains(&refused(&["run", &broken]), &["broken.toml:2:", "this is not TOML"]);
    let unknown = file("unknown.toml", "precison = \"5%\"\n");
    contains(&refused(&["run", &unknown]), &["unknown.toml:1:1", "\"precison\"", "did you mean precision?"]);
    let axis = file("axis.toml", "[[probe]]\nid = \"transfer\"\ntreads = 2\n");
    contains(&refused(&["run", &axis]), &["axis.toml:3:1", "did you mean threads?"]);
    contains(&refused(&["run", "defualt"]), &["there is no experiment \"defualt\"", "did you mean default?"]);
    contains(
        &refused(&["run", "missing.toml"]),
        &["cannot read the experiment missing.toml", "No such file"],
    );
    contains(&refused(&["run", dir.path().to_str().unwrap()]), &["is a directory, not an experiment"]);
}

/// The smallest run there is.
const SMALL: &[&str] = &["run", "--path", "loopback", "--size", "64", "--threads", "1", "--time-limit", "1s"];

#[test]
fn directories_that_cannot_be_used() {
    let dir = TempDir::new().expect("temporary directory");
    let run_into = |out: &Path| refused(&[SMALL, &["--out", out.to_str().expect("UTF-8")]].concat());
    let full = dir.path().join("full");
    fs::create_dir(&full).expect("made");
    fs::write(full.join("notes.txt"), "mine").expect("written");
    contains(&run_into(&full), &["already holds files", "--out"]);
    fs::write(full.join("run.json"), "{}").expect("written");
    contains(&run_into(&full), &["already holds files", "syscost run --resume"]);
    let file = dir.path().join("file");
    fs::write(&file, "").expect("written");
    contains(&run_into(&file), &["is not a directory", "--out"]);
    contains(&run_into(&file.join("below")), &["is not a directory", "--out"]);
    // Nobody may write there, not even root.
    contains(&run_into(Path::new("/proc/syscost")), &["cannot write /proc/syscost"]);
    assert_eq!(fs::read_to_string(full.join("notes.txt")).expect("still there"), "mine");
}

#[test]
fn what_is_no_run_is_neither_reported_nor_resumed() {
    let dir = TempDir::new().expect("temporary directory");
    let path = dir.path().to_str().expect("UTF-8");
    contains(&refused(&["report", path]), &["is not a run directory", "run.json"]);
    contains(&refused(&["run", "--resume", path]), &["is not a run directory"]);
    contains(
        &refused(&["run", "--resume", path, "--size", "64"]),
        &["--size cannot be used with --resume", "a resumed run keeps its cases"],
    );
}

#[test]
fn wrong_usage_is_answered_by_the_parser() {
    contains(&refused(&["rnu"]), &["there is no command \"rnu\": did you mean run?"]);
    for arguments in [&["run", "--sizes", "64"][..], &["report"]] {
        let output = syscost(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("Usage: syscost"), "{arguments:?}: {message}");
    }
}

#[test]
fn completions_and_man_pages_hold_the_axes() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        for word in ["congestion", "msg_zerocopy", "resume"].into_iter().chain(Spec::names()) {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // Those that syscost gives itself: no help shows them.
        for hidden in ["baton", "no-report", "fleet step", "subcmd__step"] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
        }
    }
    assert!(stdout(&["man"]).starts_with(".ie"));
    let dir = TempDir::new().expect("temporary directory");
    stdout(&["man", "--out", dir.path().to_str().expect("UTF-8")]);
    let page = fs::read_to_string(dir.path().join("syscost-run.1")).expect("a page for each subcommand");
    assert!(page.contains("congestion") && page.contains("in\\-flight"), "{page}");
}

#[test]
fn doctor_says_what_to_do() {
    let json: serde_json::Value = serde_json::from_str(&stdout(&["doctor", "--json"])).expect("JSON");
    let checks = json.as_array().expect("a list");
    assert!(checks.len() > 5);
    let text = stdout(&["doctor"]);
    for check in checks {
        assert!(text.contains(check["title"].as_str().expect("a title").split(' ').next().expect("a word")));
    }
}

#[test]
fn a_strict_doctor_ends_with_what_it_found() {
    let output = syscost(&["doctor", "--strict", "--json"]).output().expect("it starts");
    let checks: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let bad = checks.as_array().expect("a list").iter().any(|check| check["status"] == "bad");
    assert_eq!(output.status.code(), Some(i32::from(bad)), "{checks}");
    // No machine has this path: whatever else is good here, what was named cannot be measured.
    let output =
        syscost(&["doctor", "--strict", "--path", "netns:no-such-namespace"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_run_begins_with_what_the_machine_is_like_and_ends_with_where_its_time_went() {
    let dir = TempDir::new().expect("temporary directory");
    let out = dir.path().join("run");
    let arguments = ["run", "--time-limit", "2s", "--path", "loopback", "--size", "64", "--threads", "1"];
    let ran =
        syscost(&arguments).args(["--mechanism", "send", "--out"]).arg(&out).output().expect("it starts");
    let (said, shown) = (String::from_utf8_lossy(&ran.stderr), String::from_utf8_lossy(&ran.stdout));
    let first = said.lines().next().expect("a line");
    let judged = ["quiet enough", "longer", "cannot be seen here"].iter().any(|end| first.ends_with(end));
    assert!(judged && first.contains("CPU") && first.chars().count() <= 80, "{said}");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains(first), "the report says it again: {first}");
    let (_, time) = page.split_once("Time: ").expect("where the time went");
    let (share, _) = time.split_once("was timed").expect("how much was timed");
    assert!(share.contains("% of ") && share.len() < 30, "{share}");
    let wide = shown.lines().filter(|line| !line.contains(&*out.to_string_lossy()));
    assert_eq!(wide.filter(|line| line.chars().count() > 80).collect::<Vec<_>>(), [""; 0]);
}

/// The rounds of a case that two were asked of, in a row: for one that the machine disturbed from beginning to end
/// there is another, up to two.
fn two_rounds(out: &str, case: usize) -> BTreeSet<u32> {
    let run = RunDir::load(Path::new(out)).expect("a valid run");
    let of_case = || run.samples.iter().filter(|s| s.case == case);
    let rounds: BTreeSet<u32> = of_case().map(|s| s.round).collect();
    let used: BTreeSet<u32> = of_case().filter(|s| s.usable()).map(|s| s.round).collect();
    let enough = used.len() == 2 || used.len() < 2 && rounds.len() == 4;
    assert!(enough && rounds.iter().copied().eq(0..rounds.len() as u32), "{rounds:?}, used {used:?}");
    assert!(rounds.len() <= 4, "{rounds:?}");
    rounds
}

#[test]
fn a_run_writes_its_directory_and_is_continued_and_reported() {
    let dir = TempDir::new().expect("temporary directory");
    let at = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_string();
    let (out, spec) = (at("run"), at("two-rounds.toml"));
    fs::write(&spec, "min_rounds = 2\nmax_rounds = 2\ntime_limit = \"60s\"\n[[probe]]\nid = \"transfer\"\n")
        .unwrap();
    let axes = ["--path", "loopback", "--size", "64", "--threads", "1", "--placement", "none"];
    let arguments =
        [&["run", &spec, "--json", "--out", &out, "--mechanism", "pack_send"], &axes[..]].concat();
    let events: Vec<serde_json::Value> = stdout(&arguments)
        .lines()
        .map(|line| serde_json::from_str(line).expect("one object a line"))
        .collect();
    let named = |name: &str| events.iter().filter(|e| e["event"] == name).count();
    assert_eq!((named("started"), named("finished"), named("written")), (1, 1, 1));
    let place = |name: &str| events.iter().position(|e| e["event"] == name).expect("it is told");
    assert!(place("machine") < place("case_done"), "the machine is judged before anything is measured");
    assert_eq!(named("case_done"), 1, "once, when it gets no more rounds: {events:?}");
    // Two rounds of the one case: another for each that the machine disturbed.
    let done = named("case_visited");
    assert!((2..=4).contains(&done), "{events:?}");
    assert_eq!(named("case_failed"), 0, "{events:?}");
    let read = |name: &str| fs::read_to_string(Path::new(&out).join(name)).expect(name);
    assert!(read("report.html").contains("<html"));

    let rounds = || two_rounds(&out, 0).len();
    assert_eq!(rounds(), done);
    let samples = read("samples.csv");
    // As if it had been killed early, in the middle of a row.
    fs::write(Path::new(&out).join("samples.csv"), &samples[..samples.len() / 2]).expect("cut");
    let reported = syscost(&["report", &out]).output().expect("it starts");
    // The header may be more than half of so few rows.
    let said = String::from_utf8_lossy(&reported.stderr);
    assert!(reported.status.success() || said.contains("could not be measured"), "{said}");
    let resumed = stdout(&["run", "--resume", &out, "--json"]);
    assert!((2..=4).contains(&rounds()), "every round is there again: {resumed}");

    let record = RunDir::load(Path::new(&out)).expect("a valid run").record;
    assert_eq!(record.conditions.len(), 2, "one a session");
    assert!(record.conditions.iter().all(|session| session.during.watched_ns > 0 && session.before.cpus > 0));
    let spent = record.time_spent.expect("a run of now");
    assert!(spent.timed_ns > 0 && spent.warm_up_ns > 0 && spent.starting_ns > 0, "{spent:?}");
    let efficiency = spent.efficiency(record.elapsed_ns);
    assert!((0.0..1.0).contains(&efficiency), "{efficiency}");

    let results = read("results.csv");
    stdout(&["report", &out]);
    assert_eq!(results, read("results.csv"), "rebuilding changes nothing");
}

/// A stage of refinement is in the plan before its first sample: whoever kills the run then loses nothing.
#[test]
fn a_stage_of_refinement_that_was_planned_is_measured_on_resume() {
    let dir = TempDir::new().expect("temporary directory");
    let at = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_string();
    let (out, spec) = (at("run"), at("refining.toml"));
    let text = "min_rounds = 1\nmax_rounds = 1\ntime_limit = \"60s\"\n[refine]\naxes = [\"message_bytes\"]\nstages = 1\n\
                [[probe]]\nid = \"transfer\"\nmechanism = [\"send\", \"pack_send\"]\n";
    fs::write(&spec, text).unwrap();
    let axes = ["--path", "loopback", "--size", "64,4K", "--threads", "1", "--placement", "none"];
    let events = stdout(&[&["run", &spec, "--json", "--out", &out], &axes[..]].concat());
    assert_eq!(events.matches("\"event\":\"started\"").count(), 1, "{events}");
    assert_eq!(events.matches("\"event\":\"finished\"").count(), 1, "{events}");
    let record = Path::new(&out).join("run.json");
    let read = || -> serde_json::Value { serde_json::from_slice(&fs::read(&record).unwrap()).unwrap() };
    let mut killed = read();
    // One round decides nothing, so no stage was wanted.
    assert!(killed["plan"]["refinements"].is_null());
    let cases = killed["plan"]["cases"].as_array_mut().expect("a list");
    let index = cases.len();
    let mut added = cases[0].clone();
    added["index"] = index.into();
    added["point"]["message_bytes"] = 512.into();
    cases.push(added);
    killed["plan"]["refinements"] = serde_json::json!([{ "first_case": index, "cases": 1 }]);
    killed["state"] = "running".into();
    fs::write(&record, serde_json::to_vec(&killed).unwrap()).unwrap();
    stdout(&["run", "--resume", &out]);
    let run = RunDir::load(Path::new(&out)).expect("a valid run");
    let of_stage = || run.samples.iter().filter(|s| s.case == index);
    // A window that was held up on a busy machine is missing: never all of a round's.
    assert!(of_stage().count() >= 1, "one round");
    // A round that the machine disturbed is made up for, so that the one used is one all the same.
    assert!(of_stage().filter(|s| s.usable()).count() <= 3, "of up to three windows");
    assert_eq!(read()["state"], "complete");
}

/// What `compare` finds between two variants, `history` finds between neighbours; several cases are asked apart.
#[test]
fn a_history_says_between_which_runs_a_case_changed() {
    let group = format!("{}/docs/runs/compare/planted", env!("CARGO_MANIFEST_DIR"));
    let of = |way| stdout(&["history", &group, "--probe", "transfer", "--at", way]);
    assert!(
        of("mechanism=sendmsg").contains("new planted beside old planted: 1.03 [1.02, 1.04] worse"),
        "{}",
        of("mechanism=sendmsg")
    );
    let told =
        predicates::str::contains("2 cases of this").and(predicates::str::contains("mechanism=sendmsg"));
    syscost(&["history", &group]).assert().code(2).stderr(told);
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["history", &group, "--at", "mechanism=send", "--json"]))
            .expect("JSON");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(16));
}

#[test]
fn a_fleet_is_not_planned_with_steps_that_no_run_takes() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("fleet");
    let plan = ["fleet", "plan", "--hosts", "n[1-4]", "--engine", "local", "--out", out.to_str().unwrap()];
    for (option, run, told) in [
        ("--pair-run", "run --size 64K", "no experiment \"run\""),
        ("--pair-run", "transfer --size 64K --treads 1", "--treads"),
        ("--each", "os --mechanism send", "does not apply"),
    ] {
        let message = refused(&[&plan[..], &["--pairs", "all", option, run]].concat());
        contains(&message, &[option, told]);
        assert!(!out.exists());
    }
}

#[test]
fn a_check_verifies_without_writing() {
    let arguments =
        ["check", "--path", "loopback", "--size", "64,4K", "--threads", "1,2", "--placement", "none"];
    let dir = TempDir::new().expect("temporary directory");
    let output = syscost(&arguments).current_dir(dir.path()).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("verified"), "{text}");
    assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0);
}
