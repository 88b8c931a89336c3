//! syscost itself, with one setting other than a default run's: what a program that does so gains.

use super::{Found, Peer, Settings, Visit, one_thread, reads_messages};
use crate::cell::Cell;
use crate::ours::{self, Asked};
use anyhow::Result;

pub struct Variant {
    id: &'static str,
    changed: fn(&Cell) -> Settings,
    /// One stream is one thread.
    of_several_streams: bool,
}

const fn variant(id: &'static str, changed: fn(&Cell) -> Settings) -> Variant {
    Variant { id, changed, of_several_streams: false }
}

pub static TWIN: Variant = variant("twin", |_| Settings::new());
pub static READS_MESSAGES: Variant = variant("reads messages", |_| vec![reads_messages()]);
pub static READS_16K: Variant = variant("reads 16 KiB", |_| vec![("read_bytes", "16384".into())]);
/// The receiver sleeps until 1 MiB has arrived.
pub static LOW_WATER: Variant = variant("low water 1 MiB", |_| vec![("low_water_bytes", "1048576".into())]);
pub static MSG_MORE: Variant = variant("MSG_MORE", |_| vec![("msg_more", "on".into())]);
pub static ONE_THREAD: Variant = Variant { id: "one thread", changed: one_thread, of_several_streams: true };

impl Peer for Variant {
    fn id(&self) -> &'static str {
        self.id
    }

    fn source(&self) -> &'static str {
        "this repository"
    }

    fn find(&self) -> Result<Found, String> {
        ours::find()
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        (self.of_several_streams && cell.streams == 1).then_some("there is one stream")
    }

    fn round(&self, visit: &Visit<'_>) -> Result<f64> {
        let mut at = (self.changed)(visit.cell);
        at.extend([
            ("mechanism", "send".into()),
            ("receiver", "recv".into()),
            ("socket_buffer_bytes", "0".into()),
        ]);
        ours::figure(&Asked { probe: "transfer", metric: "throughput", at: &at }, visit)
    }
}
