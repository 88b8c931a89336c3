//! Anonymous network namespaces: held by a descriptor, gone with the last process in them, so
//! that nothing is left behind however this program ends.
//!
//! It must not touch the namespace of the calling process. Sources: unshare(2), setns(2).

use anyhow::{Context, Result};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A network namespace of our own.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Makes an empty one, without changing where the caller is.
    pub fn new() -> Result<Namespace> {
        std::thread::spawn(|| {
            // SAFETY: takes flags only; the thread ends here, and with it the change.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
                return Err(io::Error::last_os_error());
            }
            Namespace::current().map_err(io::Error::other)
        })
        .join()
        .expect("the thread does not panic")
        .context("cannot make a network namespace (root, or unprivileged user namespaces, are needed)")
    }

    /// The one that the calling thread is in.
    pub fn current() -> Result<Namespace> {
        Ok(Namespace(File::open("/proc/thread-self/ns/net")?.into()))
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// A path that other programs of this process's lifetime can open.
    pub fn proc_path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.fd())
    }
}

/// Another descriptor of the same namespace.
pub fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; the descriptor returned is new and owned by nobody else.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Moves the calling thread into a namespace. Async-signal-safe.
pub fn enter(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes a descriptor and a flag; a bad descriptor is an error.
    if unsafe { libc::setns(fd, libc::CLONE_NEWNET) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Without root, becomes the root of a new user namespace, where network namespaces may be made,
/// in a network namespace that it owns: only to such a one may a thread return.
/// Must be called while the process has a single thread.
pub fn become_root() -> Result<bool> {
    // SAFETY: these take nothing and cannot fail.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    if uid == 0 {
        return Ok(false);
    }
    // SAFETY: takes flags only.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) } < 0 {
        let error = io::Error::last_os_error();
        return Err(error).context("not root, and the kernel allows no user namespace here");
    }
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    Ok(true)
}
