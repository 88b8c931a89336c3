//! io_uring, both sides, over real connections: every byte verified, every notification counted, for root
//! and for an ordinary user with little memory to lock.

use crate::common;
use std::process::Command;
use syscost_experiment::run::files::RunDir;
use syscost_measure::mechanism;

const COPYING: [&str; 2] = ["io_uring_send", "io_uring_sendmsg"];
const ZERO_COPY: [&str; 2] = ["io_uring_send_zc", "io_uring_sendmsg_zc"];

/// Checks every case that is not skipped; each must verify. Skips say why, and are returned as a number.
fn verify(axes: &[(&str, &str)]) -> (usize, usize) {
    let plan = common::plan("transfer", axes);
    let (done, _) = common::checked(&plan);
    for skip in &plan.skips {
        assert!(!skip.why.reason.is_empty() && !skip.why.remedy.is_empty(), "{skip:?}");
        common::skipped("io_uring", &skip.why.reason);
    }
    (done.len(), plan.skips.len())
}

#[test]
fn chains_and_their_switches_verify() {
    verify(&[
        ("path", "loopback"),
        ("mechanism", &COPYING.join(",")),
        ("receiver", "io_uring_recv"),
        ("size", "100,64K"),
        ("threads", "2"),
        ("batch", "1,5,64"),
        ("msg-more", "on,off"),
        ("socket-buffer", "0,16K"),
    ]);
    verify(&[
        ("path", "loopback"),
        ("mechanism", &ZERO_COPY.join(",")),
        ("size", "100,64K"),
        ("threads", "2"),
        ("batch", "1,5"),
        ("in-flight", "1,7"),
        ("reap-batch", "1,64"),
        ("registered", "on,off"),
        ("socket-buffer", "0,16K"),
    ]);
}

/// Loopback copies what was lent to it: the kernel says so of every message, and the run has it.
#[test]
fn zero_copy_on_loopback_reports_copies() {
    let available = |id: &&str| mechanism::find(id).is_some_and(|m| m.available().is_ok());
    let mechanisms: Vec<&str> = ZERO_COPY.into_iter().filter(available).collect();
    if mechanisms.is_empty() {
        return common::skipped("zero_copy_on_loopback_reports_copies", "no zero-copy sends here");
    }
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("run");
    let probe = format!(
        "[[probe]]\nid = \"transfer\"\nmechanism = {mechanisms:?}\nmessage_bytes = [4096, 65536]\nthreads = 1\n\
         path = \"loopback\""
    );
    // Few windows and a limit that no run comes near: on a busy machine it takes longer, and ends the same.
    let spec = common::experiment(directory.path(), 2, "120s", ("10ms", "20ms", 3), &probe);
    let [spec, folder] = [&spec, &out].map(|path| path.to_str().expect("UTF-8"));
    let output = common::syscost(&["run", spec, "--quiet", "--out", folder]);
    assert!(output.status.code() < Some(2), "{}", common::said(&output));
    let run = RunDir::load(&out).expect("a valid run");
    assert!(!run.samples.is_empty(), "{}", common::said(&output));
    // A sender that got no CPU in its window sent nothing.
    assert!(
        run.samples.iter().any(|sample| sample.get("sender_messages") > Some(0.0)),
        "{}",
        common::said(&output)
    );
    for sample in &run.samples {
        let count = |id: &str| sample.get(id).expect("counted");
        let messages = count("sender_messages");
        assert_eq!(count("sender_completions"), messages, "one notification a message");
        assert_eq!(count("sender_completions_copied"), messages, "and each says that it was copied");
        assert!(count("sender_queue_entries") >= 2.0 * messages, "a result and a notification each");
        assert!(count("sender_system_calls") >= messages);
    }
}

/// Registered and lent memory is locked memory: an ordinary user gets what the limit allows, or a reason.
#[test]
fn an_ordinary_user_works_or_gets_a_reason() {
    if !common::is_root("an_ordinary_user_works_or_gets_a_reason") {
        return;
    }
    let (_directory, program) = common::open_to_all();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("check").args(arguments).args(["--path", "loopback"]);
        common::limit(common::as_nobody(&mut command), libc::RLIMIT_MEMLOCK, 2 << 20, 2 << 20);
        let output = command.output().expect("the binary starts");
        let text = common::said(&output);
        // Where the limit refuses every case, nothing was verified, and that is no success.
        let wanted = if text.contains("verified    0 cases") { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(wanted), "{text}");
        text
    };
    let all = [COPYING, ZERO_COPY].concat().join(",");
    as_nobody(&["--mechanism", &all, "--receiver", "io_uring_recv", "--size", "64K,1M", "--threads", "1,4"]);
    as_nobody(&["--mechanism", &ZERO_COPY.join(","), "--size", "1M", "--threads", "1", "--batch", "8"]);
    let registered =
        ["--mechanism", ZERO_COPY[0], "--registered", "on", "--threads", "1", "--size", "16K,1M"];
    let refused = as_nobody(&registered);
    let available = mechanism::find(ZERO_COPY[0]).is_some_and(|m| m.available().is_ok());
    assert!(!available || refused.contains("RLIMIT_MEMLOCK"), "{refused}");
}
