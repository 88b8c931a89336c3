//! From a [`crate::run::Run`] to estimates, comparisons and findings. Pure and offline.

pub mod cells;
