//! What a contest is: an entry of `contests.toml`, or of `operations.toml`, whose contests have one cell.

use crate::cell::{Cell, Path};
use crate::options::Options;
use crate::program::Program;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use syscost_core::sample::Metric;
use syscost_measure::probe;

/// The page of a contest, which is also the command that measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Page {
    /// docs/peers.md, first: plain sends, round trips, and variants of our own.
    #[default]
    Plain,
    /// docs/peers.md, second: every other way to move data.
    Ways,
    /// docs/peers.md, third: datagrams.
    Datagrams,
    /// docs/operations.md: operations.
    Os,
}

impl Page {
    /// Names the markers of its result: pages have several.
    pub fn mark(self) -> &'static str {
        match self {
            Page::Plain => "plain",
            Page::Ways => "ways",
            Page::Datagrams => "datagrams",
            Page::Os => "os",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contest {
    pub id: String,
    title: Option<String>,
    pub page: Page,
    probe: Option<String>,
    /// Payload bits per second, of which more is better, or nanoseconds of a message, of which less is.
    metric: Option<String>,
    /// Axes of ours by id, values as on the command line; the rest keeps the study's defaults.
    pub at: BTreeMap<String, String>,
    /// Our metric counts this often: a round trip is two passes of a token.
    pub times: Option<f64>,
    /// Ours has messages in flight in memory of their own: as many as [`holds`] says.
    pub holds: bool,
    /// TCP_NODELAY off, on or both, each a cell of its own; on where nothing is said.
    nodelay: Vec<bool>,
    /// TCP streams at a time, each number a cell of its own; one where nothing is said.
    streams: Vec<u32>,
    /// The veth pair's MTU; then there is no contest on loopback.
    pub mtu: Option<u32>,
    /// A visit is a search of so many steps, about; one where nothing is said.
    steps: Option<u32>,
    /// Message sizes below are left out, those above cut to the largest.
    bytes: Option<(u64, u64)>,
    /// Programs by their key; of an operation all that measure it.
    rivals: Vec<String>,
    /// What both sides have in common, and what they do not.
    pub terms: String,
}

/// Contests and programs, each in the order of the pages.
#[derive(Deserialize)]
pub struct Entries {
    pub contest: Vec<Contest>,
    pub program: Vec<Program>,
}

pub static ENTRIES: LazyLock<Entries> = LazyLock::new(|| {
    let texts =
        [include_str!("contests.toml"), include_str!("transfers.toml"), include_str!("operations.toml")];
    toml::from_str(&texts.join("\n")).expect("tests read it")
});

impl Page {
    pub fn contests(self) -> impl Iterator<Item = &'static Contest> {
        ENTRIES.contest.iter().filter(move |contest| contest.page == self)
    }
}

impl Contest {
    pub fn name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.id)
    }

    /// What ours measures, in whose unit every program is read.
    pub fn measured(&self) -> Result<Metric> {
        let probe = probe::find(self.probe()).with_context(|| format!("no probe {}", self.probe()))?;
        let metric = probe.metrics().into_iter().find(|metric| metric.id == self.metric());
        metric.with_context(|| format!("{} has no metric {}", self.probe(), self.metric()))
    }

    pub fn probe(&self) -> &str {
        self.probe.as_deref().unwrap_or("transfer")
    }

    fn metric(&self) -> &str {
        self.metric.as_deref().unwrap_or("throughput")
    }

    pub fn steps(&self) -> u32 {
        self.steps.unwrap_or(1)
    }

    pub fn show(&self, value: f64) -> String {
        self.measured().map_or_else(|_| value.to_string(), |metric| metric.unit.format(value))
    }

    /// `latency_p99`: 99.
    pub fn quantile(&self) -> &str {
        self.metric().split_once("_p").map_or("", |(_, number)| number)
    }

    pub fn rivals(&self) -> impl Iterator<Item = &'static Program> {
        let programs = &ENTRIES.program;
        let named = self
            .rivals
            .iter()
            .map(|key| programs.iter().find(|program| program.key() == key).expect("a test finds it"));
        named.chain(programs.iter().filter(|program| program.measures(&self.id).is_some()))
    }

    /// Its cells at these paths and sizes.
    pub fn cells(&self, options: &Options) -> Vec<Cell> {
        if self.page == Page::Os {
            return vec![Cell::default()];
        }
        fn or<T: Clone>(said: &[T], usual: T) -> Vec<T> {
            if said.is_empty() { vec![usual] } else { said.to_vec() }
        }
        let (low, high) = self.bytes.unwrap_or((8, 1 << 30));
        let mut cells: Vec<Cell> = Vec::new();
        for path in options.paths.iter().filter(|path| self.mtu.is_none() || **path == Path::Veth) {
            for message_bytes in options.sizes.iter().filter(|size| **size >= low).map(|size| high.min(*size))
            {
                for nodelay in or(&self.nodelay, true) {
                    let of = |streams| Cell { path: *path, nodelay, streams, message_bytes };
                    cells.extend(or(&self.streams, 1).into_iter().map(of));
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
