//! Fleets of hosts: on a real Slurm cluster whose nodes are namespaces of this machine, and by no engine at all.

use super::elsewhere::engine::Engine;
use super::elsewhere::slurm::cluster;
use crate::support::{SYSCOST, is_root, said, soon};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A pair, for a second.
const RUN: &str = "transfer --mechanism send --size 64K --threads 1 --time-limit 6s --precision 50%";
/// Two short rounds, and how long a busy machine may take for them.
const PAIR: &str =
    "[[probe]]\nid = \"transfer\"\nmechanism = [\"send\"]\nmessage_bytes = [65536]\nthreads = [1]";
const PAIR_LIMIT: &str = "8s";
/// A whole fleet on a busy machine.
const FLEET_PATIENCE: Duration = Duration::from_secs(240);

/// A cluster and the directory of its one fleet.
struct Fleet {
    cluster: Engine,
}

impl Fleet {
    fn new(test: &str, nodes: &str) -> Option<Fleet> {
        Some(Fleet { cluster: cluster(test, nodes)? })
    }

    fn place(&self) -> PathBuf {
        self.cluster.file("fleet")
    }

    /// `syscost fleet VERB DIR ..`
    fn asked(&self, verb: &str, arguments: &[&str]) -> std::process::Output {
        let place = self.place();
        self.cluster.syscost(&[&["fleet", verb, place.to_str().expect("UTF-8")], arguments].concat())
    }

