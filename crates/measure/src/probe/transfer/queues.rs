//! What very many connections hold in the kernel: unread and unacknowledged bytes in the queues of their
//! sockets, and what each receiver has room for.
//!
//! A queue may grow to its socket's buffer, and the kernel lets buffers grow (tcp_rmem, tcp_wmem) until all of
//! TCP holds as much as tcp_mem allows: from there on it takes packets no more, and they are sent again. That,
//! and nothing of ours, bounds many large buffers. Source: Documentation/networking/ip-sysctl.rst.

use crate::probe::transfer::axes::SOCKET_BUFFER_BYTES;
use std::fs;
use std::sync::OnceLock;
use syscost_core::axis::Point;
use syscost_sys::mapping::page_bytes;

/// What receivers that read into memory of their own have of it.
const RECEIVERS_BYTES: u64 = 128 << 10;

struct QueueLimits {
    /// Both queues of a connection, at most, where nobody set their size.
    each_bytes: u64,
    /// Those of all connections of the machine.
    all_bytes: u64,
}

/// Most that so many connections hold at this point, over both sides.
pub fn bytes(point: &Point, connections: u64) -> u64 {
    // Asked once: a plan of a hundred thousand cases wants it for each.
    static LIMITS: OnceLock<QueueLimits> = OnceLock::new();
    let limits = LIMITS.get_or_init(QueueLimits::read);
    let asked = point.int(SOCKET_BUFFER_BYTES).unwrap_or(0);
    limits.of(asked, connections).saturating_add(connections.saturating_mul(RECEIVERS_BYTES))
}

impl QueueLimits {
    fn read() -> QueueLimits {
        let last = |name: &str, otherwise: u64| {
            let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
            text.split_whitespace().last().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
        };
        // Otherwise as they come.
        let each_bytes = last("tcp_rmem", 6 << 20) + last("tcp_wmem", 4 << 20);
        let all_bytes = last("tcp_mem", 1 << 16).saturating_mul(page_bytes() as u64);
        QueueLimits { each_bytes, all_bytes }
    }

    fn of(&self, asked: u64, connections: u64) -> u64 {
        // The kernel doubles what is asked, for each of the two.
        let each = if asked > 0 { 4 * asked } else { self.each_bytes };
        connections.saturating_mul(each).min(self.all_bytes)
    }
}
