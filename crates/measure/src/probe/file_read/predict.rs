//! What reading a block should cost: the device's part is the base hardware, what the page cache and
//! the system call add is the software's.

use super::super::blocks::BLOCK_BYTES;
use super::super::directory;
use super::super::prediction::{Inputs, PredictedCost};
use super::super::{memory_bandwidth, primitive};
use super::{ReadWay, axes, cost_of};
use crate::probe::file_read::axes::{FILE_BYTES, PAGE_CACHE, READ_MODE, READ_PATTERN};
use syscost_core::axis::Point;
use syscost_core::units::Unit;

pub fn cost(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let bytes = point.int(FILE_BYTES)?;
    let random = point.text(READ_PATTERN) == Some(axes::RANDOM);
    let row = |way, random| cost_of(way, random, bytes, directory::of(point));
    match (point.text(READ_MODE)?, point.text(PAGE_CACHE)) {
        (axes::BUFFERED, Some(axes::WARM)) => Some(cached(inputs, bytes, BLOCK_BYTES)),
        (axes::BUFFERED, _) if random => {
            inputs.row("direct_read", row(ReadWay::Direct, true));
            inputs.row("cached_read", row(ReadWay::Cached, true));
            Some(inputs.hardware_and_software("direct_read", "cached_read"))
        }
        (axes::BUFFERED, _) => {
            let device = inputs.row("device_rate_read", row(ReadWay::DirectLarge, false));
            let software = inputs.row("cached_read", row(ReadWay::Cached, false));
            // Read-ahead: the device fills the next pages while these are copied; the slower of the two decides.
            let formula = "max(device_rate_read, cached_read)";
            let slower = inputs.value(formula);
            Some(inputs.predicted(formula, device, software, slower))
        }
        (axes::DIRECT, _) => {
            inputs.fact("device_latency", "disk_read_latency_ns", Unit::Nanoseconds);
            Some(inputs.hardware("device_latency"))
        }
        _ => {
            inputs.fact("device_rate", "disk_read_bytes_per_second", Unit::BytesPerSecond);
            let ns = inputs.value("4096 / device_rate");
            Some(inputs.sum("4 KiB / device_rate", ns, Some(0.0)))
        }
    }
}

/// 4 KiB of a cached file: copied out of the page cache, at one system call and one look-up for `call_bytes`.
pub fn cached(mut inputs: Inputs<'_>, file_bytes: u64, call_bytes: u64) -> PredictedCost {
    inputs.row("copy_rate", memory_bandwidth::copied_from(file_bytes));
    inputs.row("cached_byte", primitive::cost_of("cached_byte"));
    let share = BLOCK_BYTES as f64 / call_bytes as f64;
    inputs.constant("calls", share, Unit::Ratio, "system calls for 4 KiB: the case");
    let parts = (inputs.value("4096 / copy_rate"), inputs.value("calls * cached_byte"));
    inputs.sum("4 KiB / copy_rate + calls * cached_byte", parts.0, parts.1)
}
