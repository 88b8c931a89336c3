//! What operations cost: their rows and curves, beside predictions and published figures.

pub mod operation;
pub mod accuracy;
pub mod machine;
pub mod beside;
pub mod curves;
pub mod levels;

pub use operation::{Operation, Spread, headline, late, operations, over, problems};
