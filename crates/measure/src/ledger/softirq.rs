//! Who pays for protocol work: the time that softirqs ran inside a sender, a receiver and elsewhere.
//!
//! A pass of its own, apart from the count of copies, whose tracing would lengthen what is timed here.
//! Source: program/softirq.bpf.c.

use super::load::{self, Sums};
use aya::Ebpf;
use aya::maps::{Array, MapData};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd;
use syscost_host::Unavailable;
use syscost_sys::namespace;

/// Rebuilt by program/build; a test compares.
static PROGRAM: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ledger/program/softirq.bpf.o"));

const TRACEPOINTS: [(&str, &str); 2] = [("entered", "softirq_entry"), ("ended", "softirq_exit")];

/// Process ids of both ends, as this process sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pids {
    pub sender: u32,
    pub receiver: u32,
}

/// Nanoseconds that softirqs ran, by the process that they ran on top of. `elsewhere` is the whole rest
/// of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Receiving packets (NET_RX).
    pub sender_net_rx_ns: u64,
    /// Timers, transmit tasklets and the like.
    pub sender_other_ns: u64,
    pub receiver_net_rx_ns: u64,
    pub receiver_other_ns: u64,
    pub elsewhere_net_rx_ns: u64,
    pub elsewhere_other_ns: u64,
}

/// Dropping it detaches everything.
pub struct Softirqs {
    watched: Array<MapData, [u64; 3]>,
    spent: Sums<6>,
    /// Keeps the programs and their attachment alive.
    _programs: Ebpf,
}

impl Softirqs {
    /// Loads and attaches the program, where this kernel and this user's rights allow it.
    pub fn attach() -> Result<Softirqs, Unavailable> {
        let mut programs = load::attach(PROGRAM, &TRACEPOINTS)?;
        let (watched, spent) = (load::map(&mut programs, "WATCHED")?, Sums::of(&mut programs, "SPENT")?);
        Ok(Softirqs { watched, spent, _programs: programs })
    }

    /// Tells these processes from all others from now on.
    pub fn watch(&mut self, pids: Pids) -> io::Result<()> {
        self.spent.start()?;
        let space = namespace::current("pid")?;
        let (device, inode) = namespace::identity(space.as_fd())?;
        // Two 32-bit numbers in the order of memory, as the program's struct has them.
        let [s, r] = [pids.sender.to_ne_bytes(), pids.receiver.to_ne_bytes()];
        let pids = u64::from_ne_bytes([s[0], s[1], s[2], s[3], r[0], r[1], r[2], r[3]]);
        self.watched.set(0, [device, inode, pids], 0).map_err(io::Error::other)
    }

    /// What was spent since the processes were chosen.
    pub fn spent(&self) -> io::Result<Spent> {
        let since = self.spent.since()?;
        Ok(Spent {
            sender_net_rx_ns: since[0],
            sender_other_ns: since[1],
            receiver_net_rx_ns: since[2],
            receiver_other_ns: since[3],
            elsewhere_net_rx_ns: since[4],
            elsewhere_other_ns: since[5],
        })
    }
}
