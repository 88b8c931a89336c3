//! The rights that a role keeps: what of root it needs, each with its reason.
//!
//! A worker gives up everything else before it plays ([`super::Probe::rights`]). What is kept is what the
//! operation cannot do without, or what it would be measured differently without.
//! Source: capabilities(7).

use syscost_sys::capability::CapabilitySet;

/// A capability, and what goes wrong without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    pub capability: CapabilitySet,
    pub why: &'static str,
}

/// What a role keeps of what it was started with: these, where they are held at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights(pub Vec<Right>);

impl Rights {
    /// What an ordinary user can do is enough.
    pub fn none() -> Rights {
        Rights(Vec::new())
    }
}

pub const COUNT_IN_THE_KERNEL: Right = Right {
    capability: CapabilitySet::PERFMON,
    why: "perf_event_open(2) counts what the kernel does for a thread only with it where kernel.perf_event_paranoid is above 1",
};

pub const COUNT_ON_DEBIAN: Right = Right {
    capability: CapabilitySet::SYS_ADMIN,
    why: "kernels with kernel.perf_event_paranoid above 2 (Debian, Ubuntu) let nobody else count",
};

pub const LARGE_PIPES: Right = Right {
    capability: CapabilitySet::SYS_RESOURCE,
    why: "pipes beyond fs.pipe-max-size and fs.pipe-user-pages-soft (fcntl(2), F_SETPIPE_SZ)",
};

pub const LOCK_PAGES: Right = Right {
    capability: CapabilitySet::IPC_LOCK,
    why: "pages of a send without a copy and registered buffers are charged to RLIMIT_MEMLOCK without it",
};

pub const NETWORK_SETTINGS: Right = Right {
    capability: CapabilitySet::NET_ADMIN,
    why: "any congestion control, SO_BUSY_POLL, kernel TLS whose module is not loaded, queues of a device for a \
          receiver without a copy",
};

pub const RAW_ICMP: Right = Right {
    capability: CapabilitySet::NET_RAW,
    why: "ICMP echo by a raw socket where net.ipv4.ping_group_range leaves no other",
};

pub const OTHERS_DIRECTORIES: Right = Right {
    capability: CapabilitySet::DAC_READ_SEARCH,
    why: "the served file lies below a directory (--dir) that may belong to another user",
};

pub const FILL_OTHERS_DIRECTORIES: Right = Right {
    capability: CapabilitySet::DAC_OVERRIDE,
    why: "the file is written below a directory (--dir) that may belong to another user",
};

pub const OWN_MOUNTS: Right = Right {
    capability: CapabilitySet::SYS_ADMIN,
    why: "a file server sees neither sockets of this machine's services nor its own old state: in a mount namespace",
};

pub const OTHER_USERS: Right =
    Right { capability: CapabilitySet::SETUID, why: "a file server acts as the user who started it" };

pub const OTHER_GROUPS: Right = Right { capability: CapabilitySet::SETGID, why: "and of that user's groups" };

pub const FILE_HANDLES: Right = Right {
    capability: CapabilitySet::DAC_READ_SEARCH,
    why: "a file server opens files by handle (open_by_handle_at(2))",
};

pub const SERVICE_PORTS: Right = Right {
    capability: CapabilitySet::NET_BIND_SERVICE,
    why: "the port of a protocol is below net.ipv4.ip_unprivileged_port_start",
};

pub const LOW_PORTS: Right = Right {
    capability: CapabilitySet::NET_BIND_SERVICE,
    why: "a range of ports (--ports) below net.ipv4.ip_unprivileged_port_start",
};

pub const RINGS: Right = Right {
    capability: CapabilitySet::SYS_ADMIN,
    why: "io_uring where kernel.io_uring_disabled is 1; given up where it is 0",
};