    fn told(&self, verb: &str) -> Value {
        let output = self.asked(verb, &["--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
    }

    fn submit(&self, arguments: &[&str]) {
        soon("idle nodes", || {
            let states = self.cluster.told("sinfo", &["--noheader", "--Node", "--format", "%T"]);
            states.lines().all(|state| state == "idle")
        });
        let output = self.asked("submit", arguments);
        assert!(output.status.success(), "{}", said(&output));
    }

    fn plan(&self, arguments: &[&str]) {
        let place = self.place();
        let begin = ["fleet", "plan", "--engine", "slurm", "--out", place.to_str().expect("UTF-8")];
        let output = self.cluster.syscost(&[&begin, arguments].concat());
        assert!(output.status.success(), "{}", said(&output));
    }

    /// Every pair of four nodes, so many times.
    fn plan_all_pairs(&self, repeats: &str) {
        let timing = ("30ms", "100ms", 2);
        let pair = crate::common::experiment(self.cluster.folder.path(), 2, "20s", timing, PAIR);
        let run = format!("{} --time-limit {PAIR_LIMIT}", pair.display());
        self.plan(&["--hosts", "n[1-4]", "--pairs", "all", "--repeat", repeats, "--pair-run", &run]);
    }

    fn ended(&self) {
        let start = Instant::now();
        while !self.cluster.told("squeue", &["--noheader"]).is_empty() {
            assert!(start.elapsed() < FLEET_PATIENCE, "{}", self.told("status"));
            syscost_sys::sleep::sleep(Duration::from_millis(100));
        }
    }

    /// Runs that count, with when they began and ended.
    fn runs(&self) -> Vec<(Vec<String>, Duration, Duration)> {
        let runs = std::fs::read_dir(self.place().join("runs")).into_iter().flatten().flatten();
        let of = |name: String, path: PathBuf| {
            let record: Value = serde_json::from_slice(&std::fs::read(path).ok()?).expect("a record");
            let start = Duration::from_nanos(record["started_unix_ns"].as_u64().expect("a time"));
            let length = Duration::from_nanos(record["elapsed_ns"].as_u64().expect("a time"));
            Some((name.split('-').skip(1).map(str::to_string).collect(), start, start + length))
        };
        runs.filter_map(|step| {
            of(step.file_name().into_string().expect("UTF-8"), step.path().join("run/run.json"))
        })
        .collect()
    }

    fn has_runs(&self, number: usize) {
        soon("a step that is done", || self.runs().len() >= number);
    }

    fn tables(&self) -> [Vec<u8>; 3] {
        let table = |name: &str| std::fs::read(self.place().join("collected").join(name)).expect("a table");
        ["figures.csv", "steps.csv", "facts.csv"].map(table)
    }
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn every_pair_of_four_nodes_is_measured_and_the_slow_node_is_named() {
    let Some(fleet) = Fleet::new("fleet::every_pair_of_four_nodes", "4") else { return };
    // One link, slowed far below what any machine's veth carries.
    let slow = "-n n3 qdisc add dev eth0 root tbf rate 100mbit burst 64k latency 20ms";
    fleet.cluster.told("tc", &slow.split(' ').collect::<Vec<_>>());
    fleet.plan_all_pairs("2");
    fleet.submit(&[]);
    fleet.ended();
    let collected = fleet.told("collect");
    assert_eq!(collected["done"], 24, "{collected}");
    let report = fleet.told("report");
    assert_eq!(report["slow"], serde_json::json!(["n3"]), "{report}");
    let runs = fleet.runs();
    assert_eq!(runs.len(), 24);
    for (at, (hosts, start, end)) in runs.iter().enumerate() {
        for (others, from, to) in &runs[at + 1..] {
            let shares = hosts.iter().any(|host| others.contains(host));
            assert!(!shares || end <= from || to <= start, "{hosts:?} and {others:?} at once");
        }
    }
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn what_a_dead_node_and_a_cancelled_job_leave_open_is_measured_when_submitted_again() {
    let Some(fleet) = Fleet::new("fleet::what_a_dead_node_leaves_open", "4") else { return };
    fleet.plan_all_pairs("1");
    fleet.submit(&[]);
    fleet.has_runs(1);
    let again = fleet.asked("submit", &[]);
    assert!(!again.status.success() && said(&again).contains("in the queue already"), "{}", said(&again));
    let cancel = |fleet: &Fleet| {
        let job = fleet.cluster.told("squeue", &["--noheader", "--format", "%i"]);
        fleet.cluster.told("scancel", &[&job]);
        fleet.ended();
    };
    cancel(&fleet);
    let cancelled = fleet.runs().len();
    assert!(cancelled < 12, "it was cancelled before its end");
    // Everything on a node dies in the middle of its step: slurmd, what it started, and ours.
    fleet.submit(&[]);
    let of_dead = || fleet.cluster.told("ip", &["netns", "pids", "n4"]);
    soon("a step on n4", || {
        let lines = fleet.cluster.ours().into_iter().map(|(_, line)| line);
        let nodes = lines.filter(|line| line.contains("--nodelist=n4"));
        nodes.count() > 0
    });
    fleet.cluster.told("sh", &["-c", &format!("kill -9 {} || true", of_dead().replace('\n', " "))]);
    let others = || fleet.runs().iter().filter(|(hosts, ..)| !hosts.contains(&"n4".to_string())).count();
    let before = others();
    let start = Instant::now();
    while others() < (before + 2).min(6) {
        assert!(start.elapsed() < FLEET_PATIENCE, "the others go on: {}", fleet.told("status"));
        syscost_sys::sleep::sleep(Duration::from_millis(100));
    }
    cancel(&fleet);
    let some = fleet.told("collect");
    assert!(
        some["done"].as_u64() < Some(12) && some["done"].as_u64() >= Some(2),
        "what was measured is kept: {some}"
    );
    fleet.cluster.told("sh", &["-c", "node n4 </dev/null >/dev/null 2>&1 &"]);
    // A busy machine fails a step at times: that is open too.
    let measured = || {
        fleet.submit(&[]);
        fleet.ended();
        Some(fleet.told("collect")).filter(|all| all["done"] == 12)
    };
    let first = (0..3).find_map(|_| measured()).unwrap_or_else(|| panic!("{}", fleet.told("status")));
    let before = fleet.tables();
    assert_eq!(first, fleet.told("collect"), "collected twice it is the same");
    assert!(before == fleet.tables(), "and so are its tables");
    let done = fleet.asked("submit", &[]);
    assert!(said(&done).contains("every step is done"), "{}", said(&done));
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn nodes_without_the_program_and_unknown_nodes_are_told() {
    let Some(fleet) = Fleet::new("fleet::nodes_without_the_program", "2") else { return };
    let place = fleet.cluster.file("unknown");
    let unknown = ["fleet", "plan", "--hosts", "n[1-2],n9", "--pairs", "all", "--engine", "slurm", "--out"];
    let unknown = fleet.cluster.syscost(&[&unknown[..], &[place.to_str().expect("UTF-8")]].concat());
    assert!(said(&unknown).contains("does not know 1 host: n9") && !place.exists(), "{}", said(&unknown));
    fleet.plan(&["--hosts", "n[1-2]", "--each", "timer --time-limit 1s", "--binary", "/no/such/syscost"]);
    let refused = fleet.asked("submit", &[]);
    assert!(said(&refused).contains("asks to start: /no/such/syscost"), "{}", said(&refused));
    fleet.submit(&["--allow-commands"]);
    fleet.ended();
    let collected = fleet.told("collect");
    assert_eq!(collected["failed"], 2, "{collected}");
    let steps = String::from_utf8_lossy(&fleet.tables()[1]).into_owned();
    assert!(steps.contains("No such file or directory"), "{steps}");
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn hosts_of_this_machine_are_measured_in_pairs_and_leave_nothing() {
    const TEST: &str = "hosts_of_this_machine_are_measured_in_pairs_and_leave_nothing";
    if !is_root(TEST) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let fleet = scratch.path().join("fleet");
    let place = fleet.to_str().unwrap();
    let run = |arguments: &[&str]| Command::new(SYSCOST).arg("fleet").args(arguments).output().unwrap();
    let short = RUN.replace("6s", "4s");
    let planned = run(&[
        "plan",
        "--hosts",
        "h[1-3]",
        "--pairs",
        "all",
        "--engine",
        "local",
        "--pair-run",
        &short,
        "--out",
        place,
    ]);
    assert!(planned.status.success(), "{}", said(&planned));
    let names = || std::fs::read_dir("/run/netns").map_or(0, |names| names.count());
    let before = names();
    let done = run(&["submit", place]);
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(names(), before, "no name of a namespace is left");
    let collected = run(&["collect", place]);
    assert_eq!(collected.status.code(), Some(0), "{}", said(&collected));
    let report = run(&["report", place]);
    assert!(report.status.success() && fleet.join("fleet.html").exists(), "{}", said(&report));
    assert_eq!(run(&["submit", place]).status.code(), Some(2), "there is nothing left to do");
}
