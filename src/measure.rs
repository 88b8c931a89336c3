//! Executes a plan and appends to a run.
