//! Thin safe wrappers over raw system calls and instructions; the unsafe code lives here.

pub mod affinity;
pub mod buffer;
pub mod call;
pub mod clock;
pub mod cpuid;
pub mod disk;
pub mod ethtool;
pub mod library;
pub mod lock;
pub mod mount;
pub mod namespace;
pub mod netlink;
pub mod nfs_client;
pub mod page_cache;
pub mod process;
pub mod program;
pub mod random;
pub mod signals;
pub mod smb_client;
pub mod socket;
pub mod terminal;
pub mod timer;
