//! The sender's side of a transfer: the case's mechanism on a connection, and what that has carried.

use super::super::Task;
use super::super::streaming::{sending, threads};
use super::planted;
use crate::mechanism::{self, Sender, SenderSetup, Tally};
use crate::probe::transfer::axes::{MECHANISM, NODELAY};
use anyhow::{Context, Result};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use syscost_sys::optional::TCP_INFO;
use syscost_sys::socket::{self, Segments};

/// The mechanism of the case on this connection, with a filled message of its own.
pub fn start(task: &Task, stream: &TcpStream) -> Result<Box<dyn Sender>> {
    let named = task.point.text(MECHANISM).context("the point names no mechanism")?;
    let planted = planted::find(named);
    let id = planted.as_ref().map_or(named, |planted| &planted.mechanism);
    let mechanism = mechanism::find(id).with_context(|| format!("no mechanism {id}"))?;
    let setup =
        SenderSetup { socket: stream.as_raw_fd(), message: sending::message(task)?, point: &task.point };
    let sender = mechanism.start(setup).map_err(|error| threads::cannot_start(id, error))?;
    let sender = match planted {
        Some(planted) => planted::Slowed::of(sender, &planted),
        None => sender,
    };
    let holds_back = mechanism::more_flag(&task.point) != 0 || !task.point.on(NODELAY);
    Ok(if holds_back { Box::new(Pushed { socket: stream.as_raw_fd(), sender, pushes: 0 }) } else { sender })
}

/// A sender whose last segment leaves when it settles. MSG_MORE and Nagle's algorithm hold it back, the first for 200 ms:
/// a window of 6 ms was 220 ms long.
struct Pushed {
    socket: RawFd,
    sender: Box<dyn Sender>,
    pushes: u64,
}

impl Sender for Pushed {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        self.sender.send(messages)
    }

    fn settle(&mut self) -> io::Result<()> {
        self.pushes += 1;
        socket::push(self.socket)?;
        self.sender.settle()
    }

    fn tally(&self) -> Tally {
        let mut tally = self.sender.tally();
        tally.system_calls += self.pushes;
        tally
    }

    fn call_ns(&self) -> u64 {
        self.sender.call_ns()
    }
}

/// What these connections have carried so far.
pub fn segments(streams: &[TcpStream]) -> Result<Option<Segments>> {
    let mut all = Segments::default();
    for stream in streams {
        let Some(own) = TCP_INFO.tried(socket::segments(stream.as_raw_fd())) else { return Ok(None) };
        all.add(own);
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::MSG_MORE;
    use crate::message::MESSAGE_BYTES;
    use crate::probe::Timing;
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::Duration;
    use syscost_core::axis::{Point, Value};

    #[test]
    fn what_is_held_back_leaves_when_the_sender_settles() {
        for (more, nodelay) in [("on", "on"), ("off", "off")] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            let mut point = Point::default();
            point.set(MECHANISM.id, Value::text("send_fields"));
            point.set(MESSAGE_BYTES.id, Value::Int(64));
            point.set(MSG_MORE.id, Value::text(more));
            point.set(NODELAY.id, Value::text(nodelay));
            stream.set_nodelay(nodelay == "on").unwrap();
            let mut sender =
                start(&Task::of(point, Timing { warmup_ns: 0, window_ns: 0, windows: 0 }), &stream).unwrap();
            sender.send(3).unwrap();
            sender.settle().unwrap();
            // The kernel lets go of it by itself after 200 ms.
            peer.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            peer.read_exact(&mut [0; 3 * 64]).expect("nothing is held back any more");
        }
    }
}
