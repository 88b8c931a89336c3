//! The copy ledger: what the kernel did with the payload of chosen TCP connections, in bytes.
//!
//! A mechanism's name is a promise; this room counts what was kept of it. It changes nothing, times
//! nothing and never runs beside a timed round: tracing slows what it watches.

mod functions;
mod load;
mod softirq;
mod traced;

pub use functions::Functions;
pub use softirq::{Pids, Softirqs, Spent};
pub use traced::{Ledger, Watched};

use serde::{Deserialize, Serialize};

/// How a ledger knows; the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Traced, and the kernel's functions themselves returned the same counts: two independent readings
    /// of the same round that agree.
    #[serde(rename = "A")]
    Agreed,
    /// Traced in the kernel: every segment's memory was looked at, every copy to a user was counted.
    #[serde(rename = "B")]
    Traced,
    /// Only what the kernel tells an ordinary user: completions and their flag. Copies are not verified.
    #[default]
    #[serde(rename = "C")]
    Told,
}

impl Tier {
    /// `A`
    pub fn letter(self) -> &'static str {
        match self {
            Tier::Agreed => "A",
            Tier::Traced => "B",
            Tier::Told => "C",
        }
    }
}

/// Payload bytes of the watched connections, by what the kernel did with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Left in memory of the kernel's own: copied there from the sender. Each byte once, however often
    /// it was transmitted.
    pub copied_in: u64,
    /// Left in the sender's own pages or in the page cache: not copied. Each byte once.
    pub uncopied_in: u64,
    /// Left in the sender's pages and arrived in the kernel's without a device between: copied inside
    /// the kernel, because a receiver may keep it longer than the sender lends it.
    pub orphan_copied: u64,
    /// Copied to the receiver's memory.
    pub copied_out: u64,
    /// Given to the receiver by a receive call that did not copy them: decrypted on the way to its memory.
    pub decrypted_out: u64,
    /// Transmitted again; not part of the counts above, orphan copies excepted.
    pub retransmitted: u64,
    /// Fetched from memory by a network device, retransmissions included; 0 where both ends are on
    /// this machine.
    pub device_fetched: u64,
    /// Dropped before a device took them, by a queueing discipline or a packet filter; repeats included.
    pub dropped: u64,
    /// In so many segments.
    pub dropped_segments: u64,
}
