//! Both roles of a local transfer: find each other, set up the case's way on every thread, stream.

use super::{channel, found};
use crate::probe::streaming::{receiving, sending, threads};
use crate::probe::transfer::axes::THREADS;
use crate::probe::{Channel, RoleReport, Task};
use anyhow::{Context, Result};
use std::os::unix::net::UnixStream;

pub fn receive(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let way = found(&task.point).context("the point names no way")?;
    let (listener, name) = channel::listen()?;
    channel.offer(serde_json::json!({ "name": name }))?;
    let channels = channel::accept(&listener, &task.token, threads_of(task) as usize)?;
    drop(listener);
    threads::run(task, &channels, channel, |channel| {
        let receiver = way.receive(channel, &task.point)?;
        let mut stream = receiving::MessageStream::of(task, receiver)?;
        Ok(Box::new(move || receiving::take(task, &mut stream)))
    })
}

pub fn send(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let way = found(&task.point).context("the point names no way")?;
    let offered = task.peer.as_ref().and_then(|offer| offer["name"].as_str());
    let name = offered.context("the receiver offered no name")?;
    let channels = (0..threads_of(task))
        .map(|number| channel::connect(name, &task.token, number as u32))
        .collect::<Result<Vec<UnixStream>>>()?;
    threads::run(task, &channels, channel, |channel| {
        let sender = way.send(channel, sending::message(task)?, &task.point)?;
        // None of the ways sends a segment again.
        Ok(Box::new(move || sending::stream_messages(task, sender, &|| Ok(None))))
    })
}

fn threads_of(task: &Task) -> u64 {
    task.point.int(THREADS).unwrap_or(1)
}
