//! The child process that plays one role of one case, and what it says to the harness.

pub mod child;
pub mod describe;
pub mod protocol;
