//! Code of the user's own, compiled here: what works takes turns with what is built in, and what goes wrong is a failed case
//! under its name, or an object that is refused with the reason.

use crate::common::{self, SYSCOST, said};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/sys/include");
const LIARS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/own/liars.c");
/// Rivals of 4 KiB alone, for some seconds, into `run`.
pub const SHORT_RUN: [&str; 11] =
    ["--path", "loopback", "--size", "4K", "--threads", "1", "--time-limit", "8s", "--quiet", "--out", "run"];
pub const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/own");

/// Compiles a source to an object in this folder; `None`, with the reason, where there is no compiler.
pub fn compiled(test: &str, compiler: &str, source: &str, object: &Path, more: &[&str]) -> Option<PathBuf> {
    let standard = if compiler == "g++" { "-std=c++11" } else { "-std=c11" };
    let fixed = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,--build-id", "-I", HEADERS];
    let made = Command::new(compiler)
        .arg(standard)
        .args(fixed)
        .args(more)
        .arg("-o")
        .arg(object)
        .arg(source)
        .output();
    let Ok(made) = made else {
        common::skipped(test, &format!("there is no {compiler}"));
        return None;
    };
    assert!(made.status.success(), "{}", said(&made));
    Some(object.to_path_buf())
}

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(SYSCOST).args(arguments).current_dir(folder).output().expect("the binary starts")
}

/// What `check --json` says of each case: its name in the plan, and why it failed.
pub fn checked(folder: &Path, option: &str, values: &str, axis: &str) -> Vec<(String, Option<String>)> {
    let mut arguments = vec!["check", option, values, "--json"];
    if option != "--operation" {
        arguments.extend(["--path", "loopback", "--size", "4K", "--threads", "1"]);
    }
    if option == "--receiver" {
        arguments.extend(["--mechanism", "send"]);
    }
    let done = run(folder, &arguments);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let events = String::from_utf8_lossy(&done.stdout);
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event a line"));
    let ended = events.filter_map(|event| {
        let name = event["case"]["point"][axis].as_str()?.to_string();
        match event["event"].as_str()? {
            "case_done" => Some((name, None)),
            "case_failed" => Some((name, Some(event["message"].as_str()?.to_string()))),
            _ => None,
        }
    });
    ended.collect()
}

/// What becomes of every way of `liars.c` that this option takes, and of a built-in one; the two that are honest work.
fn liars(test: &str, axis: &str, honest: [&str; 2]) -> Option<Vec<(String, Option<String>)>> {
    let folder = tempfile::tempdir().unwrap();
    compiled(test, "gcc", LIARS, &folder.path().join("liars.so"), &[])?;
    let values = format!("./liars.so,{}", honest[1]);
    let all = checked(folder.path(), &format!("--{axis}"), &values, axis);
    for works in honest {
        assert!(all.contains(&(works.into(), None)), "{works}: {all:?}");
    }
    Some(all)
}

fn reason<'a>(all: &'a [(String, Option<String>)], name: &str) -> &'a str {
    let (_, why) = all.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("{name} is in {all:?}"));
    why.as_deref().unwrap_or_else(|| panic!("{name} fails"))
}

pub fn failed(all: &[(String, Option<String>)], name: &str, words: &[&str]) {
    let why = reason(all, name);
    assert!(words.iter().all(|word| why.contains(word)) && why.contains(name), "{name}: {why}");
}

#[test]
fn a_mechanism_that_goes_wrong_fails_by_its_name_and_the_others_go_on() {
    let Some(all) = liars("a_mechanism_that_goes_wrong", "mechanism", ["liar_honest", "send"]) else {
        return;
    };
    // Whichever side sees it first says so.
    ["liar_skips", "liar_twice"].iter().for_each(|name| failed(&all, name, &[]));
    failed(&all, "liar_swaps", &[]);
    failed(&all, "liar_crashes", &["SIGSEGV"]);
    failed(&all, "liar_hangs", &["did not answer in time"]);
    failed(&all, "liar_exits", &["ended"]);
    failed(&all, "liar_fails", &["No buffer space"]);
    failed(&all, "liar_refuses", &["Permission denied"]);
    assert_eq!(all.len(), 10, "{all:?}");
}

#[test]
fn a_receiver_that_goes_wrong_fails_by_its_name_and_the_others_go_on() {
    let Some(all) = liars("a_receiver_that_goes_wrong", "receiver", ["taker_honest", "recv"]) else { return };
    failed(&all, "taker_skips", &["is not what was sent"]);
    // Where more has arrived before the socket is asked, the pattern says it.
    for adds in ["taker_more", "taker_again"] {
        let counted = reason(&all, adds).contains("off the socket, and handed back");
        failed(&all, adds, if counted { &[] } else { &["is not what was sent"] });
    }
    failed(&all, "taker_fewer", &["is not what was sent"]);
    failed(&all, "taker_ends", &["says that the stream has ended"]);
    failed(&all, "taker_nothing", &["3 pieces"]);
    failed(&all, "taker_crash", &["SIGABRT"]);
    failed(&all, "taker_hangs", &["did not answer in time"]);
    assert_eq!(all.len(), 10, "{all:?}");
}

