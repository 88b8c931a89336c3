//! What the live tests share.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use syscost::host::namespaces;
use syscost::sys::program;

/// The binary under test.
pub const SYSCOST: &str = env!("CARGO_BIN_EXE_syscost");

/// Points the library at the real binary: its own executable is the test's.
pub fn use_real_binary() {
    program::set(SYSCOST);
}

/// May namespaces be made here? Says why not, once per caller.
pub fn namespaces_allowed(test: &str) -> bool {
    use_real_binary();
    match namespaces::available() {
        Ok(_) => true,
        Err(why) => {
            skipped(test, &why.reason);
            false
        }
    }
}

/// Root can take the part of other users and kill what it likes.
pub fn is_root(test: &str) -> bool {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        skipped(test, "needs root");
    }
    root
}

pub fn skipped(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

/// Runs the binary to its end.
pub fn syscost(arguments: &[&str]) -> Output {
    Command::new(SYSCOST).args(arguments).output().expect("the binary starts")
}

/// Standard error and output, for assertion messages.
pub fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Processes of this binary that are workers.
pub fn workers() -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("/proc is mounted");
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let command = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
            command.is_ok_and(|c| c.starts_with(SYSCOST.as_bytes()) && c.ends_with(b"\0worker\0"))
        })
        .collect()
}

/// The binary where every user may run it: the build directory may lie below one that others
/// cannot enter.
pub fn open_to_all() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).expect("chmod");
    let program = directory.path().join("syscost");
    std::fs::copy(SYSCOST, &program).expect("the binary is copied");
    (directory, program)
}
