//! What both loops read on one connection.

use crate::mechanism::Sender;
use crate::probe::streaming::receiving::MessageStream;
pub use crate::probe::streaming::sending::{SideReading, add_sending, window};
use anyhow::{Context, Result};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use syscost_sys::socket;

/// The counts of a side that sends, and receives answers where it has a stream of them.
pub fn reading(
    messages: u64,
    sender: &dyn Sender,
    answers: Option<&MessageStream>,
    socket: &TcpStream,
) -> Result<SideReading> {
    let segments = socket::segments(socket.as_raw_fd()).context("cannot read TCP_INFO")?;
    let receive_calls = answers.map_or(0, |stream| stream.system_calls);
    Ok(SideReading { messages, tally: sender.tally(), receive_calls, segments: Some(segments) })
}
