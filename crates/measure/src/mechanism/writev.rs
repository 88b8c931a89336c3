//! `writev`: one writev(2) of eight iovecs: what `sendmsg` does, without flags.
//!
//! A write to a connection that the other side closed raises SIGPIPE, which this program ignores from
//! its start (Rust's runtime does): the call then fails with EPIPE like the others. Source: writev(2).

use super::sendmsg::Gathered;
use super::{About, Handover, MESSAGES_PER_CALL, Mechanism, Packing, Reuse, Sender, SenderSetup, Sending};
use super::{per_call, sender};
use std::io;
use syscost_core::axis::Point;

pub struct WriteV;

impl Mechanism for WriteV {
    fn about(&self) -> About<Sending> {
        About {
            id: "writev",
            title: "one-copy, writev",
            summary: "one writev(2) with eight iovecs: the kernel gathers the fields",
            source: "writev(2)",
            axes: &[MESSAGES_PER_CALL],
            ..About::of(Sending::of(Packing::ByKernel, Handover::Copied, Reuse::AtReturn))
        }
    }

    fn messages_held(&self, point: &Point) -> u64 {
        per_call(point)
    }

    fn plain_calls(&self) -> bool {
        true
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let socket = setup.socket;
        let mut gathered = Gathered::new(setup.message, setup.point);
        Ok(sender(setup.point, move || gathered.write(socket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Alignment, Message};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_closed_connection_is_an_error_and_no_signal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        let message = Message::new(1000, Alignment::Heap);
        let setup = SenderSetup { socket: stream.as_raw_fd(), message, point: &Point::default() };
        let mut sender = WriteV.start(setup).unwrap();
        let failed = (0..1000).find_map(|_| {
            syscost_sys::sleep::sleep(std::time::Duration::from_millis(1));
            sender.send(1).err()
        });
        let kind = failed.expect("nobody reads any more").kind();
        assert!(matches!(kind, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset), "{kind:?}");
    }
}
