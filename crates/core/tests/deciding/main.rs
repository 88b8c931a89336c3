//! The promises of `decide`, by simulation: of rivals in one run, of runs or boots, and of hosts.

mod hosts;
mod sides;
mod studies;
