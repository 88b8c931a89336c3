//! The same binary as an ordinary user: an honest run, in a user namespace where the kernel allows
//! one, else on loopback with the reason said.

use crate::common;
use std::os::unix::process::CommandExt;
use std::process::Command;
use syscost_experiment::run::files::RunDir;

const NOBODY: u32 = 65534;

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
        .args(["--path", "loopback"])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    // SAFETY: setrlimit is async-signal-safe and touches only the limit given.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 2 << 20, rlim_max: 2 << 20 };
            match libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
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
    let output = Command::new(&program)
        .args(["run", "--quick", "--mechanism", "send,msg_zerocopy", "--size", "4K", "--threads", "1"])
        .args(["--time-limit", "6s", "--out"])
        .arg(&out)
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("the binary starts");
    assert!(output.status.success(), "{}", common::said(&output));
    let run = RunDir::load(&out).expect("a valid run");
    assert!(run.record.plan.skips.is_empty(), "{:?}", run.record.plan.skips);
    assert!(run.record.failures.is_empty(), "{:?}", run.record.failures);
    let path = run.record.plan.cases[0].point.text_at("path");
    let fell_back = run.record.warnings.iter().any(|warning| warning.id == "path_fallback");
    assert_eq!(path == Some("loopback"), fell_back, "a run on loopback says why");
    let report = std::fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(report.contains(path.expect("a path")));
}
