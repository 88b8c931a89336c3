//! Messages of a latency over a Unix stream socket, or over two pipes that it hands over.

use super::super::local_transfer::channel;
use super::super::local_transfer::files::{EndedByDrop, FileTaker, Gatherer};
use crate::mechanism::Sender;
use crate::probe::Task;
use crate::probe::streaming::{RECEIVER, sending};
use crate::probe::tcp_latency::carrier::{CarrierEnds, LatencyCarrier, WantedEnds};
use crate::receiver::Receiver;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use syscost_sys::pass;
use syscost_sys::pipe::pipe;

pub const UNIX_STREAM: LatencyCarrier =
    LatencyCarrier { ends: over_unix, is_the_connection: false, facts: |_| BTreeMap::new() };
pub const PIPE: LatencyCarrier =
    LatencyCarrier { ends: over_pipes, is_the_connection: false, facts: |_| BTreeMap::new() };

/// A Unix socket between both sides of a line; its name is told on the line.
fn channel_of(task: &Task, mut line: &TcpStream) -> Result<UnixStream> {
    let mut length = [0; 1];
    if task.role == RECEIVER {
        let (listener, name) = channel::listen()?;
        line.write_all(&[name.len() as u8]).and_then(|()| line.write_all(name.as_bytes()))?;
        let mut accepted = channel::accept(&listener, &task.token, 1)?;
        return accepted.pop().context("one was accepted");
    }
    line.read_exact(&mut length).context("the other side told no name")?;
    let mut name = vec![0; usize::from(length[0])];
    line.read_exact(&mut name).context("the other side told no name")?;
    channel::connect(std::str::from_utf8(&name)?, &task.token, 0)
}

fn over_unix(task: &Task, line: &TcpStream, wanted: WantedEnds) -> Result<CarrierEnds> {
    let channel = channel_of(task, line)?;
    let into = EndedByDrop(channel.try_clone()?);
    let sender = wanted.sends().then(|| sending::message(task)).transpose()?;
    Ok(CarrierEnds {
        sender: sender.map(|message| Box::new(Gatherer::new(into, message, 1)) as Box<dyn Sender>),
        receiver: wanted.receives().then(|| Box::new(FileTaker::new(channel)) as Box<dyn Receiver>),
    })
}

/// The receiving role makes both pipes, and hands the other ends over.
fn over_pipes(task: &Task, line: &TcpStream, wanted: WantedEnds) -> Result<CarrierEnds> {
    let channel = channel_of(task, line)?;
    let (from, into): (File, File) = if task.role == RECEIVER {
        let (there, back) = (pipe().context("cannot make a pipe")?, pipe().context("cannot make a pipe")?);
        pass::send_file(&channel, there.1.as_fd()).context("cannot pass the pipe")?;
        pass::send_file(&channel, back.0.as_fd()).context("cannot pass the pipe")?;
        (there.0, back.1)
    } else {
        let into = pass::receive_file(&channel).context("no pipe came")?;
        (pass::receive_file(&channel).context("no pipe came")?.into(), into.into())
    };
    let sender = wanted.sends().then(|| sending::message(task)).transpose()?;
    Ok(CarrierEnds {
        sender: sender.map(|message| Box::new(Gatherer::new(into, message, 1)) as Box<dyn Sender>),
        receiver: wanted.receives().then(|| Box::new(FileTaker::new(from)) as Box<dyn Receiver>),
    })
}
