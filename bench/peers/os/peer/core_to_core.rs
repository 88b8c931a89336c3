//! core-to-core-latency: a compare-and-swap on one cache line, to and fro.

use super::{Cpus, Measure, Peer, figure, one};
use crate::parse::core_to_core::nanoseconds;

pub struct CoreToCore;

const MEASURES: &[Measure] = &[Measure {
    cpus: Cpus::Two,
    ..one(
        "core-to-core-latency 5000 60 --csv",
        &[figure("core_to_core", nanoseconds)],
        "mean over samples of a compare-and-swap each way, half the round trip; ours passes plain stores and takes a \
             low quantile, so it is not raised when the hypervisor puts a CPU aside",
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
