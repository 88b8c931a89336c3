//! The sender's side of a transfer: streams messages by the case's mechanism.

use super::super::streaming::{sending, threads};
use super::super::{RoleReport, Stage, Task};
use super::connection;
use crate::mechanism::{self, Sender, Setup};
use crate::sys::socket;
use anyhow::{Context, Result};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;

pub fn play(task: &Task, stage: &mut dyn Stage) -> Result<RoleReport> {
    let streams = connection::connect_all(task)?;
    let mut report = threads::run(
        task,
        &streams,
        stage,
        |pinned| pinned.sender,
        |stream| {
            let sender = start(task, stream)?;
            Ok(Box::new(move || stream_messages(task, stream, sender)))
        },
    )?;
    report.facts.extend(connection::facts(&streams[0]));
    Ok(report)
}

/// The mechanism of the case on this connection, with a filled message of its own.
pub fn start(task: &Task, stream: &TcpStream) -> Result<Box<dyn Sender>> {
    let id = task.point.text("mechanism").context("the point names no mechanism")?;
    let mechanism = mechanism::find(id).with_context(|| format!("no mechanism {id}"))?;
    let setup = Setup { socket: stream.as_raw_fd(), message: sending::message(task)?, point: &task.point };
    mechanism.start(setup).map_err(|error| threads::cannot_start(id, error))
}

fn stream_messages(task: &Task, stream: &TcpStream, sender: Box<dyn Sender>) -> Result<threads::Done> {
    let segments = || socket::segments(stream.as_raw_fd()).map(Some).context("cannot read TCP_INFO");
    let done = sending::stream_messages(task, sender, &segments)?;
    stream.shutdown(Shutdown::Write).context("cannot close the stream")?;
    Ok(done)
}
