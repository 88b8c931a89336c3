//! A way for bytes to get from one process to another on the same machine, and the visible list of them.
//!
//! A way sets up both ends over a channel that both processes hold; the clock, the loops, pinning and
//! counters are the harness's, as for a mechanism of TCP. Its ends speak the same two traits.

use crate::mechanism::Sender;
use crate::message::Message;
use crate::probe::transfer::axes::PLACEMENT;
use crate::receiver::Receiver;
use anyhow::Result;
use std::os::unix::net::UnixStream;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_host::topology::Placement;

/// What a way is, for `list`, help, reports and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarrierAbout {
    pub id: &'static str,
    /// What reports call it.
    pub title: &'static str,
    pub summary: &'static str,
}

pub trait Carrier: Sync {
    fn about(&self) -> CarrierAbout;

    /// Can this machine do it? Tried, not guessed from a version.
    fn available(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// Memory that one connection takes beyond a message in each process.
    fn memory_bytes(&self, message_bytes: u64) -> u64 {
        let _ = message_bytes;
        0
    }

    /// The receiver's end; it makes what both share and passes it over the channel.
    fn receive(&self, channel: &UnixStream, point: &Point) -> Result<Box<dyn Receiver>>;

    /// The sender's end. Dropping what it returns ends the stream.
    fn send(&self, channel: &UnixStream, message: Message, point: &Point) -> Result<Box<dyn Sender>>;
}

/// Do both ends have a CPU each, so that looking again takes nothing from the other one?
pub fn apart(point: &Point) -> bool {
    let placement = point.text(PLACEMENT).map(Placement::parse);
    match placement {
        Some(Ok(Placement::Different)) => true,
        Some(Ok(Placement::Explicit { sender, receiver })) => {
            sender.iter().all(|cpu| !receiver.contains(cpu))
        }
        _ => false,
    }
}
