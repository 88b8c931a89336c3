//! What is timed: messages, ways to send and to receive, probes, the count of copies, and the process that plays them.
//!
//! Compiled for speed. A module imports only modules above it in this list.

pub mod ledger;
pub mod message;
pub mod own;
pub mod mechanism;
pub mod receiver;
pub mod probe;
pub mod worker;

#[cfg(test)]
mod fixture;
