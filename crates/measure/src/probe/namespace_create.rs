//! `namespace_create`: a child in new namespaces, made, ended and waited for.
//!
//! The child shares this process's memory and ends at once, so that the namespaces are what it costs. The kernel takes
//! a network namespace apart later, on a thread of its own: that is not in the figure.
//! Sources: namespaces(7), clone(2), unshare(2); kernel/nsproxy.c.

use super::prediction::{CostAccount, Inputs};
use super::rights::{OWN_NAMESPACES, Rights};
use super::row::Row;
use super::{
    Channel, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, batch, primitive,
    system_call,
};
use anyhow::{Context, Result, ensure};
use rustix::fs::stat;
use std::cell::Cell;
use std::ffi::CStr;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::child;

const NAMESPACE: NameAxis = NameAxis::new("namespace");
const STATUS: i32 = 7;
const STACK_BYTES: usize = 64 << 10;

pub struct NamespaceCreate;

struct NamespaceKind {
    id: &'static str,
    label: &'static str,
    flags: libc::c_int,
    /// Where the kernel names them.
    files: &'static [&'static CStr],
    /// Is it a few fields that are copied?
    is_small: bool,
}

const EACH: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP;

const fn kind(
    id: &'static str,
    label: &'static str,
    flags: libc::c_int,
    files: &'static [&'static CStr],
) -> NamespaceKind {
    NamespaceKind { id, label, flags, files, is_small: false }
}

const KINDS: &[NamespaceKind] = &[
    // Not small: it brings limits of its own, each a file of sysctl.
    kind("user", "user namespace", libc::CLONE_NEWUSER, &[c"/proc/self/ns/user"]),
    NamespaceKind {
        is_small: true,
        ..kind("uts", "UTS namespace", libc::CLONE_NEWUTS, &[c"/proc/self/ns/uts"])
    },
    NamespaceKind {
        is_small: true,
        ..kind("cgroup", "cgroup namespace", libc::CLONE_NEWCGROUP, &[c"/proc/self/ns/cgroup"])
    },
    kind("ipc", "IPC namespace", libc::CLONE_NEWIPC, &[c"/proc/self/ns/ipc"]),
    kind("pid", "PID namespace", libc::CLONE_NEWPID, &[c"/proc/self/ns/pid"]),
    kind("mount", "mount namespace", libc::CLONE_NEWNS, &[c"/proc/self/ns/mnt"]),
    kind("network", "network namespace", libc::CLONE_NEWNET, &[c"/proc/self/ns/net"]),
    kind(
        "container",
        "all of a container's namespaces at once",
        EACH,
        &[
            c"/proc/self/ns/mnt",
            c"/proc/self/ns/uts",
            c"/proc/self/ns/ipc",
            c"/proc/self/ns/pid",
            c"/proc/self/ns/net",
            c"/proc/self/ns/cgroup",
        ],
    ),
];

fn find(point: &Point) -> Option<&'static NamespaceKind> {
    KINDS.iter().find(|kind| Some(kind.id) == point.text(NAMESPACE))
}

/// A child in such namespaces; its status has to be its own.
fn make(kind: &NamespaceKind, stack: &mut [u8]) -> Result<u64> {
    let start = monotonic_ns();
    let status = child::vfork_in_namespaces(stack, kind.flags, || STATUS);
    let ns = monotonic_ns() - start;
    let status = status.map_err(|error| refused(kind, &error))?;
    ensure!(status == STATUS, "a child ended with {status}, not {STATUS}");
    Ok(ns)
}

fn refused(kind: &NamespaceKind, error: &std::io::Error) -> Unavailable {
    let remedy = if kind.id == "user" {
        "allow user namespaces (user.max_user_namespaces, the sandbox's filter)"
    } else {
        "as root, or in a user namespace of one's own (unshare --user --map-root-user)"
    };
    Unavailable { reason: format!("the kernel refuses: {} ({error})", kind.label), remedy: remedy.into() }
}

/// The number of a namespace of the caller.
fn number(file: &CStr) -> Option<u64> {
    stat(file).ok().map(|namespace| namespace.st_ino)
}

/// Is the child where this process is not?
fn is_elsewhere(kind: &NamespaceKind, stack: &mut [u8]) -> Result<()> {
    for file in kind.files {
        let own = number(file).with_context(|| format!("there is no {file:?}"))?;
        let seen = Cell::new(None);
        let status = child::vfork_in_namespaces(stack, kind.flags, || {
            seen.set(number(file));
            STATUS
        });
        status.map_err(|error| refused(kind, &error))?;
        ensure!(seen.get().is_some_and(|seen| seen != own), "the child is in the same namespace: {file:?}");
    }
    Ok(())
}

impl Probe for NamespaceCreate {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "namespace_create",
            title: "namespaces",
            method: "The time from before clone(2) with the flags of the namespaces until the wait for the child returns, one at a \
                     time; the child shares the memory and ends at once. Before the windows a child has to name other \
                     namespaces than this process.",
            source: "namespaces(7), clone(2); kernel/nsproxy.c",
            roles: &["parent"],
            operation: Some(&NamespaceCreate),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            NAMESPACE
                .names(|| KINDS.iter().map(|kind| kind.id).collect())
                .help("which namespaces a child gets"),
        ]
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![OWN_NAMESPACES])
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        // From 30 us to some milliseconds.
        Timing { window_ns: base.window_ns * 4, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let kind = find(&task.point).with_context(|| format!("no namespace at {}", task.point))?;
        let facts = batch::settle_on_one_cpu();
        let mut stack = vec![0u8; STACK_BYTES];
        is_elsewhere(kind, &mut stack)?;
        channel.ready()?;
        let windows = batch::operations(task, batch::clock_overhead_ns(), || make(kind, &mut stack))?;
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for NamespaceCreate {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        find(point).map(|kind| Row::listed(kind.label))
    }

    /// Of a small one nothing but the child that is made with it. What mounts, devices and protocols are copied or set
    /// up by the others is in no primitive.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        if !find(point)?.is_small {
            return None;
        }
        let task = inputs.row("task", primitive::cost_of("task"));
        let wait = inputs.row("trap", system_call::cost_of("getppid"));
        let software = task.zip(wait).map(|(task, wait)| task + wait);
        Some(inputs.sum("task + trap", Some(0.0), software))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_elsewhere_or_the_kind_is_unavailable() {
        let mut stack = vec![0u8; STACK_BYTES];
        for kind in KINDS {
            let made = is_elsewhere(kind, &mut stack).and_then(|()| make(kind, &mut stack));
            assert!(made.is_ok() || made.is_err_and(|why| why.is::<Unavailable>()), "{}", kind.id);
        }
    }

    /// The trap: a child in the namespaces of its parent is made sooner.
    #[test]
    fn a_child_that_is_here_is_an_error() {
        let here = kind("uts", "none", 0, &[c"/proc/self/ns/uts"]);
        let why = is_elsewhere(&here, &mut vec![0u8; STACK_BYTES]).unwrap_err();
        assert!(why.to_string().contains("same namespace"), "{why}");
    }
}
