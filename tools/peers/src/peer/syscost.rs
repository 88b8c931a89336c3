//! syscost itself: one round of the `send` mechanism and the `recv` receiver.

use super::{Found, Peer, Visit};
use crate::cell::Cell;
use crate::ours::{self, Asked};
use anyhow::Result;

pub struct Syscost {
    id: &'static str,
    /// SO_RCVLOWAT of the receiver.
    low_water_bytes: u64,
}

/// With a receiver that is not woken for every segment: the generator itself must not be the
/// bottleneck, and wake-ups of the receiver are paid by the sender.
pub static LOW_WATER: Syscost = Syscost { id: "syscost-low-water", low_water_bytes: 1 << 20 };
/// As the study measures by default: the receiver sleeps and wakes as most programs do.
pub static AS_IT_COMES: Syscost = Syscost { id: "syscost", low_water_bytes: 1 };

impl Peer for Syscost {
    fn id(&self) -> &'static str {
        self.id
    }

    fn ours(&self) -> bool {
        true
    }

    fn source(&self) -> &'static str {
        "this repository"
    }

    fn find(&self) -> Result<Found, String> {
        ours::find()
    }

    fn not_applicable(&self, _cell: &Cell) -> Option<&'static str> {
        None
    }

    fn round(&self, visit: &Visit<'_>) -> Result<f64> {
        let at = [
            ("mechanism", "send".to_string()),
            ("receiver", "recv".to_string()),
            ("socket_buffer_bytes", "0".to_string()),
            ("low_water_bytes", self.low_water_bytes.to_string()),
        ];
        ours::figure(&Asked { probe: "transfer", metric: "throughput", at: &at }, visit)
    }
}
