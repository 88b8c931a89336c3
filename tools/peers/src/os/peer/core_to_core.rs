//! core-to-core-latency: a compare-and-swap on one cache line, to and fro.

use super::{Cpus, Measure, Peer, figure, one};
use crate::parse::core_to_core::nanoseconds;

pub struct CoreToCore;

const MEASURES: &[Measure] = &[Measure {
    cpus: Cpus::Two,
    ..one(
        "core-to-core-latency 5000 60 --csv",
        &[figure("core_to_core", nanoseconds)],
        "mean over samples of a compare-and-swap on both ends, half the round trip: the line travels once a hop, ready to \
         be written. Ours waits with loads, as a program does that waits for another: the other's copy is invalidated first, \
         two transfers a hop, so it is higher",
    )
}];

impl Peer for CoreToCore {
    fn id(&self) -> &'static str {
        "core-to-core-latency"
    }

    fn source(&self) -> &'static str {
        "crates.io: cargo install core-to-core-latency"
    }

    fn version(&self) -> Result<String, String> {
        self.program("core-to-core-latency").map(|_| "without a version of its own".into())
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
