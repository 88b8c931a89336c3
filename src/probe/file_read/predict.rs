//! What reading a block should cost: the device's part is the base hardware, what the page cache and
//! the system call add is the software's.

use super::super::blocks::BLOCK_BYTES;
use super::super::directory;
use super::super::prediction::{Account, Inputs};
use super::{Way, axes, cost_of};
use crate::axis::Point;
use crate::units::Unit;

pub fn account(point: &Point, mut inputs: Inputs<'_>) -> Option<Account> {
    let bytes = point.int("file_bytes")?;
    let random = point.text("read_pattern") == Some(axes::RANDOM);
    let row = |way, random| cost_of(way, random, bytes, directory::of(point));
    match (point.text("read_mode")?, point.text("page_cache")) {
        (axes::BUFFERED, Some(axes::WARM)) => None,
        (axes::BUFFERED, _) if random => {
            let device = inputs.row("direct_read", row(Way::Direct, true));
            let software = inputs.row("cached_read", row(Way::Cached, true));
            Some(inputs.sum("direct_read + cached_read", device, software))
        }
        (axes::BUFFERED, _) => {
            let device = inputs.row("device_rate_read", row(Way::DirectLarge, false));
            let software = inputs.row("cached_read", row(Way::Cached, false));
            Some(inputs.sum("device_rate_read + cached_read", device, software))
        }
        (axes::DIRECT, _) => {
            let latency = inputs.fact("device_latency", "disk_read_latency_ns", Unit::Nanoseconds);
            Some(inputs.sum("device_latency", latency, Some(0.0)))
        }
        _ => {
            let rate = inputs.fact("device_rate", "disk_read_bytes_per_second", Unit::BytesPerSecond);
            let ns = rate.map(|rate| BLOCK_BYTES as f64 * 1e9 / rate);
            Some(inputs.sum("4 KiB / device_rate", ns, Some(0.0)))
        }
    }
}
