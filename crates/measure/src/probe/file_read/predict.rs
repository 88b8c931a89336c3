//! What reading a block should cost: the device's part is the base hardware, what the page cache and
//! the system call add is the software's.

use super::super::blocks::BLOCK_BYTES;
use super::super::directory;
use super::super::prediction::{CostAccount, Inputs};
use super::super::{memory_bandwidth, primitive};
use super::{ReadWay, axes, cost_of};
use crate::probe::file_read::axes::{FILE_BYTES, PAGE_CACHE, READ_MODE, READ_PATTERN};
use syscost_core::axis::Point;
use syscost_core::units::Unit;

pub fn account(point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
    let bytes = point.int(FILE_BYTES)?;
    let random = point.text(READ_PATTERN) == Some(axes::RANDOM);
    let row = |way, random| cost_of(way, random, bytes, directory::of(point));
    match (point.text(READ_MODE)?, point.text(PAGE_CACHE)) {
        (axes::BUFFERED, Some(axes::WARM)) => Some(cached(inputs, bytes, BLOCK_BYTES)),
        (axes::BUFFERED, _) if random => {
            let device = inputs.row("direct_read", row(ReadWay::Direct, true));
            let software = inputs.row("cached_read", row(ReadWay::Cached, true));
            Some(inputs.sum("direct_read + cached_read", device, software))
        }
        (axes::BUFFERED, _) => {
            let device = inputs.row("device_rate_read", row(ReadWay::DirectLarge, false));
            let software = inputs.row("cached_read", row(ReadWay::Cached, false));
            // Read-ahead: the device fills the next pages while these are copied; the slower of the two decides.
            let slower = device.zip(software).map(|(device, software)| device.max(software));
            Some(inputs.account("max(device_rate_read, cached_read)", device, software, slower))
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

/// 4 KiB of a cached file: copied out of the page cache, at one system call and one look-up for `call_bytes`.
pub fn cached(mut inputs: Inputs<'_>, file_bytes: u64, call_bytes: u64) -> CostAccount {
    let rate = inputs.row("copy_rate", memory_bandwidth::copied_from(file_bytes));
    let call = inputs.row("cached_byte", primitive::cost_of("cached_byte"));
    let share = inputs.constant(
        "calls",
        BLOCK_BYTES as f64 / call_bytes as f64,
        Unit::Ratio,
        "system calls for 4 KiB: the case",
    );
    let copy = rate.map(|rate| BLOCK_BYTES as f64 * 1e9 / rate);
    inputs.sum("4 KiB / copy_rate + calls * cached_byte", copy, call.map(|ns| share * ns))
}
