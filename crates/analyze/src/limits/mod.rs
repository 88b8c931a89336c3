//! What keeps a case from being faster, and what moving the same bytes costs without TCP.

pub mod limiter;
pub mod own_cost;
pub mod side_cpus;
