//! Entering and leaving namespaces. Sources: unshare(2), setns(2), user_namespaces(7).
//!
//! It must not touch the namespaces of a thread that it did not start itself, or of the calling
//! process except where a function says so.

use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Gives the calling thread a new, empty network namespace.
pub fn unshare_net() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET)
}

/// Puts this process into a new user namespace in which it keeps its ids and holds every
/// capability until it executes something. The process must have one thread only.
pub fn unshare_user() -> io::Result<()> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(UnshareFlags::NEWUSER)?;
    // An unprivileged process may map its own ids only, and its group only without setgroups(2).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: never the table of descriptors, which is what could take one from another thread.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

/// The namespace of this kind (`net`, `user`, `pid`) that the calling thread is in, held open.
pub fn current(kind: &str) -> io::Result<OwnedFd> {
    Ok(File::open(format!("/proc/thread-self/ns/{kind}"))?.into())
}

/// The inode number of a namespace: unique while it lives. The kernel keeps it in 32 bits.
pub fn number(namespace: BorrowedFd<'_>) -> io::Result<u32> {
    let file = File::from(namespace.try_clone_to_owned()?);
    u32::try_from(file.metadata()?.ino()).map_err(io::Error::other)
}

/// The device and inode of a namespace, as the kernel itself writes them.
pub fn identity(namespace: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let metadata = File::from(namespace.try_clone_to_owned()?).metadata()?;
    let device = metadata.dev();
    // stat(2) packs the device otherwise than the kernel does (MKDEV).
    let device = u64::from(libc::major(device)) << 20 | u64::from(libc::minor(device));
    Ok((device, metadata.ino()))
}

/// Moves the calling thread into this network namespace.
pub fn enter_net(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}

/// Makes the command enter the user namespace, if any, then the network namespace, before it is
/// executed. The descriptors are duplicated: the command may outlive the caller's.
pub fn enter_on_exec(command: &mut Command, user: Option<BorrowedFd<'_>>, net: BorrowedFd<'_>) {
    let duplicate =
        |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map_err(|e| e.raw_os_error().unwrap_or(libc::EBADF));
    let user = user.map(duplicate).transpose();
    let net = duplicate(net);
    let enter = move || -> io::Result<()> {
        if let Some(user) = user.as_ref().map_err(|e| io::Error::from_raw_os_error(*e))? {
            // The child of fork(2) has one thread, as setns demands.
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        enter_net(net.as_ref().map_err(|e| io::Error::from_raw_os_error(*e))?.as_fd())
    };
    // SAFETY: between fork and exec the closure only calls setns(2), which is async-signal-safe
    // in practice (a bare system call), and allocates nothing: errors are bare numbers.
    unsafe {
        command.pre_exec(enter);
    }
}

/// Lets our parent open our descriptors through /proc even where this binary carries file
/// capabilities or may not be read by its user, either of which makes a process undumpable.
pub fn allow_inspection() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}
