//! Thin safe wrappers over raw system calls and instructions; the unsafe code lives here.

pub mod affinity;
pub mod buffer;
pub mod call;
pub mod chase;
pub mod child;
pub mod clock;
pub mod disk;
pub mod ethtool;
pub mod lock;
pub mod mapping;
pub mod namespace;
pub mod netlink;
pub mod page_cache;
pub mod procedure;
pub mod process;
pub mod program;
pub mod random;
pub mod shared;
pub mod signals;
pub mod socket;
pub mod stream;
pub mod terminal;
pub mod timer;
