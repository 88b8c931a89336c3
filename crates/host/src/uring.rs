//! Whether this machine lets us use io_uring: tried, and a refusal explained by what the kernel was told.
//!
//! Sources: Documentation/admin-guide/sysctl/kernel.rst (io_uring_disabled), getrlimit(2).

use super::Unavailable;
use super::files::Root;
use std::io;
use syscost_core::units::Unit;
use syscost_sys::limit;
use syscost_sys::uring::probe;
use syscost_sys::uring::send::SendMode;

/// Can a ring be made?
pub fn available() -> Result<(), Unavailable> {
    probe::ring().map_err(|error| refusal(&Root::here(), &error))
}

/// Does this machine make rings for CAP_SYS_ADMIN alone?
pub fn needs_right() -> bool {
    Root::here().number("proc/sys/kernel/io_uring_disabled") == Some(1)
}

/// Does this kernel take this way to send?
pub fn sends(way: SendMode) -> Result<(), Unavailable> {
    available()?;
    probe::send(way).map_err(|error| refused("this way to send", &error, oldest(way)))
}

/// Does it take multishot receives with provided buffers?
pub fn receives() -> Result<(), Unavailable> {
    available()?;
    probe::receive().map_err(|error| refused("a multishot receive with provided buffers", &error, "6.0"))
}

/// The kernel refused to lock memory for a ring's registered buffers.
pub fn cannot_lock(error: &io::Error) -> Unavailable {
    let limit = match limit::locked_memory_bytes() {
        Some(bytes) => format!("; this user may lock {} (RLIMIT_MEMLOCK)", Unit::Bytes.format(bytes as f64)),
        None => String::new(),
    };
    Unavailable {
        reason: format!("{error}{limit}"),
        remedy: "raise the limit (ulimit -l) above threads x messages in flight x message size, run as root, or ask \
                 for fewer messages in flight"
            .into(),
    }
}

fn refused(what: &str, error: &io::Error, since: &str) -> Unavailable {
    Unavailable {
        reason: format!("this kernel's io_uring refuses {what} ({error})"),
        remedy: format!("use Linux {since} or later"),
    }
}

/// The kernel that has all that the way asks for, for the remedy.
fn oldest(way: SendMode) -> &'static str {
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
    use crate::files::fixture::Machine;

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
    fn a_refused_lock_names_the_limit() {
        let error = io::Error::new(io::ErrorKind::OutOfMemory, "the kernel refuses to lock 8 bytes");
        let why = cannot_lock(&error);
        assert!(
            why.reason.starts_with("the kernel refuses to lock 8 bytes") && why.remedy.contains("ulimit")
        );
        assert_eq!(why.reason.contains("RLIMIT_MEMLOCK"), limit::locked_memory_bytes().is_some());
    }
}