#[test]
fn a_receiver_takes_turns_with_the_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("receivers.so");
    let source = format!("{EXAMPLES}/receivers.c");
    let Some(_) = compiled("a_receiver_takes_turns", "gcc", &source, &object, &["-pedantic"]) else { return };
    let receivers = "recv,./receivers.so:my_recv_message,mine=./receivers.so:my_recv";
    let more = ["--size", "4K", "--threads", "1", "--time-limit", "8s", "--quiet", "--out", "run"];
    let rivals = ["run", "--mechanism", "send", "--path", "loopback", "--receiver", receivers];
    let done = run(folder.path(), &[&rivals[..], &more].concat());
    // 1: a round may fail on a machine that is busy with other tests.
    assert!(matches!(done.status.code(), Some(0 | 1)), "{}", said(&done));
    let slices = fs::read_to_string(folder.path().join("run/slices.csv")).unwrap();
    let record: Value =
        serde_json::from_slice(&fs::read(folder.path().join("run/run.json")).unwrap()).unwrap();
    let cases = record["plan"]["cases"].as_array().unwrap();
    let samples = fs::read_to_string(folder.path().join("run/samples.csv")).unwrap();
    for name in ["recv", "mine", "my_recv_message"] {
        let case = cases.iter().position(|case| case["point"]["receiver"] == name).expect(name).to_string();
        let rows = |csv: &str| csv.lines().filter(|row| row.split(',').nth(2) == Some(&case)).count();
        assert!(rows(&slices) > 0, "{name} took turns");
    }
    assert!(samples.lines().count() > 3, "{samples}");
    // One connection or several, and exchanges: the same receiver, verified to the last byte.
    for (what, more) in [("transfer", &["--connections", "4"][..]), ("tcp_latency", &["--loop", "closed"])] {
        let check = [
            "check",
            what,
            "--mechanism",
            "send",
            "--path",
            "loopback",
            "--receiver",
            "./receivers.so:my_recv",
        ];
        let done = run(folder.path(), &[&check[..], more, &["--size", "64,64K", "--threads", "1"]].concat());
        assert!(done.status.success(), "{more:?}: {}", said(&done));
        common::some_verified(&said(&done));
    }
}

#[test]
fn an_operation_that_goes_wrong_fails_by_its_name_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("liars.so");
    if compiled("an_operation_that_goes_wrong", "gcc", LIARS, &object, &[]).is_none() {
        return;
    }
    let all = checked(folder.path(), "--operation", "./liars.so", "own_operation");
    assert!(all.contains(&("op_honest".into(), None)), "{all:?}");
    failed(&all, "op_more", &["done->operations"]);
    failed(&all, "op_wrong", &["check"]);
    failed(&all, "op_crashes", &["SIGSEGV"]);
}

#[test]
fn an_object_that_cannot_be_opened_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |flags: &[&str], words: &[&str]| {
        let object = folder.path().join("bad.so");
        let Some(object) = compiled("an_object_that_cannot_be_opened", "gcc", LIARS, &object, flags) else {
            return;
        };
        let done = run(folder.path(), &["plan", "--mechanism", object.to_str().unwrap()]);
        let text = said(&done);
        assert_eq!(done.status.code(), Some(2), "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
    };
    let unused = "-Wno-unused-const-variable";
    refused(&["-DNO_OBJECT", unused, "-Wno-unused-variable"], &["syscost_object"]);
    refused(&["-DVERSION=7"], &["version 7", "syscost new header"]);
    refused(&["-DBAD_OPENING=abort()"], &["ended the process", "SIGABRT"]);
    refused(&["-DBAD_OPENING=exit(3)"], &["ended the process", "exit status: 3"]);
    refused(&["-DBAD_OPENING=for(;;)pause()"], &["did not end"]);
    fs::write(folder.path().join("text.so"), "no object").unwrap();
    let done = run(folder.path(), &["plan", "--mechanism", "./text.so"]);
    assert!(said(&done).contains("text.so cannot be used"), "{}", said(&done));
    let done = run(folder.path(), &["plan", "--mechanism", "./missing.so"]);
    assert!(said(&done).contains("cannot open ./missing.so"), "{}", said(&done));
}

