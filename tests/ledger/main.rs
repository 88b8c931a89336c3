//! The copy ledger against real connections: to the byte, on every path and in both families; as an
//! ordinary user; and the committed program against its source.
//!
//! What needs a right or a tool that is missing says "skipped: reason" and is no pass.

mod audits;
mod connections;
mod object;
mod queues;
mod receivers;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;
use std::sync::{Mutex, MutexGuard};
use syscost_measure::ledger::Ledger;

pub const SYSCOST: &str = env!("CARGO_BIN_EXE_syscost");

pub fn skipped(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

/// One at a time: a test looks at the programs that the kernel has loaded.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A ledger, where this machine lets us trace.
pub fn ledger(test: &str) -> Option<Ledger> {
    match Ledger::attach() {
        Ok(ledger) => Some(ledger),
        Err(why) => {
            skipped(test, &why.reason);
            None
        }
    }
}

pub fn is_root(test: &str) -> bool {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        skipped(test, "needs root");
    }
    root
}

/// The binary where every user may run it.
pub fn open_to_all() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let program = directory.path().join("syscost");
    std::fs::copy(SYSCOST, &program).expect("the binary is copied");
    (directory, program)
}

pub fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
