//! Thin safe wrappers over raw system calls and instructions; the unsafe code lives here.

pub mod buffer;
pub mod process;
pub mod random;
pub mod socket;
pub mod program;
pub mod namespace;
pub mod netlink;
pub mod ethtool;
