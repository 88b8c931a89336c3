//! Will this machine give clean numbers? Each point with what was seen, what it does to figures,
//! and what to do about it.
//!
//! It judges and never changes anything. What can only be found by running is measured once
//! ([`Live`]); the judgements are pure, so that tests can put any machine before them.

mod network;
mod path;
mod processor;
mod system;

use super::counters::{self, Counters};
use super::files::Root;
use super::namespaces::{self, NamespaceRights};
use super::noise::{NoiseBetween, NoiseReading};
use super::topology::Topology;
use super::{Unavailable, clock, scratch};
pub use path::path;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;
use syscost_sys::sleep::sleep;
use syscost_sys::{disk, socket};

/// Short enough for a command that a person waits for; a tick of steal is 10 ms.
const WATCH: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Good,
    /// This machine does not say.
    Unknown,
    /// Figures are right, with a caveat.
    Caution,
    /// Figures are wrong or missing.
    Bad,
}

/// One judged point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCheck {
    /// `frequency_governor`
    pub id: String,
    pub title: String,
    pub status: Status,
    pub observed: String,
    /// What it does to figures; empty where all is well.
    pub consequence: String,
    /// The next command or setting; empty where there is nothing to do.
    pub remedy: String,
}

/// What can only be found by running here.
#[derive(Debug)]
pub struct Live {
    noise: NoiseBetween,
    topology: Topology,
    clock: clock::ClockReading,
    tick_invariant: Option<bool>,
    /// The counter's measured rate over the declared one, less 1.
    tick_difference: Option<f64>,
    counters_wanted: usize,
    counters_missing: Vec<(String, Unavailable)>,
    namespaces: Result<NamespaceRights, Unavailable>,
    zerocopy: Result<(), String>,
    debug_build: bool,
    directory: PathBuf,
    directory_writable: Result<(), Unavailable>,
    directory_free_bytes: Option<u64>,
}

impl Live {
    /// Takes a quarter of a second, most of it asleep.
    pub fn measure() -> Live {
        let before = NoiseReading::now();
        sleep(WATCH);
        let noise = NoiseReading::now().since(&before);
        let counter = clock::tick_counter();
        let directory = std::env::current_dir().unwrap_or_else(|_| ".".into());
        Live {
            noise,
            topology: Topology::read(),
            clock: clock::clock_reading(),
            tick_invariant: counter.and_then(|counter| counter.invariant),
            tick_difference: counter.and_then(|counter| counter.difference),
            counters_wanted: counters::ids().count(),
            counters_missing: Counters::open().1,
            namespaces: namespaces::available(),
            zerocopy: tcp_zerocopy().map_err(|e| e.to_string()),
            debug_build: cfg!(debug_assertions),
            directory_writable: scratch::writable(&directory.to_string_lossy()),
            directory_free_bytes: disk::free_bytes(&directory).ok(),
            directory,
        }
    }
}

/// Tries SO_ZEROCOPY on a fresh TCP socket.
fn tcp_zerocopy() -> io::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket::enable_zerocopy(socket.as_raw_fd())
}

/// Every check of this machine, in the order of a report.
pub fn checks() -> Vec<HostCheck> {
    checks_of(&Root::here(), &Live::measure())
}

/// A machine as its files tell, with what was found by running on it.
pub fn checks_of(root: &Root, live: &Live) -> Vec<HostCheck> {
    let judge: &[fn(&Root, &Live) -> HostCheck] = &[
        system::build,
        processor::count,
        processor::governor,
        processor::turbo,
        processor::smt,
        processor::clock,
        processor::tick_counter,
        processor::counters,
        system::steal,
        system::other_load,
        system::hypervisor,
        system::quota,
        system::memory,
        system::huge_pages,
        system::directory,
        system::softirq_time,
        system::rights,
        system::open_files,
        network::namespaces,
        network::zerocopy,
        network::locked_memory,
        network::congestion_control,
    ];
    judge.iter().map(|judge| judge(root, live)).collect()
}

/// All is well.
fn good(id: &str, title: &str, observed: impl Into<String>) -> HostCheck {
    HostCheck {
        id: id.into(),
        title: title.into(),
        status: Status::Good,
        observed: observed.into(),
        consequence: String::new(),
        remedy: String::new(),
    }
}

impl HostCheck {
    /// The same point, with a caveat.
    fn worse(
        mut self,
        status: Status,
        consequence: impl Into<String>,
        remedy: impl Into<String>,
    ) -> HostCheck {
        self.status = status;
        self.consequence = consequence.into();
        self.remedy = remedy.into();
        self
    }

    fn caution(self, consequence: impl Into<String>, remedy: impl Into<String>) -> HostCheck {
        self.worse(Status::Caution, consequence, remedy)
    }

    fn bad(self, consequence: impl Into<String>, remedy: impl Into<String>) -> HostCheck {
        self.worse(Status::Bad, consequence, remedy)
    }

    fn unknown(self, consequence: impl Into<String>) -> HostCheck {
        self.worse(Status::Unknown, consequence, "")
    }
}

#[cfg(test)]
mod tests;
