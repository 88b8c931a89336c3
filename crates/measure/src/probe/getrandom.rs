//! `getrandom`: random bytes from the kernel, by their number.
//!
//! By system call, also where the C library would take them from the vDSO. Sources: getrandom(2); RFC 8439;
//! drivers/char/random.c of the kernel.

use super::prediction::{CostAccount, Inputs};
use super::row::{Drawing, Row};
use super::{
    Channel, Figures, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, batch, system_call,
};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point};
use syscost_core::units::Unit;
use syscost_sys::call;

const RANDOM_BYTES: IntAxis = IntAxis::new("random_bytes");
/// So many bytes at each end are compared with those of the call before. By chance they are equal once in 2^128.
const COMPARED: usize = 16;
/// Of ChaCha20.
const BLOCK_BYTES: u64 = 64;
/// What is left of the block that makes the next key is given out, where it is enough.
const BESIDE_KEY_BYTES: u64 = 32;

pub struct Getrandom;

/// A buffer that has to be another one after each call.
struct FreshBytes {
    bytes: Vec<u8>,
    before: [[u8; COMPARED]; 2],
}

impl FreshBytes {
    fn of(count: usize) -> FreshBytes {
        FreshBytes { bytes: vec![0; count], before: [[0; COMPARED]; 2] }
    }

    /// Were all bytes filled, and the ends of the buffer changed?
    #[inline]
    fn fill(&mut self) -> bool {
        let got = call::getrandom(&mut self.bytes);
        self.are_new(got)
    }

    #[inline]
    fn are_new(&mut self, got: i64) -> bool {
        let (Some(first), Some(last)) = (self.bytes.first_chunk(), self.bytes.last_chunk()) else {
            return false;
        };
        let now = [*first, *last];
        let changed = now[0] != self.before[0] && now[1] != self.before[1];
        self.before = now;
        changed && got == self.bytes.len() as i64
    }
}

/// Blocks that the kernel computes: one for the next key, whose rest is enough for a short call.
fn blocks(bytes: u64) -> u64 {
    if bytes <= BESIDE_KEY_BYTES { 1 } else { 1 + bytes.div_ceil(BLOCK_BYTES) }
}

impl Probe for Getrandom {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "getrandom",
            title: "random bytes",
            method: "Batches of about 10 us make the call by number on one CPU; each has to fill the whole buffer, whose ends have to \
                     differ from those of the call before. The cost is the 5 % quantile over batches, less the same loop without \
                     the call.",
            source: "getrandom(2); RFC 8439; drivers/char/random.c of the kernel",
            roles: &["caller"],
            operation: Some(&Getrandom),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            // Beyond 256 bytes a signal may cut the call short.
            RANDOM_BYTES
                .bytes(COMPARED as u64, 32 << 20)
                .flag("random-size", "bytes")
                .help("bytes asked for in a call")
                .default_on(Ints(&[16, 256, 4096]))
                .quick_on(Ints(&[16, 256])),
        ]
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let count = task.point.int(RANDOM_BYTES).context("no number of bytes")? as usize;
        let facts = batch::settle_on_one_cpu();
        let mut fresh = FreshBytes::of(count);
        let mut wrong = 0u64;
        channel.ready()?;
        let body = |n| (0..n).for_each(|_| wrong += u64::from(!fresh.fill()));
        let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
        let error = std::io::Error::last_os_error();
        ensure!(wrong == 0, "{wrong} calls did not give {count} new bytes: {error}");
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for Getrandom {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        Some(Row::listed(format!("getrandom, {}", Unit::Bytes.format(point.int(RANDOM_BYTES)? as f64))))
    }

    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let bytes = point.int(RANDOM_BYTES)?;
        let trap = inputs.row("trap", system_call::cost_of("getppid"));
        let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
        let blocks = inputs.constant(
            "blocks",
            blocks(bytes) as f64,
            Unit::Count,
            "ChaCha20 blocks of 64 bytes: one for the next key, whose rest serves up to 32 bytes",
        );
        let cycles = inputs.constant(
            "cycles_per_block",
            320.0,
            Unit::Count,
            "80 quarter rounds of 12 operations (RFC 8439, 2.1 and 2.3), three a cycle",
        );
        let computed = hertz.map(|hertz| blocks * cycles * 1e9 / hertz);
        Some(inputs.sum("blocks * cycles_per_block / frequency + trap", computed, trap))
    }

    fn drawings(&self) -> Vec<Drawing> {
        vec![Drawing::of_cost("Random bytes, by their number", RANDOM_BYTES.id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use syscost_core::axis::Value;

    #[test]
    fn every_call_brings_new_bytes_and_the_same_ones_are_seen() {
        let mut fresh = FreshBytes::of(256);
        assert!(fresh.fill() && fresh.fill());
        assert!(!fresh.are_new(256), "nothing changed");
        fresh.bytes.fill(7);
        assert!(!fresh.are_new(255), "not all of them");
    }

    #[test]
    fn a_short_call_takes_one_block_and_others_one_more_than_they_fill() {
        assert_eq!([16, 32, 33, 64, 256, 4096].map(blocks), [1, 1, 2, 2, 5, 65]);
        let mut point = Point::default();
        point.set(RANDOM_BYTES.id, Value::Int(256));
        let known = Costs::of(&[("system_call", 100.0)]);
        let account = Getrandom.predict(&point, Inputs::new(&known)).unwrap();
        assert_eq!((account.base_hardware, account.predicted), (Some(1600.0), Some(1700.0)));
    }
}
