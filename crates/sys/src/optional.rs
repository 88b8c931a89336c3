//! The calls that only make figures comparable, or tidy up: where one is refused (a sandbox, gVisor, WSL1) work goes on
//! without it, and what that means is told once.
//!
//! A test refuses each of them, with every error that sandboxes give. Sources: seccomp(2), tcp(7), prctl(2).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Mutex;

/// A call that work can do without.
pub struct OptionalCall {
    pub id: &'static str,
    /// As people write it.
    pub call: &'static str,
    /// What its lack means; empty: nothing that anybody has to know.
    pub consequence: &'static str,
    /// Its number, and which arguments (by place) have which value.
    pub number: libc::c_long,
    pub arguments: &'static [(u32, u32)],
}

/// By the call's number, and its arguments.
const fn optional(
    id: &'static str,
    call: &'static str,
    consequence: &'static str,
    number: libc::c_long,
    arguments: &'static [(u32, u32)],
) -> OptionalCall {
    OptionalCall { id, call, consequence, number, arguments }
}

const RIGHTS_KEPT: &str = "workers keep the rights that syscost was started with; no figure is touched by it";
const NOT_DURABLE: &str = "what was recorded last may be lost in a power cut; no figure is touched by it";

pub const CONGESTION: OptionalCall = optional(
    "tcp_congestion",
    "setsockopt(TCP_CONGESTION)",
    "connections have the congestion control that the kernel uses; the settings of each case name it",
    libc::SYS_setsockopt,
    &[(1, 6), (2, 13)],
);
pub const NODELAY: OptionalCall = optional(
    "tcp_nodelay",
    "setsockopt(TCP_NODELAY)",
    "small messages may be held and merged (Nagle's algorithm): latencies of them are longer",
    libc::SYS_setsockopt,
    &[(1, 6), (2, 1)],
);
pub const QUICKACK: OptionalCall = optional(
    "tcp_quickack",
    "setsockopt(TCP_QUICKACK)",
    "acknowledgements may be up to 40 ms late: completions of zero-copy sends may wait for them",
    libc::SYS_setsockopt,
    &[(1, 6), (2, 12)],
);
pub const RECEIVE_TIMEOUT: OptionalCall = optional(
    "so_rcvtimeo",
    "setsockopt(SO_RCVTIMEO)",
    "a peer that says nothing is given up at the end of its round; no figure is touched by it",
    libc::SYS_setsockopt,
    &[(1, 1), (2, 20)],
);
pub const REUSE_ADDRESS: OptionalCall =
    optional("so_reuseaddr", "setsockopt(SO_REUSEADDR)", "", libc::SYS_setsockopt, &[(1, 1), (2, 2)]);
pub const PINNING: OptionalCall = optional(
    "sched_setaffinity",
    "sched_setaffinity",
    "threads run where the kernel puts them: figures scatter more",
    libc::SYS_sched_setaffinity,
    &[],
);
pub const SET_RIGHTS: OptionalCall = optional("capset", "capset", RIGHTS_KEPT, libc::SYS_capset, &[]);
pub const DIE_WITH_PARENT: OptionalCall = optional(
    "pr_set_pdeathsig",
    "prctl(PR_SET_PDEATHSIG)",
    "a worker may outlive a killed syscost for the rest of its round; no figure is touched by it",
    libc::SYS_prctl,
    &[(0, 1)],
);
pub const OWN_GROUP: OptionalCall =
    optional("setpgid", "setpgid", "Ctrl-C ends workers at once: their round fails", libc::SYS_setpgid, &[]);
pub const SYNC: OptionalCall = optional("fsync", "fsync", NOT_DURABLE, libc::SYS_fsync, &[]);
pub const SYNC_DATA: OptionalCall = optional("fdatasync", "fdatasync", NOT_DURABLE, libc::SYS_fdatasync, &[]);

pub const TCP_INFO: OptionalCall = optional(
    "tcp_info",
    "getsockopt(TCP_INFO)",
    "segments and retransmits are not counted",
    libc::SYS_getsockopt,
    &[(1, 6), (2, 11)],
);

/// All of them, and those whose callers never cared.
pub const ALL: &[OptionalCall] = &[
    CONGESTION,
    NODELAY,
    QUICKACK,
    RECEIVE_TIMEOUT,
    REUSE_ADDRESS,
    PINNING,
    SET_RIGHTS,
    DIE_WITH_PARENT,
    OWN_GROUP,
    SYNC,
    SYNC_DATA,
    optional("capget", "capget", "", libc::SYS_capget, &[]),
    optional("pr_set_no_new_privs", "prctl(PR_SET_NO_NEW_PRIVS)", "", libc::SYS_prctl, &[(0, 38)]),
    optional("pr_capbset_drop", "prctl(PR_CAPBSET_DROP)", "", libc::SYS_prctl, &[(0, 24)]),
    optional("pr_cap_ambient", "prctl(PR_CAP_AMBIENT)", "", libc::SYS_prctl, &[(0, 47)]),
    optional("pr_set_timerslack", "prctl(PR_SET_TIMERSLACK)", "", libc::SYS_prctl, &[(0, 29)]),
    optional("pr_set_name", "prctl(PR_SET_NAME)", "", libc::SYS_prctl, &[(0, 15)]),
    optional("getrusage", "getrusage", "", libc::SYS_getrusage, &[]),
    optional("prlimit64", "prlimit64", "", libc::SYS_prlimit64, &[]),
    optional("madvise", "madvise", "", libc::SYS_madvise, &[]),
    optional("flock", "flock", "", libc::SYS_flock, &[]),
    TCP_INFO,
    optional("so_error", "getsockopt(SO_ERROR)", "", libc::SYS_getsockopt, &[(1, 1), (2, 4)]),
];

/// What this process was refused so far, and with which error.
static REFUSED: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());

impl OptionalCall {
    /// Goes on without it, and notes that.
    pub fn tried<T>(&self, answer: io::Result<T>) -> Option<T> {
        answer.map_err(|error| self.refused(&error)).ok()
    }

    pub fn refused(&self, error: &io::Error) {
        if let Ok(mut known) = REFUSED.lock() {
            known.entry(self.id).or_insert_with(|| error.to_string());
        }
    }
}

/// Calls that this process was refused, each with the error.
pub fn refused() -> Vec<(&'static str, String)> {
    REFUSED
        .lock()
        .map_or_else(|_| Vec::new(), |known| known.iter().map(|(id, why)| (*id, why.clone())).collect())
}

/// Is it what sandboxes, gVisor and old kernels answer?
pub fn by_sandbox(error: &io::Error) -> bool {
    use libc::{EINVAL, ENOENT, ENOPROTOOPT, ENOSYS, EPERM};
    matches!(error.raw_os_error(), Some(EPERM | ENOSYS | EINVAL | ENOPROTOOPT | ENOENT))
}

/// Whatever else than a full or broken disk keeps a file from being made durable: it is written all the same.
pub fn synced(file: &impl AsRawFd, call: &OptionalCall) -> io::Result<()> {
    let sync = if call.number == libc::SYS_fdatasync { libc::fdatasync } else { libc::fsync };
    // SAFETY: a number; a descriptor that is not open is an error.
    if unsafe { sync(file.as_raw_fd()) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if by_sandbox(&error) => {
            call.refused(&error);
            Ok(())
        }
        error => Err(error),
    }
}
