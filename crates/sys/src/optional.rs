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

const fn socket_option(
    id: &'static str,
    call: &'static str,
    consequence: &'static str,
    arguments: &'static [(u32, u32)],
) -> OptionalCall {
    OptionalCall { id, call, consequence, number: libc::SYS_setsockopt, arguments }
}

const fn option_of_process(
    id: &'static str,
    call: &'static str,
    consequence: &'static str,
    arguments: &'static [(u32, u32)],
) -> OptionalCall {
    OptionalCall { id, call, consequence, number: libc::SYS_prctl, arguments }
}

const fn plain(
    id: &'static str,
    call: &'static str,
    consequence: &'static str,
    number: libc::c_long,
) -> OptionalCall {
    OptionalCall { id, call, consequence, number, arguments: &[] }
}

const RIGHTS_KEPT: &str = "workers keep the rights that syscost was started with; no figure is touched by it";
const NOT_DURABLE: &str = "what was recorded last may be lost in a power cut; no figure is touched by it";

pub const CONGESTION: OptionalCall = socket_option(
    "tcp_congestion",
    "setsockopt(TCP_CONGESTION)",
    "connections have the congestion control that the kernel uses; the settings of each case name it",
    &[(1, 6), (2, 13)],
);
pub const NODELAY: OptionalCall = socket_option(
    "tcp_nodelay",
    "setsockopt(TCP_NODELAY)",
    "small messages may be held and merged (Nagle's algorithm): latencies of them are longer",
    &[(1, 6), (2, 1)],
);
pub const QUICKACK: OptionalCall = socket_option(
    "tcp_quickack",
    "setsockopt(TCP_QUICKACK)",
    "acknowledgements may be up to 40 ms late: completions of zero-copy sends may wait for them",
    &[(1, 6), (2, 12)],
);
pub const RECEIVE_TIMEOUT: OptionalCall = socket_option(
    "so_rcvtimeo",
    "setsockopt(SO_RCVTIMEO)",
    "a peer that says nothing is given up at the end of its round; no figure is touched by it",
    &[(1, 1), (2, 20)],
);
pub const REUSE_ADDRESS: OptionalCall =
    socket_option("so_reuseaddr", "setsockopt(SO_REUSEADDR)", "", &[(1, 1), (2, 2)]);
pub const PINNING: OptionalCall = plain(
    "sched_setaffinity",
    "sched_setaffinity",
    "threads run where the kernel puts them: figures scatter more",
    libc::SYS_sched_setaffinity,
);
pub const SET_RIGHTS: OptionalCall = plain("capset", "capset", RIGHTS_KEPT, libc::SYS_capset);
pub const DIE_WITH_PARENT: OptionalCall = option_of_process(
    "pr_set_pdeathsig",
    "prctl(PR_SET_PDEATHSIG)",
    "a worker may outlive a killed syscost for the rest of its round; no figure is touched by it",
    &[(0, 1)],
);
pub const OWN_GROUP: OptionalCall =
    plain("setpgid", "setpgid", "Ctrl-C ends workers at once: their round fails", libc::SYS_setpgid);
pub const SYNC: OptionalCall = plain("fsync", "fsync", NOT_DURABLE, libc::SYS_fsync);
pub const SYNC_DATA: OptionalCall = plain("fdatasync", "fdatasync", NOT_DURABLE, libc::SYS_fdatasync);

pub const TCP_INFO: OptionalCall = OptionalCall {
    id: "tcp_info",
    call: "getsockopt(TCP_INFO)",
    consequence: "segments and retransmits are not counted",
    number: libc::SYS_getsockopt,
    arguments: &[(1, 6), (2, 11)],
};

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
    plain("capget", "capget", "", libc::SYS_capget),
    option_of_process("pr_set_no_new_privs", "prctl(PR_SET_NO_NEW_PRIVS)", "", &[(0, 38)]),
    option_of_process("pr_capbset_drop", "prctl(PR_CAPBSET_DROP)", "", &[(0, 24)]),
    option_of_process("pr_cap_ambient", "prctl(PR_CAP_AMBIENT)", "", &[(0, 47)]),
    option_of_process("pr_set_timerslack", "prctl(PR_SET_TIMERSLACK)", "", &[(0, 29)]),
    option_of_process("pr_set_name", "prctl(PR_SET_NAME)", "", &[(0, 15)]),
    plain("getrusage", "getrusage", "", libc::SYS_getrusage),
    plain("prlimit64", "prlimit64", "", libc::SYS_prlimit64),
    plain("madvise", "madvise", "", libc::SYS_madvise),
    plain("flock", "flock", "", libc::SYS_flock),
    TCP_INFO,
    OptionalCall {
        id: "so_error",
        call: "getsockopt(SO_ERROR)",
        consequence: "",
        number: libc::SYS_getsockopt,
        arguments: &[(1, 1), (2, 4)],
    },
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
