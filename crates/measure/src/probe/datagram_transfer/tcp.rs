//! `tcp_send`: the same message over TCP, in turns with the datagrams: what a datagram costs is held beside it.
//!
//! It is no way to send a datagram: it is compared and never advised. The line beside a pair carries it, with the control of a
//! transfer over TCP and its usual receiver.

use super::{MECHANISM, RATE, RECEIVER, pair};
use crate::mechanism::{self, Sender};
use crate::probe::Task;
use crate::probe::streaming::receiving::Source;
use crate::probe::transfer::axes::{self, NODELAY};
use crate::probe::transfer::{receiver, sender};
use anyhow::{Context, Result};
use std::net::TcpStream;
use syscost_core::axis::{Point, Value};
use syscost_host::Unavailable;

pub const ID: &str = "tcp_send";

pub fn is(point: &Point) -> bool {
    point.text(MECHANISM) == Some(ID)
}

/// TCP's own window says how fast it goes.
pub fn fits(point: &Point) -> Result<(), Unavailable> {
    match point.int(RATE).unwrap_or(0) {
        0 => Ok(()),
        _ => Err(Unavailable {
            reason: format!("{ID} has no rate: TCP sends as fast as its receiver takes it"),
            remedy: "--datagram-rate confirmed, or other ways".into(),
        }),
    }
}

/// The transfer that it is.
pub fn as_transfer(task: &Task, line: &TcpStream, nodelay: bool) -> Result<Task> {
    pair::nothing_paces(line);
    line.set_nodelay(nodelay).context("cannot set TCP_NODELAY")?;
    let mut point = task.point.clone();
    point.set(MECHANISM.id, Value::text(mechanism::control().about().id));
    let usual = axes::find(RECEIVER.id).default().swap_remove(0);
    point.set(RECEIVER.id, usual);
    point.set(NODELAY.id, Value::text(if nodelay { "on" } else { "off" }));
    Ok(Task { point, ..task.clone() })
}

pub fn start(task: &Task, line: &TcpStream) -> Result<Box<dyn Sender>> {
    sender::start(&as_transfer(task, line, task.point.on(NODELAY))?, line)
}

pub fn source(task: &Task, line: &TcpStream) -> Result<Box<dyn Source>> {
    receiver::source(&as_transfer(task, line, task.point.on(NODELAY))?, std::slice::from_ref(line))
}
