//! What both loops share on one connection: the counts between two moments as a window.

use crate::mechanism::{Sender, Tally};
use crate::probe::Window;
use crate::probe::meter::{Meter, Stamp};
use crate::probe::streaming::receiving::Stream;
use anyhow::{Context, Result};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use syscost_sys::socket;

/// Counts at one moment.
#[derive(Clone, Copy, Default)]
pub struct SideReading {
    pub messages: u64,
    /// Of the mechanism; nothing for a side that only receives.
    pub tally: Tally,
    pub receive_calls: u64,
    pub retransmits: u32,
}

impl SideReading {
    /// Of a side that sends, and receives answers where it has a stream of them.
    pub fn of(
        messages: u64,
        sender: &dyn Sender,
        answers: Option<&Stream>,
        socket: &TcpStream,
    ) -> Result<SideReading> {
        Ok(SideReading {
            messages,
            tally: sender.tally(),
            receive_calls: answers.map_or(0, |stream| stream.system_calls),
            retransmits: socket::segments(socket.as_raw_fd()).context("cannot read TCP_INFO")?.retransmitted,
        })
    }
}

/// The window of a side between two moments.
pub fn window(
    meter: &Meter,
    (from, to): (&Stamp, &Stamp),
    (before, after): (&SideReading, &SideReading),
    bytes: u64,
) -> Window {
    let messages = after.messages - before.messages;
    let mut window = meter.window(from, to, messages as f64, (messages * bytes) as f64);
    let mut put = |id: &str, n: u64| window.quantities.insert(id.into(), Some(n as f64));
    put("messages", messages);
    let sending = after.tally.system_calls - before.tally.system_calls;
    put("system_calls", sending + after.receive_calls - before.receive_calls);
    window
}

/// Adds what only the side has whose mechanism is measured.
pub fn add_sending(window: &mut Window, before: &SideReading, after: &SideReading) {
    let mut put = |id: &str, n: u64| window.quantities.insert(id.into(), Some(n as f64));
    let (from, to) = (&before.tally, &after.tally);
    put("completions", to.completions - from.completions);
    put("completions_copied", to.completions_copied - from.completions_copied);
    put("queue_entries", to.queue_entries - from.queue_entries);
    put("enobufs", to.enobufs - from.enobufs);
    put("retransmits", u64::from(after.retransmits.wrapping_sub(before.retransmits)));
}
