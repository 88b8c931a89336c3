//! syscost measures what operations cost on a Linux machine, and says what the numbers mean.
//!
//! Data flows one way, and a module imports only modules above it in this list
//! (`tests/architecture.rs` checks it):
//!
//! ```text
//! argv/TOML -> Spec -> Plan -> workers -> Run -> Estimates -> Findings -> Report -> renderers
//! ```
//!
//! Everything left of [`run`] touches the machine. Everything right of it is pure and offline:
//! `syscost report DIR` rebuilds every number, plot and sentence from the recorded samples.
//! `docs/architecture.md` has the words and the reasons.

pub mod units;
pub mod sys;
pub mod host;
pub mod stats;
pub mod ledger;
pub mod message;
pub mod axis;
pub mod sample;
pub mod mechanism;
pub mod receiver;
pub mod probe;
pub mod spec;
pub mod plan;
pub mod run;
pub mod worker;
pub mod measure;
pub mod analysis;
pub mod table;
pub mod report;
pub mod lab;
pub mod cli;
