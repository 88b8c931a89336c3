//! Connections of one thread: an axis of whoever opens them. A mechanism knows of its own connection alone;
//! one that shares something out among those of its thread asks here how many there are.

use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point};

pub const THREADS: IntAxis = IntAxis::new("threads");
pub const SOCKET_BUFFER_BYTES: IntAxis = IntAxis::new("socket_buffer_bytes");

/// Each as many as the threads of a side have.
pub const CONNECTIONS: Axis = IntAxis::new("connections")
    .count(1, 4096)
    .flag("connections", "connections per thread")
    .help(
        "TCP connections of each thread. Of several, the sender makes one call on each in \
         turn, and the receiver takes a piece of each that epoll(7) says is ready",
    )
    .default_on(Ints(&[1]));

/// Connections of each thread at this point.
pub fn connections(point: &Point) -> u64 {
    point.int_at(CONNECTIONS.id).unwrap_or(1)
}

/// Connections of all threads together.
pub fn all_connections(point: &Point) -> u64 {
    point.int(THREADS).unwrap_or(1).saturating_mul(connections(point))
}
