//! What takes longer than a change can wait for: guests of an emulator, clusters and containers, hundreds of kills, soaks.
//! `.ci/nightly` runs these, and `tests/run` leaves them out by the name of this folder.

mod capabilities;
mod ci_jobs;
pub mod elsewhere;
mod fleet;
mod killed;
pub mod lab;
mod lab_cache;
mod lab_instructions;
mod soak;
