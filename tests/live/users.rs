//! The same binary as an ordinary user: an honest run, in a user namespace where the kernel allows
//! one, else on loopback with the reason said.

use crate::common;
use std::process::Command;
use syscost_experiment::run::files::RunDir;

/// Locked memory is counted per user: the threads of a sender compete for it, and one may find
/// nothing left while it holds none itself.
#[test]
fn zero_copy_threads_share_a_small_locked_memory_limit() {
    if !common::is_root("zero_copy_threads_share_a_small_locked_memory_limit") {
        return;
    }
    let (_directory, program) = common::open_to_all();
    let mut command = Command::new(&program);
    command
        .args(["check", "--mechanism", "msg_zerocopy", "--size", "64K,1M", "--threads", "1,8"])
        .args(["--path", "loopback"]);
    common::limit(common::as_nobody(&mut command), libc::RLIMIT_MEMLOCK, 2 << 20, 2 << 20);
    let output = command.output().expect("the binary starts");
    assert!(output.status.success(), "{}", common::said(&output));
}

#[test]
fn an_ordinary_user_gets_a_report() {
    if !common::is_root("an_ordinary_user_gets_a_report") {
        return;
    }
    let (directory, program) = common::open_to_all();
    let out = directory.path().join("run");
    let probe = "[[probe]]\nid = \"transfer\"\nmechanism = [\"send\", \"msg_zerocopy\"]\nmessage_bytes = 4096\nthreads = 1";
    // A limit that no run comes near: on a busy machine it takes longer, and ends the same.
    let spec = common::experiment(directory.path(), 2, "120s", ("10ms", "20ms", 3), probe);
    let mut command = Command::new(&program);
    command.arg("run").arg(spec).arg("--out").arg(&out);
    let output = common::as_nobody(&mut command).output().expect("the binary starts");
    let run = RunDir::load(&out).expect("a valid run");
    common::sound(output.status.code().unwrap_or(2), &run, &common::said(&output));
    assert!(run.record.plan.skips.is_empty(), "{:?}", run.record.plan.skips);
    let path = run.record.plan.cases[0].point.text_at("path");
    let fell_back = run.record.warnings.iter().any(|warning| warning.id == "path_fallback");
    assert_eq!(path == Some("loopback"), fell_back, "a run on loopback says why");
    let report = std::fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(report.contains(path.expect("a path")));
}