#[test]
fn a_way_takes_turns_with_the_built_in_ones_and_its_run_remembers_the_object() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{EXAMPLES}/rivals.c");
    let object = folder.path().join("rivals.so");
    let Some(object) = compiled("a_way_takes_turns", "gcc", &source, &object, &[]) else { return };
    let rivals = ["run", "--mechanism", "send,./rivals.so:my_send,again=./rivals.so:my_sendmsg"];
    let done = run(folder.path(), &[&rivals[..], &SHORT_RUN].concat());
    // 1: a round may fail on a machine that is busy with other tests.
    assert!(matches!(done.status.code(), Some(0 | 1)), "{}", said(&done));
    let record: Value =
        serde_json::from_slice(&fs::read(folder.path().join("run/run.json")).unwrap()).unwrap();
    let own = &record["spec"]["own"][0];
    assert_eq!(own["path"].as_str(), object.canonicalize().unwrap().to_str());
    assert_eq!(own["sha256"].as_str().map(str::len), Some(64));
    assert!(own["build_id"].as_str().is_some_and(|id| id.len() == 40), "{own}");
    let cases = record["plan"]["cases"].as_array().unwrap();
    let of = |name: &str| cases.iter().position(|case| case["point"]["mechanism"] == name).expect(name);
    let slices = fs::read_to_string(folder.path().join("run/slices.csv")).unwrap();
    for name in ["send", "my_send", "again"] {
        let case = of(name).to_string();
        assert!(slices.lines().any(|row| row.split(',').nth(2) == Some(&case)), "{name} took turns");
    }
    // A report needs no object, and a resumed run the same one.
    fs::write(&object, "another").unwrap();
    let again = run(folder.path(), &["report", "run"]);
    assert!(again.status.success() && said(&again).contains("my_send"), "{}", said(&again));
    let resumed = run(folder.path(), &["run", "--resume", "run", "--time-limit", "20s", "--quiet"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", said(&resumed));
    assert!(said(&resumed).contains("is not the file that the run began with"), "{}", said(&resumed));
}

#[test]
fn the_header_and_the_examples_compile_and_work() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, name) in [("gcc", "sum.c"), ("gcc", "rivals.c"), ("g++", "memcpy.cpp")] {
        let object = folder.path().join(format!("{name}.so"));
        compiled(
            "the_header_and_the_examples",
            compiler,
            &format!("{EXAMPLES}/{name}"),
            &object,
            &["-pedantic"],
        );
    }
    let operation = folder.path().join("operation");
    let source = format!("{EXAMPLES}/operation.c");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).args([&operation, Path::new(&source)]);
    if let Ok(made) = compiler.output() {
        assert!(made.status.success(), "{}", said(&made));
        let done = run(folder.path(), &["check", "--operation", "program:./operation"]);
        assert!(done.status.success(), "{}", said(&done));
        common::some_verified(&said(&done));
    }
    let (sum, copies) = (folder.path().join("sum.c.so"), folder.path().join("memcpy.cpp.so"));
    for object in [sum, copies].iter().filter(|object| object.exists()) {
        let done = run(folder.path(), &["check", "--operation", object.to_str().unwrap()]);
        assert!(done.status.success(), "{}", said(&done));
        common::some_verified(&said(&done));
    }
}

#[test]
fn what_new_writes_compiles_and_works() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["operation", "mechanism", "receiver"] {
        for (language, tool, object) in
            [("c", "make", "mine.so"), ("rust", "cargo", "target/release/libmine.so")]
        {
            let done = run(folder.path(), &["new", kind, "mine", "--lang", language]);
            assert!(done.status.success(), "{}", said(&done));
            let mut build = Command::new(tool);
            if tool == "cargo" {
                build.args(["build", "--release", "--offline"]);
            }
            let mine = folder.path().join("mine");
            let Ok(built) = build.current_dir(&mine).env_remove("CARGO_TARGET_DIR").output() else {
                common::skipped("what_new_writes_compiles_and_works", &format!("there is no {tool}"));
                continue;
            };
            assert!(built.status.success(), "{kind} {language}: {}", said(&built));
            let path: &[&str] = match kind {
                "operation" => &[],
                "mechanism" => &["--path", "loopback", "--size", "64,64K"],
                _ => &["--mechanism", "send", "--path", "loopback", "--size", "64,64K"],
            };
            let option = format!("--{kind}");
            let done = run(&mine, &[&["check", &option, &format!("./{object}")], path].concat());
            assert!(done.status.success(), "{kind} {language}: {}", said(&done));
            fs::remove_dir_all(&mine).unwrap();
        }
    }
    let header = run(folder.path(), &["new", "header"]);
    assert_eq!(header.stdout, fs::read(format!("{HEADERS}/syscost.h")).unwrap());
}
