//! `local_transfer`: what it costs to move a message between two processes without TCP: the rulers beside
//! which a transfer over TCP is held.
//!
//! The same message, threads, windows and metrics as a transfer over TCP; only what carries the bytes differs. A way sets
//! up both ends over a channel that both processes hold, and its ends speak the same two traits as a mechanism and a
//! receiver of TCP. Sources: unix(7), pipe(7), fcntl(2) (F_SETPIPE_SZ).

pub mod channel;
pub mod files;

use super::rights::{COUNT_IN_THE_KERNEL, LARGE_PIPES, Rights};
use super::streaming::{self, RECEIVER, receiving, sending, threads};
use super::transfer::{Transfer, available, axes, metrics};
use super::{Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing};
use crate::mechanism::{self, MESSAGES_PER_CALL, Sender};
use crate::message::{self, FIELDS, Message};
use crate::probe::transfer::axes::{ALIGNMENT, MESSAGE_BYTES, PLACEMENT, THREADS};
use crate::receiver::Receiver;
use anyhow::{Context, Result};
use files::{FileTaker, Gatherer};
use rustix::pipe::fcntl_setpipe_size;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::sample::Sample;
use syscost_host::Unavailable;
use syscost_sys::pass;
use syscost_sys::pipe::pipe;

pub struct LocalTransfer;

/// What carries the bytes from process to process.
struct Carrier {
    id: &'static str,
    /// Memory that one connection takes beyond a message in each process.
    memory_bytes: u64,
    /// The receiver's end; it makes what both share and passes it over the channel.
    receive: fn(&UnixStream) -> Result<Box<dyn Receiver>>,
    /// The sender's end, for so many messages a call. Dropping what it returns ends the stream.
    send: fn(&UnixStream, Message, u64) -> Result<Box<dyn Sender>>,
}

/// What every user may ask for unless fs.pipe-max-size was lowered; a pipe is 64 KiB otherwise.
const PIPE_BYTES: usize = 1 << 20;

/// Every way, from the longest to the shortest.
const WAYS: &[Carrier] = &[
    // The kernel's copies without TCP.
    Carrier {
        id: "unix_stream",
        memory_bytes: 0,
        receive: |channel| Ok(Box::new(FileTaker::new(channel.try_clone()?))),
        send: |channel, message, per_call| {
            Ok(Box::new(Gatherer::new(files::EndedByDrop(channel.try_clone()?), message, per_call)))
        },
    },
    Carrier {
        id: "pipe",
        memory_bytes: PIPE_BYTES as u64,
        receive: |channel| {
            let (reader, writer) = pipe().context("cannot make a pipe")?;
            // A user whose pipes together are over fs.pipe-user-pages-soft keeps the size that there is.
            let _ = fcntl_setpipe_size(&reader, PIPE_BYTES);
            pass::send_file(channel, writer.as_fd()).context("cannot pass the pipe")?;
            Ok(Box::new(FileTaker::new(reader)))
        },
        send: |channel, message, per_call| {
            let writer = File::from(pass::receive_file(channel).context("no pipe came")?);
            Ok(Box::new(Gatherer::new(writer, message, per_call)))
        },
    },
];

const WAY: Axis = NameAxis::new("way")
    .names(|| WAYS.iter().map(|way| way.id).collect())
    .help("what carries the bytes from process to process where TCP does not");

fn found(point: &Point) -> Option<&'static Carrier> {
    let id = point.text_at(WAY.id)?;
    WAYS.iter().find(|way| way.id == id)
}

/// The axes of a transfer over TCP that mean something here.
const SHARED: &[&str] = &[FIELDS.id, MESSAGE_BYTES.id, THREADS.id, ALIGNMENT.id, PLACEMENT.id];

/// An axis of a transfer over TCP, with fewer default values where they would multiply the cases.
fn shared(id: &str) -> Axis {
    let axis = axes::find(id);
    match id {
        // Few: a ruler needs no more points than it takes to be read.
        _ if id == MESSAGE_BYTES.id => {
            axis.default_on(Ints(&[64, 4096, 65536, 1 << 20])).quick_on(Ints(&[64, 65536]))
        }
        _ if id == THREADS.id => axis.default_on(Ints(&[1])),
        _ => axis,
    }
}

impl Probe for LocalTransfer {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "local_transfer",
            title: "moving a message between two processes without TCP",
            method: "Each round starts a fresh sender and receiver process, as for a transfer over TCP, with the same \
                     message, windows and clocks: writev(2) of the fields on one side, read(2) on the other.",
            source: "unix(7), pipe(7)",
            roles: streaming::ROLES,
            ruler: Some(WAY.id),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let shared = SHARED.iter().map(|id| shared(id));
        std::iter::once(WAY).chain(shared).chain([MESSAGES_PER_CALL]).collect()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        message::fits(point)?;
        mechanism::fits_a_call(point)?;
        point.text(PLACEMENT).map_or(Ok(()), available::placement)
    }

    fn needs(&self, point: &Point) -> Needs {
        let (bytes, threads) = (point.int(MESSAGE_BYTES).unwrap_or(0), point.int(THREADS).unwrap_or(1));
        let shared = found(point).map_or(0, |way| way.memory_bytes);
        Needs::memory(bytes.saturating_mul(2).saturating_add(shared).saturating_mul(threads))
    }

    fn figures(&self) -> Figures {
        Figures {
            quantities: metrics::QUANTITIES.to_vec(),
            metrics: metrics::METRICS
                .iter()
                .filter(|metric| !metrics::OF_TCP.contains(&metric.id))
                .copied()
                .collect(),
            decisive: Transfer.figures().decisive,
        }
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![COUNT_IN_THE_KERNEL, LARGE_PIPES])
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        if task.role == RECEIVER { receive(task, channel) } else { send(task, channel) }
    }

    fn merge(&self, _: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        streaming::merge(reports)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        streaming::timing(point, base)
    }

    fn axes_as(&self) -> Option<&'static dyn Probe> {
        Some(&Transfer)
    }
}

fn receive(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let way = found(&task.point).context("the point names no way")?;
    let (listener, name) = channel::listen()?;
    channel.offer(serde_json::json!({ "name": name }))?;
    let channels = channel::accept(&listener, &task.token, threads_of(task) as usize)?;
    drop(listener);
    threads::run(task, &channels, channel, |channel| {
        let mut stream = receiving::MessageStream::of(task, (way.receive)(channel)?)?;
        Ok(Box::new(move || receiving::take(task, &mut stream)))
    })
}

fn send(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let way = found(&task.point).context("the point names no way")?;
    let offered = task.peer.as_ref().and_then(|offer| offer["name"].as_str());
    let name = offered.context("the receiver offered no name")?;
    let channels = (0..threads_of(task))
        .map(|number| channel::connect(name, &task.token, number as u32))
        .collect::<Result<Vec<UnixStream>>>()?;
    threads::run(task, &channels, channel, |channel| {
        let per_call = mechanism::per_call(&task.point);
        let sender = (way.send)(channel, sending::message(task)?, per_call)?;
        // None of the ways sends a segment again.
        Ok(Box::new(move || sending::stream_messages(task, sender, &|| Ok(None))))
    })
}

fn threads_of(task: &Task) -> u64 {
    task.point.int(THREADS).unwrap_or(1)
}
