//! The receiver's side of a transfer: the case's receiver on each connection of a thread.

use super::super::Task;
use super::super::streaming::many::Crowd;
use super::super::streaming::receiving::{MessageStream, Source};
use super::super::streaming::threads;
use super::connection;
use crate::mechanism;
use crate::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, RECEIVER};
use crate::receiver::{self, Receiver, ReceiverSetup};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

/// Of the first connection.
pub fn facts(task: &Task, first: &TcpStream) -> BTreeMap<String, String> {
    let mut facts = connection::facts(first);
    facts.extend(receiver::options::facts(first.as_raw_fd(), &task.point));
    facts
}

/// Of one thread's connections, whatever their number.
pub fn source(task: &Task, streams: &[TcpStream]) -> Result<Box<dyn Source>> {
    Ok(match streams {
        [stream] => Box::new(MessageStream::of(task, start(task, stream)?)?),
        streams => Box::new(Crowd::of(
            streams.iter().map(|stream| one_of_many(task, stream)).collect::<Result<_>>()?,
        )?),
    })
}

/// One connection of several: a call on it that finds nothing comes back at once.
fn one_of_many(task: &Task, stream: &TcpStream) -> Result<(RawFd, MessageStream)> {
    stream.set_nonblocking(true).context("cannot set a connection not to wait")?;
    Ok((stream.as_raw_fd(), MessageStream::of(task, start(task, stream)?)?))
}

/// The receiver of the case on this connection.
pub fn start(task: &Task, stream: &TcpStream) -> Result<Box<dyn Receiver>> {
    let id = task.point.text(RECEIVER).context("the point names no receiver")?;
    let receive = receiver::find(id).with_context(|| format!("no receiver {id}"))?;
    let message_bytes = task.point.int(MESSAGE_BYTES).context("the point has no message size")?;
    if let Some(mechanism) = task.point.text(MECHANISM).and_then(mechanism::find) {
        mechanism.prepare_receiver(stream.as_raw_fd()).context("cannot prepare the receiver's socket")?;
    }
    let setup = ReceiverSetup {
        socket: stream.as_raw_fd(),
        message_bytes: message_bytes as usize,
        point: &task.point,
    };
    // Without context: that this machine cannot have an option is an answer of its own.
    receiver::options::apply(stream.as_raw_fd(), &task.point)?;
    receive.start(setup).map_err(|error| threads::cannot_start(id, error))
}
