//! What tests of the program need in every binary: its path, skips that say why, copies that may be executed.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The binary under test.
pub const SYSCOST: &str = env!("CARGO_BIN_EXE_syscost");

/// What must happen soon has so long, on a busy machine too.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An ordinary user of every machine.
pub const NOBODY: u32 = 65534;

pub fn skipped(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
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

/// Standard error and output, for assertion messages.
pub fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Waits for something that must happen soon.
pub fn soon(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen within {PATIENCE:?}");
        syscost_sys::sleep::sleep(Duration::from_millis(5));
    }
}

/// The binary where every user may run it: the build directory may lie below one that others cannot enter.
pub fn open_to_all() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).expect("chmod");
    let program = directory.path().join("syscost");
    executable(Path::new(SYSCOST), &program);
    (directory, program)
}

/// What the command starts runs as that user, in a directory that all may enter.
pub fn as_nobody(command: &mut Command) -> &mut Command {
    command.current_dir("/").uid(NOBODY).gid(NOBODY)
}

/// A copy that can be executed at once. Another process writes it: a child that a test beside this one forks would
/// inherit our descriptor, and until it executes the file is "busy" (ETXTBSY).
pub fn executable(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status().expect("cp(1)");
    assert!(copied.success(), "cp {} {}", from.display(), to.display());
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755)).expect("chmod");
}
