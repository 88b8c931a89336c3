//! Runs whose ends are wherever a process can be started: nodes of a real Slurm cluster, real containers, namespaces,
//! and whatever a command of the user's own leads to. Engines run in namespaces that end with the test.

mod containers;
pub mod engine;
mod manifests;
pub mod slurm;
mod wrappers;
