//! `writev`: one writev(2) with an iovec for each field: what `sendmsg` does, without flags.
//!
//! A write to a connection that the other side closed raises SIGPIPE, which this program ignores from
//! its start (Rust's runtime does): the call then fails with EPIPE like the others. Source: writev(2).

use super::sender;
use super::sendmsg::Gathered;
use super::{About, Handover, MESSAGES_PER_CALL, Packing, PlainCalls, Reuse, Sender, SenderSetup, Sending};

pub static WRITEV: PlainCalls = PlainCalls {
    about: About {
        id: "writev",
        title: "one-copy, writev",
        summary: "one writev(2) with an iovec for each field: the kernel gathers the fields",
        source: "writev(2)",
        axes: &[MESSAGES_PER_CALL],
        ..About::of(Sending::of(Packing::ByKernel, Handover::Copied, Reuse::AtReturn))
    },
    messages_held: |per_call| per_call,
    start,
};

fn start(setup: SenderSetup<'_>) -> Box<dyn Sender> {
    let socket = setup.socket;
    let mut gathered = Gathered::new(setup.message, setup.point);
    sender(setup.point, move || gathered.write(socket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Mechanism;
    use crate::message::{Alignment, Message};
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use syscost_core::axis::Point;

    #[test]
    fn a_closed_connection_is_an_error_and_no_signal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        let message = Message::new(1000, Alignment::Heap);
        let setup = SenderSetup { socket: stream.as_raw_fd(), message, point: &Point::default() };
        let mut sender = WRITEV.start(setup).unwrap();
        let failed = (0..1000).find_map(|_| {
            syscost_sys::sleep::sleep(std::time::Duration::from_millis(1));
            sender.send(1).err()
        });
        let kind = failed.expect("nobody reads any more").kind();
        assert!(matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{kind:?}");
    }
}
