//! What a contest is.

use super::options::Options;
use crate::cell::{Cell, Path};
use crate::peer::Peer;
use syscost_core::units::Unit;

/// The page of a contest, which is also the command that measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// docs/peers.md: plain sends, round trips, and variants of our own.
    Plain,
    /// docs/ways-vs-peers.md: every other way to move data.
    Ways,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Payload bits per second: more is better.
    Throughput,
    /// Nanoseconds of a message or a round trip: less is better.
    Latency,
}

impl Measure {
    pub fn unit(self) -> Unit {
        match self {
            Measure::Throughput => Unit::BitsPerSecond,
            Measure::Latency => Unit::Nanoseconds,
        }
    }
}

pub struct Contest {
    pub id: &'static str,
    /// The page that it is on.
    pub page: On,
    pub probe: &'static str,
    pub metric: &'static str,
    pub measure: Measure,
    /// Axes of ours by id, values as on the command line; the rest keeps the study's defaults.
    pub at: &'static [(&'static str, &'static str)],
    /// Ours has messages in flight in memory of their own: as many as [`holds`] says.
    pub holds: bool,
    /// TCP_NODELAY off, on or both, each a cell of its own.
    pub nodelay: &'static [bool],
    /// TCP streams at a time, each number a cell of its own.
    pub streams: &'static [u32],
    /// The veth pair's MTU where it is not the usual; then there is no contest on loopback.
    pub mtu: Option<u32>,
    /// Message sizes outside are left out, or cut to the largest.
    pub bytes: (u64, u64),
    pub rivals: &'static [&'static dyn Peer],
    /// What both sides have in common, and what they do not.
    pub terms: &'static str,
}

pub const USUAL: Contest = Contest {
    id: "",
    page: On::Ways,
    probe: "transfer",
    metric: "throughput",
    measure: Measure::Throughput,
    at: &[],
    holds: false,
    nodelay: &[true],
    streams: &[1],
    mtu: None,
    bytes: (8, 1 << 30),
    rivals: &[],
    terms: "",
};

impl Contest {
    /// Its cells at these paths and sizes.
    pub fn cells(&self, options: &Options) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for path in options.paths.iter().filter(|path| self.mtu.is_none() || **path == Path::Veth) {
            for size in options.sizes.iter().filter(|size| **size >= self.bytes.0) {
                let message_bytes = (*size).min(self.bytes.1);
                for nodelay in
                    self.nodelay.iter().filter(|on| self.nodelay.len() == 1 || options.nodelay.has(**on))
                {
                    let several = self.streams.len() > 1;
                    for streams in self.streams.iter().filter(|n| !several || options.streams.contains(n)) {
                        cells.push(Cell { path: *path, nodelay: *nodelay, streams: *streams, message_bytes });
                    }
                }
            }
        }
        cells.sort();
        cells.dedup();
        cells
    }
}

/// Messages in flight, where a sender may not write to those that the kernel still reads. The programs
/// reuse one buffer at once and are limited by the socket's buffer alone. Few make the sender wait, many
/// leave the caches: 4 MiB are best here at 16 KiB and at 64 KiB.
pub fn holds(message_bytes: u64) -> u64 {
    ((4 << 20) / message_bytes).clamp(32, 256)
}
