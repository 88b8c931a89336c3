//! Many hosts, measured alone and in pairs: the plan, what an engine takes of it, and which host is slow.
//!
//! An engine that is there (Slurm, Kubernetes) starts processes, places them, retries them and limits them; this crate
//! writes what it takes and reads what came of it. Every step writes an ordinary run directory.
//! A module imports only modules above it in this list.

pub mod hosts;
pub mod matchings;
pub mod plan;
pub mod folder;
pub mod engine;
pub mod step;
pub mod figures;
pub mod collect;
pub mod found;
pub mod page;
