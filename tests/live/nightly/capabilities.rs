//! Each capability of the page about rights, for real: with it alone an ordinary user has the feature, and without
//! it the reason. Those of tracing, networks and echoes are in `privileges.rs`.

use crate::common::{self, NOBODY};
use crate::nightly::lab::Lab;
use crate::reliability::hosts::Hosts;
use crate::reliability::privileges::with;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The binary where everybody may run it, and what an ordinary user with these capabilities is told by it.
struct User {
    _folder: tempfile::TempDir,
    program: PathBuf,
}

impl User {
    fn new(test: &str) -> Option<User> {
        if !common::is_root(test) {
            return None;
        }
        let (folder, program) = common::open_to_all();
        let user = User { _folder: folder, program };
        let starts = with(&user.program, &[], &["--version"]).is_some_and(|output| output.status.success());
        if !starts {
            common::skipped(test, "no setpriv (util-linux) that knows these options");
        }
        starts.then_some(user)
    }

    fn told(&self, capabilities: &[&str], arguments: &[&str]) -> String {
        told(&self.program, capabilities, arguments)
    }

    /// The same program behind a limit of locked memory.
    fn with_little_locked_memory(&self) -> PathBuf {
        let script = self.program.with_extension("limited");
        common::script(&script, &format!("ulimit -l 64\nexec {} \"$@\"", self.program.display()));
        script
    }
}

fn told(program: &Path, capabilities: &[&str], arguments: &[&str]) -> String {
    common::said(&with(program, capabilities, arguments).expect("setpriv was there"))
}

fn number(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn pages_are_locked_beyond_the_limit_with_ipc_lock_and_refused_without() {
    let test = "pages_are_locked_beyond_the_limit_with_ipc_lock_and_refused_without";
    let Some(user) = User::new(test) else { return };
    if number("/proc/sys/kernel/io_uring_disabled").unwrap_or(0) != 0 {
        return common::skipped(test, "kernel.io_uring_disabled is not 0");
    }
    let limited = user.with_little_locked_memory();
    let check =
        ["check", "transfer", "--mechanism", "io_uring_send_zc", "--registered", "on", "--size", "1M"];
    let check = [&check[..], &["--threads", "1", "--path", "loopback"]].concat();
    let text = told(&limited, &["ipc_lock"], &check);
    common::some_verified(&text);
    let text = told(&limited, &[], &check);
    assert!(text.contains("lock") && text.contains("ulimit -l"), "{text}");
}

/// Where root lacks the right (a container), that of a guest has it.
#[test]
#[ignore = "nightly: .ci/nightly"]
fn pipes_are_larger_than_the_limit_with_sys_resource_and_refused_without() {
    let test = "pipes_are_larger_than_the_limit_with_sys_resource_and_refused_without";
    let Some(user) = User::new(test) else { return };
    let Some(most) = number("/proc/sys/fs/pipe-max-size") else {
        return common::skipped(test, "no fs.pipe-max-size");
    };
    let size = (2 * most).to_string();
    let check = ["check", "transfer", "--mechanism", "splice", "--pipe-size", &size, "--size", "64K"];
    let check = [&check[..], &["--threads", "1", "--path", "loopback"]].concat();
    let text = user.told(&[], &check);
    assert!(text.contains("refuses a pipe") && text.contains("fs.pipe-max-size"), "{text}");
    let text = user.told(&["sys_resource"], &check);
    if !text.contains("setpriv: ") {
        return common::some_verified(&text);
    }
    // A guest's limit is the kernel's own, 1 MiB.
    let check = ["transfer", "--mechanism", "splice", "--pipe-size", "2M", "--size", "64K", "--threads", "1"];
    let check = [&check[..], &["--path", "loopback", "--time-limit", "20s"]].concat();
    let Some(run) = Lab::alone().brings(test, &check) else { return };
    assert!(run.record.plan.skips.is_empty() && !run.samples.is_empty(), "{:?}", run.record.plan.skips);
    assert!(run.samples.iter().all(|sample| sample.verified), "{:?}", run.record.failures);
}

/// The directory of another user that only that user may enter.
#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_file_below_another_users_directory_is_served_with_dac_read_search_and_the_lack_of_it_is_told() {
    let test =
        "a_file_below_another_users_directory_is_served_with_dac_read_search_and_the_lack_of_it_is_told";
    if !common::is_root(test) {
        return;
    }
    let closed = tempfile::tempdir().expect("a scratch directory");
    fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).expect("chmod");
    chown(closed.path(), Some(NOBODY), Some(NOBODY)).expect("root gives files away");
    let dir = closed.path().to_str().expect("UTF-8");
    let check = ["check", "remote_file_read", "--file-server", "nfs", "--dir", dir];
    let text = common::said(&common::syscost(&check));
    if text.contains("is not installed") || text.contains("cannot be started") {
        return common::skipped(test, &text);
    }
    common::some_verified(&text);
    let mut without = Command::new("setpriv");
    without.args(["--bounding-set=-dac_read_search", "--inh-caps=-all", common::SYSCOST]).args(check);
    let text = common::said(&without.output().expect("setpriv(1)"));
    assert!(text.contains("CAP_DAC_READ_SEARCH"), "{text}");
}

/// A worker gave up all else, and listens below the first port that everybody may use.
#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_range_of_low_ports_on_another_host_is_listened_on() {
    let Some(hosts) = Hosts::new("a_range_of_low_ports_on_another_host_is_listened_on") else { return };
    let path = format!("{}?ports=901-908", hosts.path());
    let check =
        ["check", "transfer", "--mechanism", "send", "--size", "4K", "--threads", "1", "--path", &path];
    let text = common::said(&hosts.run(&check));
    common::some_verified(&text);
}
