//! The model on a run of known primitives.
