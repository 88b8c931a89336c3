//! What both loops read on one connection, and the window that they read it for.

use crate::mechanism::Sender;
use crate::probe::meter::{Meter, Stamp};
use crate::probe::streaming::receiving::MessageStream;
pub use crate::probe::streaming::sending::SideReading;
use crate::probe::streaming::sending::{add_sending, message_bytes, window};
use crate::probe::streaming::{SENDER, threads};
use crate::probe::{Task, Window};
use anyhow::{Context, Result};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use syscost_sys::optional::TCP_INFO;
use syscost_sys::socket;

/// The counts of a side that sends, and receives answers where it has a stream of them; of the connection that carries them.
pub fn reading(
    messages: u64,
    sender: &dyn Sender,
    answers: Option<&MessageStream>,
    socket: Option<&TcpStream>,
) -> Result<SideReading> {
    let segments = socket.and_then(|socket| TCP_INFO.tried(socket::segments(socket.as_raw_fd())));
    let receive_calls = answers.map_or(0, |stream| stream.system_calls);
    let mut tally = sender.tally();
    tally.uncounted |= answers.is_some_and(MessageStream::calls_are_unknown);
    Ok(SideReading { messages, tally, receive_calls, segments })
}

/// The only window of a side. Counts are read before it opens and after it closes, outside of it.
pub struct SideWindow {
    meter: Meter,
    message_bytes: u64,
    /// Of a sender, its mechanism's counts are told too.
    sends: bool,
    opened: Option<(Stamp, SideReading)>,
    closed: Option<Window>,
}

impl SideWindow {
    pub fn of(task: &Task) -> Result<SideWindow> {
        let (meter, message_bytes) = (Meter::of(task), message_bytes(task)?);
        Ok(SideWindow { meter, message_bytes, sends: task.role == SENDER, opened: None, closed: None })
    }

    /// Returns when it opened.
    pub fn open(&mut self, before: SideReading) -> u64 {
        self.opened.insert((self.meter.stamp(), before)).0.ns()
    }

    /// When it opened, if it has.
    pub fn opened_ns(&self) -> Option<u64> {
        self.opened.as_ref().map(|(from, _)| from.ns())
    }

    pub fn is_over(&self) -> bool {
        self.closed.is_some()
    }

    pub fn close(&mut self, reading: impl FnOnce() -> Result<SideReading>) -> Result<&mut Window> {
        let (from, before) = self.opened.as_ref().context("a window closes that never opened")?;
        let (to, after) = (self.meter.stamp(), reading()?);
        let mut window = window(&self.meter, (from, &to), (before, &after), self.message_bytes);
        if self.sends {
            add_sending(&mut window, before, &after);
        }
        Ok(self.closed.insert(window))
    }

    /// What the side's thread brings home.
    pub fn done(self, bytes: u64, totals: Vec<(&'static str, u64)>) -> threads::Done {
        let windows = self.closed.into_iter().collect();
        threads::Done { windows, bytes, totals, missing: self.meter.missing(), program: None }
    }
}
