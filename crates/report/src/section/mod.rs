//! The sections of a report: one file each.

pub mod answer;
pub mod care;
pub mod cases;
pub mod copies;
pub mod costs;
pub mod drawings;
pub mod during;
pub mod figure;
pub mod latency;
pub mod machine;
pub mod method;
pub mod missing;
pub mod published;
pub mod operations;
pub mod payers;
pub mod problems;
pub mod profile;
pub mod questions;
pub mod reproduce;
pub mod time;

pub mod why;

pub use crate::text::words::{capital, grouped};
pub use syscost_core::units::count as plural;

use super::{Block, Section};
use syscost_analyze::limits::side_cpus::allowed_cpus;
use syscost_core::axis::Point;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

/// A section, unless it would be empty.
pub fn unless_empty(id: &str, title: &str, blocks: Vec<Block>) -> Option<Section> {
    (!blocks.is_empty()).then(|| Section::new(id, title, blocks))
}

/// `1 thread`, `4 threads`.
pub fn threads(count: u64) -> String {
    plural(count as usize, "thread")
}

/// ` (16 threads on 2 CPUs)` where the threads, or those of sender and receiver together, are more than the CPUs that the
/// run was allowed: they take turns, and what is measured is also the scheduler. Else nothing.
pub fn crowd(run: &Run, point: &Point, threads: u64) -> String {
    // What carries messages has two ends.
    let threads = if point.get(MESSAGE_BYTES.id).is_some() { 2 * threads } else { threads };
    let allowed = allowed_cpus(run).map(|cpus| cpus.len() as u64);
    match allowed.filter(|cpus| *cpus > 0 && threads > *cpus) {
        Some(cpus) => format!(" ({threads} threads on {})", plural(cpus as usize, "CPU")),
        None => String::new(),
    }
}
