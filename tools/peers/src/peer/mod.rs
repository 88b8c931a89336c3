//! The tools that are compared: one file each. Which of them a mechanism is compared with, the contests say.
//!
//! A tool that comes as server and client says only how it is called and how its output is read
//! ([`External`]); any other way to produce a figure implements [`Peer`] itself.

use crate::cell::Cell;
use crate::external::{self, Lane, Output};
use crate::parse::ParseError;
use crate::place::Place;
use anyhow::Result;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub mod fio;
pub mod into_sink;
pub mod iperf3;
pub mod msg_zerocopy;
pub mod neper;
pub mod neper_rr;
pub mod netperf;
pub mod netperf_rr;
pub mod netperf_sendfile;
pub mod nuttcp;
pub mod qperf;
pub mod sockperf;
pub mod sockperf_ping_pong;
pub mod stamped;
pub mod syscost;
pub mod tcp_mmap;
pub mod uring_example;
pub mod uring_selftest;

/// Axes of ours by id, values as on the command line.
pub type Settings = Vec<(&'static str, String)>;

/// A tool that was found on this machine.
#[derive(Clone, Debug)]
pub struct Found {
    /// As the tool says it.
    pub version: String,
    /// Its programs, client first.
    pub programs: Vec<PathBuf>,
}

/// What a round of a tool gets to work with.
pub struct Visit<'a> {
    pub place: &'a Place,
    pub cell: &'a Cell,
    pub seconds: u32,
    pub found: &'a Found,
    pub stop: &'a AtomicBool,
}

pub trait Peer: Sync {
    fn id(&self) -> &'static str;

    /// Where to get it.
    fn source(&self) -> &'static str;

    /// Finds it on this machine, or says why not.
    fn find(&self) -> Result<Found, String>;

    /// Why this tool cannot do this cell on equal terms.
    fn not_applicable(&self, cell: &Cell) -> Option<&'static str>;

    /// What ours is told beside it, so that both do the same work.
    fn alike(&self, _cell: &Cell, _found: &Found) -> Settings {
        Settings::new()
    }

    /// One fresh measurement, in the unit of its contest.
    fn round(&self, visit: &Visit<'_>) -> Result<f64>;
}

/// A tool that comes as a server and a client on the PATH.
pub trait External: Sync {
    fn id(&self) -> &'static str;

    fn source(&self) -> &'static str;

    /// The programs it needs, client first.
    fn programs(&self) -> Result<Vec<PathBuf>, String>;

    /// Arguments that make the client print its version; none if it has no way to.
    fn version_arguments(&self) -> &'static [&'static str];

    fn not_applicable(&self, _cell: &Cell) -> Option<&'static str> {
        None
    }

    /// See [`Peer::alike`].
    fn alike(&self, _cell: &Cell, _found: &Found) -> Settings {
        Settings::new()
    }

    /// How to call it for a cell.
    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane>;

    /// Payload bits per second of one lane.
    fn read(&self, cell: &Cell, output: &Output) -> Result<f64, ParseError>;
}

/// What a tool's command line is made from.
pub struct Calling<'a> {
    pub cell: &'a Cell,
    pub seconds: u32,
    /// The receiver's address.
    pub address: Ipv4Addr,
    pub programs: &'a [PathBuf],
}

impl Calling<'_> {
    pub fn client(&self) -> &Path {
        &self.programs[0]
    }

    /// The server's program: the client's where there is one program.
    pub fn server(&self) -> &Path {
        self.programs.last().expect("a tool has a program")
    }

    /// The flag where TCP_NODELAY is asked for, else nothing.
    pub fn if_nodelay(&self, flag: &'static str) -> &'static str {
        if self.cell.nodelay { flag } else { "" }
    }
}

impl<T: External> Peer for T {
    fn id(&self) -> &'static str {
        External::id(self)
    }

    fn source(&self) -> &'static str {
        External::source(self)
    }

    fn find(&self) -> Result<Found, String> {
        let programs = self.programs()?;
        let version = match self.version_arguments() {
            [] => fingerprint(&programs[0])?,
            arguments => version(&programs[0], arguments)?,
        };
        Ok(Found { version, programs })
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        External::not_applicable(self, cell)
    }

    fn alike(&self, cell: &Cell, found: &Found) -> Settings {
        External::alike(self, cell, found)
    }

    fn round(&self, visit: &Visit<'_>) -> Result<f64> {
        let calling = Calling {
            cell: visit.cell,
            seconds: visit.seconds,
            address: visit.place.receiver_address,
            programs: &visit.found.programs,
        };
        let limit = Duration::from_secs(u64::from(visit.seconds) + 10);
        let outputs = external::run(visit.place, &self.lanes(&calling), limit, visit.stop)?;
        let mut total = 0.0;
        for output in &outputs {
            total += self.read(visit.cell, output)?;
        }
        Ok(total)
    }
}

/// It reads as many bytes at a time as a message has.
pub fn reads_messages() -> (&'static str, String) {
    ("read_bytes", "message".into())
}

/// One thread on each side serves all streams.
pub fn one_thread(cell: &Cell) -> Settings {
    vec![("threads", "1".into()), ("connections", cell.streams.to_string())]
}

/// The programs of these names on the PATH.
pub fn on_path(names: &[&str]) -> Result<Vec<PathBuf>, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &&str| {
        std::env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|program| is_executable(program))
            .ok_or_else(|| format!("{name} is not on the PATH"))
    };
    names.iter().map(find).collect()
}

/// What tells a program without a version from another.
pub fn fingerprint(program: &Path) -> Result<String, String> {
    use sha2::{Digest, Sha256};
    let bytes = std::fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let hash: String = Sha256::digest(&bytes).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("prints no version; SHA-256 {hash}"))
}

fn is_executable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(program).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The first line that a program prints about itself.
pub fn version(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not start: {error}", program.display()))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map(String::from).ok_or_else(|| format!("{} prints no version", program.display()))
}
