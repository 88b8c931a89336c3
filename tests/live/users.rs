//! The same binary as an ordinary user: an honest run, in a user namespace where the kernel allows
//! one, else on loopback with the reason said.

use crate::common::{self, SYSCOST};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use syscost::run::files::RunDir;

const NOBODY: u32 = 65534;

#[test]
fn an_ordinary_user_gets_a_report() {
    if !common::is_root("an_ordinary_user_gets_a_report") {
        return;
    }
    let directory = tempfile::tempdir().expect("a scratch directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).expect("chmod");
    // The build directory may lie below a directory that others cannot enter.
    let program = directory.path().join("syscost");
    std::fs::copy(SYSCOST, &program).expect("the binary is copied");
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
    let path = run.record.plan.cases[0].point.text("path");
    let fell_back = run.record.warnings.iter().any(|warning| warning.id == "path_fallback");
    assert_eq!(path == Some("loopback"), fell_back, "a run on loopback says why");
    let report = std::fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(report.contains(path.expect("a path")));
}
