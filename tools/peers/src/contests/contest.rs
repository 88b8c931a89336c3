//! What a contest is: an entry of `contests.toml`.

use crate::cell::{Cell, Path};
use crate::options::Options;
use crate::program::{Program, TRANSFERS};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use syscost_core::units::Unit;

/// The page of a contest, which is also the command that measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// docs/peers.md: plain sends, round trips, and variants of our own.
    Plain,
    /// docs/ways-vs-peers.md: every other way to move data.
    Ways,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contest {
    pub id: String,
    pub page: On,
    #[serde(default = "transfer")]
    pub probe: String,
    /// Payload bits per second, of which more is better, or nanoseconds of a message, of which less is.
    #[serde(default = "throughput")]
    pub metric: String,
    /// Axes of ours by id, values as on the command line; the rest keeps the study's defaults.
    pub at: BTreeMap<String, String>,
    /// Ours has messages in flight in memory of their own: as many as [`holds`] says.
    #[serde(default)]
    pub holds: bool,
    /// TCP_NODELAY off, on or both, each a cell of its own.
    #[serde(default = "on")]
    nodelay: Vec<bool>,
    /// TCP streams at a time, each number a cell of its own.
    #[serde(default = "one")]
    streams: Vec<u32>,
    /// The veth pair's MTU where it is not the usual; then there is no contest on loopback.
    pub mtu: Option<u32>,
    /// Message sizes below are left out, those above cut to the largest.
    #[serde(default = "any")]
    bytes: (u64, u64),
    /// Programs by their key.
    rivals: Vec<String>,
    /// What both sides have in common, and what they do not.
    pub terms: String,
}

#[derive(Deserialize)]
struct Contests {
    contest: Vec<Contest>,
}

/// Every contest, in the order of the pages.
pub static ALL: LazyLock<Vec<Contest>> = LazyLock::new(|| {
    toml::from_str::<Contests>(include_str!("../contests.toml")).expect("tests read it").contest
});

fn transfer() -> String {
    "transfer".into()
}

fn throughput() -> String {
    "throughput".into()
}

fn on() -> Vec<bool> {
    vec![true]
}

fn one() -> Vec<u32> {
    vec![1]
}

fn any() -> (u64, u64) {
    (8, 1 << 30)
}

impl Contest {
    pub fn is_throughput(&self) -> bool {
        self.metric == throughput()
    }

    pub fn unit(&self) -> Unit {
        if self.is_throughput() { Unit::BitsPerSecond } else { Unit::Nanoseconds }
    }

    /// `latency_p99`: 99.
    pub fn quantile(&self) -> &str {
        self.metric.split_once("_p").map_or("", |(_, number)| number)
    }

    pub fn rivals(&self) -> impl Iterator<Item = &'static Program> {
        let of =
            |key: &String| TRANSFERS.iter().find(|program| program.key() == key).expect("a test finds it");
        self.rivals.iter().map(of)
    }

    /// Its cells at these paths and sizes.
    pub fn cells(&self, options: &Options) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for path in options.paths.iter().filter(|path| self.mtu.is_none() || **path == Path::Veth) {
            for size in options.sizes.iter().filter(|size| **size >= self.bytes.0) {
                let message_bytes = (*size).min(self.bytes.1);
                let of_both =
                    self.nodelay.iter().flat_map(|nodelay| self.streams.iter().map(move |n| (*nodelay, *n)));
                cells.extend(of_both.map(|(nodelay, streams)| Cell {
                    path: *path,
                    nodelay,
                    streams,
                    message_bytes,
                }));
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
