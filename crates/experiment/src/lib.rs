//! An experiment: what was asked, what will run, and the directory that holds what was measured.
//!
//! A module imports only modules above it in this list.

pub mod spec;
pub mod variants;
pub mod plan;
pub mod run;
