//! A command that measured nothing is no success, whatever kept it from measuring; one that measured everything is.

use super::held_up::{Held, TRANSFER};
use crate::common::{self, said, signal, syscost};
use std::process::{Command, Output};
use syscost_experiment::run::{RunDir, State};

/// Of every case that was tried: no file of tmpfs leaves the page cache.
const REFUSED: [&str; 5] = ["file_read", "--dir", "/dev/shm", "--read-mode", "direct"];

/// It says why, what would help, and ends so.
fn ends_with_2(output: &Output, why: &[&str]) {
    let text = said(output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(2), "{text}");
    why.iter().for_each(|why| assert!(text.contains(why), "{why}: {text}"));
}

#[test]
fn nothing_measured_is_never_a_success() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let out = scratch.path().join("run");
    let place = out.to_str().expect("UTF-8");
    const WHY: [&str; 2] = ["keeps the file in the page cache", "name a directory on a disk with --dir"];
    let run = [&["run"], &REFUSED[..], &["--time-limit", "3s", "--quiet", "--out", place]].concat();
    ends_with_2(&syscost(&run), &WHY);
    assert_eq!(RunDir::record(&out).expect("a run").state, State::NothingMeasured);
    ends_with_2(&syscost(&["run", "--resume", place, "--time-limit", "2s", "--quiet"]), &WHY);
    ends_with_2(&syscost(&["report", place]), &WHY);
    ends_with_2(&syscost(&[&["check"], &REFUSED[..]].concat()), &WHY);
    let json = syscost(&[&["check", "--json"], &REFUSED[..]].concat());
    ends_with_2(&json, &["\"state\":\"nothing_measured\""]);
    // What only the start of a worker shows, and what fails instead of being refused.
    let mut few = Command::new(common::SYSCOST);
    few.args([
        "check",
        "transfer",
        "--mechanism",
        "send",
        "--size",
        "4K",
        "--threads",
        "1",
        "--path",
        "loopback",
    ]);
    common::limit(&mut few, libc::RLIMIT_NOFILE, 8, 8);
    ends_with_2(&few.output().expect("the binary starts"), &["ulimit -n"]);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_round_that_failed_beside_others_is_told_and_no_failure() {
    let mut held = Held::start(TRANSFER, 4, Command::new(common::SYSCOST));
    signal(held.busy_workers()[0], libc::SIGTERM);
    let (output, run) = held.end();
    let text = said(&output);
    assert_eq!((output.status.code(), run.record.failures.len()), (Some(0), 1), "{text}");
    assert_eq!(run.record.state, State::Complete, "{text}");
    let told = &run.record.failures[0].message;
    assert!(told.contains("signal 15 (SIGTERM)") && !text.contains("memory"), "{told} {text}");
}

#[test]
fn a_loopback_device_that_is_down_or_has_no_address_is_named_with_what_helps() {
    let test = "a_loopback_device_that_is_down_or_has_no_address_is_named_with_what_helps";
    if !common::is_root(test) || !common::namespaces_allowed(test) {
        return;
    }
    let case = "--mechanism send --size 4K --threads 1 --path loopback";
    for (set_up, why) in [
        (":", "is down -> ip link set lo up"),
        ("ip link set lo up; ip address del 127.0.0.1/8 dev lo", "no address 127.0.0.1 -> ip address add"),
    ] {
        let script = format!("{set_up} && exec {} check {case}", common::SYSCOST);
        let output = Command::new("unshare").args(["-n", "sh", "-c", &script]).output();
        ends_with_2(&output.expect("unshare starts"), &[why]);
    }
}
