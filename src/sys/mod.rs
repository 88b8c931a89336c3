//! Thin safe wrappers over raw system calls and instructions; the unsafe code lives here.

pub mod buffer;
pub mod socket;
pub mod program;
pub mod clock;
pub mod affinity;
pub mod features;
pub mod namespace;
pub mod netlink;
pub mod ethtool;
