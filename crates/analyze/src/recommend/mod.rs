//! What to use: along a line of sizes, and the choice at each; and what that stands on.

pub mod choice;
pub mod batching;
pub mod regions;
pub mod verdict;
