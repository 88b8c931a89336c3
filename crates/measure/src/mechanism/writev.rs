//! `writev`: one writev(2) of eight iovecs: what `sendmsg` does, without flags.
//!
//! A write to a connection that the other side closed raises SIGPIPE, which this program ignores from
//! its start (Rust's runtime does): the call then fails with EPIPE like the others. Source: writev(2).

use super::{About, Handling, MESSAGES_PER_CALL, Mechanism, Sender, Setup, Tally, copies, fields, per_call};
use crate::message::{FIELDS, Message};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Axis, Point};
use syscost_sys::socket::Gather;

pub struct WriteV;

impl Mechanism for WriteV {
    fn about(&self) -> About {
        About {
            id: "writev",
            title: "one-copy, writev",
            aliases: &[],
            summary: "one writev(2) with eight iovecs: the kernel gathers the fields",
            source: "writev(2)",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        &[MESSAGES_PER_CALL]
    }

    fn messages_held(&self, point: &Point) -> u64 {
        per_call(point)
    }

    fn handling(&self, point: &Point) -> Option<Handling> {
        Some(Handling { pieces: FIELDS as u64 * per_call(point), ..Handling::PLAIN })
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let messages = copies(setup.message, per_call(setup.point) as usize);
        Ok(Box::new(Writer {
            socket: setup.socket,
            per_call: per_call(setup.point),
            gather: Gather::of(fields(&messages)),
            _messages: messages,
            tally: Tally::default(),
        }))
    }
}

struct Writer {
    socket: RawFd,
    per_call: u64,
    gather: Gather,
    /// Keeps alive what `gather` points to.
    _messages: Vec<Message>,
    tally: Tally,
}

impl Sender for Writer {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            self.tally.system_calls += self.gather.write(self.socket)?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Alignment;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_closed_connection_is_an_error_and_no_signal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        let message = Message::new(1000, Alignment::Heap);
        let setup = Setup { socket: stream.as_raw_fd(), message, point: &Point::default() };
        let mut sender = WriteV.start(setup).unwrap();
        let failed = (0..1000).find_map(|_| {
            syscost_sys::sleep::sleep(std::time::Duration::from_millis(1));
            sender.send(1).err()
        });
        let kind = failed.expect("nobody reads any more").kind();
        assert!(matches!(kind, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset), "{kind:?}");
    }
}
