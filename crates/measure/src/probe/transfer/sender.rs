//! The sender's side of a transfer: streams messages by the case's mechanism.

use super::super::streaming::{many, sending, threads};
use super::super::{Channel, RoleReport, Task};
use super::{connection, planted};
use crate::mechanism::{self, Sender, SenderSetup};
use crate::probe::transfer::axes::MECHANISM;
use anyhow::{Context, Result};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use syscost_sys::socket::{self, Segments};

pub fn play(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let streams = connection::by_thread(task, connection::connect_all(task)?);
    let mut report = threads::run(task, &streams, channel, |streams| {
        let senders = streams.iter().map(|stream| start(task, stream)).collect::<Result<Vec<_>>>()?;
        let sender = many::InTurn::of(senders, mechanism::per_call(&task.point))?;
        Ok(Box::new(move || stream_messages(task, streams, sender)))
    })?;
    report.facts.extend(connection::facts(&streams[0][0]));
    Ok(report)
}

/// The mechanism of the case on this connection, with a filled message of its own.
pub fn start(task: &Task, stream: &TcpStream) -> Result<Box<dyn Sender>> {
    let named = task.point.text(MECHANISM).context("the point names no mechanism")?;
    let planted = planted::find(named);
    let id = planted.as_ref().map_or(named, |planted| &planted.mechanism);
    let mechanism = mechanism::find(id).with_context(|| format!("no mechanism {id}"))?;
    let setup =
        SenderSetup { socket: stream.as_raw_fd(), message: sending::message(task)?, point: &task.point };
    let sender = mechanism.start(setup).map_err(|error| threads::cannot_start(id, error))?;
    Ok(match planted {
        Some(planted) => planted::Slowed::of(sender, &planted),
        None => sender,
    })
}

/// What these connections have carried so far.
pub fn segments(streams: &[TcpStream]) -> Result<Option<Segments>> {
    let mut all = Segments::default();
    for stream in streams {
        all.add(socket::segments(stream.as_raw_fd()).context("cannot read TCP_INFO")?);
    }
    Ok(Some(all))
}

fn stream_messages(task: &Task, streams: &[TcpStream], sender: Box<dyn Sender>) -> Result<threads::Done> {
    let done = sending::stream_messages(task, sender, &|| segments(streams))?;
    for stream in streams {
        stream.shutdown(Shutdown::Write).context("cannot close the stream")?;
    }
    Ok(done)
}
