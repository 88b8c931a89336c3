//! How often data was copied: what was counted of each mechanism and receiver, beside what they promise.

pub mod counted;
pub mod data_path;
pub mod received;

pub use counted::*;
