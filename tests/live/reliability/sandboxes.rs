//! Sandboxes that refuse what every program is thought to be allowed: sleeping by the clock, random numbers.

use super::machines::{ended, measured, run_of, sandboxed};
use crate::common;
use std::path::Path;
use std::process::Command;

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

#[test]
fn a_small_stack_is_enough() {
    const KIB: u64 = 1 << 10;
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let place = |name: &str| scratch.path().join(name).to_str().expect("UTF-8").to_string();
    let (report, run) = (place("report"), place("run"));
    for words in [
        &["--help"][..],
        &["list"],
        &["plan"],
        &["report", "tests/data/small-run", "--out", &report],
        &["check", "tcp_latency", "--quick", "--path", "loopback"],
        &["run", "tcp_latency", "--path", "loopback", "--time-limit", "3s", "--quiet", "--out", &run],
    ] {
        let mut command = Command::new(common::SYSCOST);
        command.args(words);
        common::limit(&mut command, libc::RLIMIT_STACK, 64 * KIB, 64 * KIB);
        let (status, text) = ended(command);
        // 1: a round may fail on a machine that is busy with other tests.
        assert!(status == 0 || (status == 1 && words[0] == "run"), "{words:?}: {text}");
    }
}
