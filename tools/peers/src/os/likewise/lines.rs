//! A cache line between two CPUs, by compare-and-swap on both ends.
//!
//! Source: nviennot/core-to-core-latency, benches/cas.

use crate::os::call::Setting;
use anyhow::{Context, Result, ensure};
use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Instant;
use syscost_host::topology::pin_this_thread;

const ROUND_TRIPS: u32 = 5000;
const SAMPLES: u32 = 60;

#[repr(align(256))]
struct SharedLine(AtomicU64);

/// Waits until the line says `from`, and takes it for itself in the same instruction.
fn swap(line: &SharedLine, from: u64, to: u64) {
    while line.0.compare_exchange(from, to, Relaxed, Relaxed).is_err() {}
}

/// Half a round trip.
pub fn swapped(setting: &Setting<'_>) -> Result<f64> {
    ensure!(setting.cpus.0 != setting.cpus.1, "one CPU is not two");
    let (line, turns) = (SharedLine(AtomicU64::new(0)), u64::from(ROUND_TRIPS * SAMPLES));
    let ready = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = pin_this_thread(setting.cpus.1);
            ready.store(1, SeqCst);
            (0..turns).for_each(|_| swap(&line, 1, 0));
            pinned
        });
        while ready.load(SeqCst) == 0 {
            spin_loop();
        }
        let mut sum = 0.0;
        for _ in 0..SAMPLES {
            let start = Instant::now();
            for _ in 0..ROUND_TRIPS {
                swap(&line, 0, 1);
            }
            sum += start.elapsed().as_nanos() as f64 / f64::from(ROUND_TRIPS) / 2.0;
        }
        answering.join().ok().context("the answering thread failed")??;
        Ok(sum / f64::from(SAMPLES))
    })
}
