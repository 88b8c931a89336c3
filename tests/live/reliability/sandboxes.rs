//! Sandboxes that refuse what every program is thought to be allowed: sleeping by the clock, random numbers.

use super::machines::{ended, measured, refusing, run_of, sandboxed};
use crate::common;
use std::path::Path;
use std::process::Command;
use syscost_sys::optional::{self, OptionalCall};

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_sandbox_that_refuses_to_sleep_or_to_give_random_numbers_costs_nothing() {
    const CALLS: [libc::c_long; 2] = [libc::SYS_clock_nanosleep, libc::SYS_getrandom];
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for errno in [libc::EPERM, libc::ENOSYS] {
        let out = scratch.path().join(errno.to_string());
        let (status, text, run) = measured(&out, |out, limit| {
            let more = ["--path", "loopback", "--time-limit", limit];
            let mut command = run_of(Path::new(common::SYSCOST), "send,msg_zerocopy", "1", out, &more);
            sandboxed(&mut command, &CALLS, errno);
            command
        });
        common::sound(status, &run, &text);
        // What it looks at takes a moment of sleep, and messages at a fixed rate are slept for.
        for words in [&["doctor"][..], &["check", "tcp_latency", "--quick", "--path", "loopback"]] {
            let mut command = Command::new(common::SYSCOST);
            command.args(words);
            sandboxed(&mut command, &CALLS, errno);
            let (status, text) = ended(command);
            assert_eq!(status, 0, "{words:?}: {text}");
        }
    }
}

/// What sandboxes, gVisor and old kernels answer.
const ERRORS: [i32; 5] = [libc::EPERM, libc::ENOSYS, libc::EINVAL, libc::ENOPROTOOPT, libc::ENOENT];

/// A run in which the call is refused: what it says.
fn run_without(call: &OptionalCall, errno: i32) -> String {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (status, text, run) = measured(&scratch.path().join("run"), |out, limit| {
        let more = ["--path", "loopback", "--time-limit", limit];
        let mut command = run_of(Path::new(common::SYSCOST), "send", "1", out, &more);
        refusing(&mut command, &[(call.number, call.arguments)], errno);
        command
    });
    common::sound(status, &run, &format!("{}: {text}", call.id));
    text + &format!("{:?}", run.record.warnings)
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn each_call_that_work_can_do_without_may_be_refused_and_its_lack_is_told() {
    for (number, call) in optional::ALL.iter().enumerate() {
        for errno in ERRORS {
            let mut command = Command::new(common::SYSCOST);
            command.args([
                "check",
                "--path",
                "loopback",
                "--mechanism",
                "send",
                "--size",
                "4K",
                "--threads",
                "1",
            ]);
            refusing(&mut command, &[(call.number, call.arguments)], errno);
            let (status, text) = ended(command);
            assert!(status == 0 && text.contains("1 case"), "{} with {errno}: {text}", call.id);
        }
        // Which it is takes turns: a run is a matter of seconds.
        let text = run_without(call, ERRORS[number % ERRORS.len()]);
        let told = call.consequence.is_empty() || text.contains(call.call);
        // Who holds no right has none to give up, and a port that was not named is never reused.
        let needless = ["capset", "so_reuseaddr"].contains(&call.id) && !common::is_root(call.id);
        assert!(told || needless, "{}: {text}", call.id);
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_congestion_control_that_was_named_is_not_replaced_and_the_remedy_helps() {
    let used = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    let other = if used.trim() == "reno" { "cubic" } else { "reno" };
    let refused = |control: &str| {
        let mut command = Command::new(common::SYSCOST);
        command.args([
            "check",
            "--path",
            "loopback",
            "--mechanism",
            "send",
            "--size",
            "4K",
            "--threads",
            "1",
        ]);
        command.args(["--congestion", control]);
        refusing(
            &mut command,
            &[(optional::CONGESTION.number, optional::CONGESTION.arguments)],
            libc::ENOPROTOOPT,
        );
        ended(command)
    };
    let (status, text) = refused(other);
    assert!(status == 2 && text.contains("--congestion kernel"), "{text}");
    assert_eq!(refused("kernel").0, 0);
}
