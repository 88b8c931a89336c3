//! Whether this machine lets us use io_uring, and how much memory we may lock for it: tried where it can
//! be, and explained by what the kernel was told.
//!
//! Sources: Documentation/admin-guide/sysctl/kernel.rst (io_uring_disabled), getrlimit(2), capabilities(7).

use super::Unavailable;
use super::files::Root;
use crate::sys::limit;
use crate::sys::uring::probe;
use crate::sys::uring::send::Way;
use std::io;

/// CAP_IPC_LOCK: no limit on locked memory.
const CAP_IPC_LOCK: u32 = 14;

/// Can a ring be made?
pub fn available() -> Result<(), Unavailable> {
    probe::ring().map_err(|error| refusal(&Root::here(), &error))
}

/// Does this kernel take this way to send?
pub fn sends(way: Way) -> Result<(), Unavailable> {
    available()?;
    probe::send(way).map_err(|error| refused("this way to send", &error, oldest(way)))
}

/// Does it take multishot receives with provided buffers?
pub fn receives() -> Result<(), Unavailable> {
    available()?;
    probe::receive().map_err(|error| refused("a multishot receive with provided buffers", &error, "6.0"))
}

/// Would registering so many bytes exceed what this user may lock?
pub fn can_register(bytes: u64) -> Result<(), Unavailable> {
    match lockable_bytes(&Root::here()) {
        Some(limit) if bytes > limit => Err(Unavailable {
            reason: format!(
                "registered buffers of {bytes} bytes are locked memory, and this user may lock {limit} bytes \
                 (RLIMIT_MEMLOCK)"
            ),
            remedy: "raise the limit (ulimit -l), run as root, or ask for fewer messages in flight".into(),
        }),
        _ => Ok(()),
    }
}

/// The locked-memory limit; `None`: this process has none.
fn lockable_bytes(root: &Root) -> Option<u64> {
    let status = root.text("proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = capabilities.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    // The kernel asks for the capability over the whole machine, not over a user namespace.
    let map = root.text("proc/self/uid_map").unwrap_or_default();
    let whole_machine = map.split_whitespace().eq(["0", "0", "4294967295"]);
    if whole_machine && held >> CAP_IPC_LOCK & 1 == 1 { None } else { limit::locked_memory_bytes() }
}

fn refused(what: &str, error: &io::Error, since: &str) -> Unavailable {
    Unavailable {
        reason: format!("this kernel's io_uring refuses {what} ({error})"),
        remedy: format!("use Linux {since} or later"),
    }
}

/// The kernel that has all that the way asks for, for the remedy.
fn oldest(way: Way) -> &'static str {
    match (way.zero_copy, way.gathered, way.registered) {
        (true, true, true) => "6.15",
        (true, ..) => "6.2",
        _ => "5.6",
    }
}

/// Why no ring could be made.
fn refusal(root: &Root, error: &io::Error) -> Unavailable {
    let disabled = root.number("proc/sys/kernel/io_uring_disabled").unwrap_or(0);
    let (reason, remedy) = match (error.raw_os_error(), disabled) {
        (Some(libc::EPERM), 1) => (
            "io_uring is disabled for users without CAP_SYS_ADMIN (kernel.io_uring_disabled is 1)",
            "sysctl kernel.io_uring_disabled=0, join the group kernel.io_uring_group, or run as root",
        ),
        (Some(libc::EPERM), 2) => (
            "io_uring is disabled on this machine (kernel.io_uring_disabled is 2)",
            "sysctl kernel.io_uring_disabled=0",
        ),
        (Some(libc::EPERM | libc::EACCES), _) => (
            "a sandbox (seccomp, a security module) refuses io_uring",
            "allow io_uring_setup, io_uring_enter and io_uring_register in it (Docker: a seccomp profile that has them)",
        ),
        (Some(libc::ENOSYS), _) => (
            "the kernel, or a sandbox, has no io_uring",
            "use Linux 5.6 or later with CONFIG_IO_URING, outside sandboxes that hide it",
        ),
        (Some(libc::ENOMEM), _) => {
            ("no memory may be locked for an io_uring", "raise the locked-memory limit (ulimit -l)")
        }
        _ => ("no io_uring can be made", "strace -e io_uring_setup shows the call that fails"),
    };
    Unavailable { reason: format!("{reason}: {error}"), remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::fixture::Machine;

    #[test]
    fn a_disabled_io_uring_is_told_from_a_sandbox() {
        let machine = Machine::empty();
        let eperm = io::Error::from_raw_os_error(libc::EPERM);
        assert!(refusal(&machine.root(), &eperm).reason.contains("sandbox"));
        machine.write("proc/sys/kernel/io_uring_disabled", "2\n");
        assert!(refusal(&machine.root(), &eperm).reason.contains("io_uring_disabled is 2"));
        machine.write("proc/sys/kernel/io_uring_disabled", "1\n");
        assert!(refusal(&machine.root(), &eperm).remedy.contains("io_uring_group"));
        let enosys = io::Error::from_raw_os_error(libc::ENOSYS);
        assert!(refusal(&machine.root(), &enosys).remedy.contains("CONFIG_IO_URING"));
    }

    #[test]
    fn only_the_machines_own_capability_lifts_the_limit() {
        let machine = Machine::empty();
        let limit = limit::locked_memory_bytes();
        machine.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
        machine.write("proc/self/uid_map", "         0          0 4294967295\n");
        assert_eq!(lockable_bytes(&machine.root()), limit);
        machine.write("proc/self/status", "CapEff:\t000001ffffffffff\n");
        assert_eq!(lockable_bytes(&machine.root()), None);
        machine.write("proc/self/uid_map", "         0       1000          1\n");
        assert_eq!(lockable_bytes(&machine.root()), limit, "root of a user namespace is nobody special");
    }
}
