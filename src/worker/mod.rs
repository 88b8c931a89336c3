//! The child-process protocol and its launchers.
