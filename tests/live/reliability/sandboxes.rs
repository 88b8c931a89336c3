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
