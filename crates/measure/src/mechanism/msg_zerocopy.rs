//! `msg_zerocopy`: sendmsg(2) of an iovec for each field with MSG_ZEROCOPY, completions from the error queue.
//!
//! Completions are reaped without blocking once per reap batch; the sender sleeps only when the
//! ring is full or the kernel refuses for want of buffers (ENOBUFS), and is woken by the next
//! completion. Several messages per call are one sendmsg(2) of all their iovecs, and one
//! completion. The send buffer of small messages starts large (`zerocopy_ring::start_send_buffer`): else the kernel makes
//! the sender sleep inside sendmsg(2).
//! Source: Documentation/networking/msg_zerocopy.rst.

use super::zerocopy_ring::{RingShape, Zerocopy};
use super::{About, Handover, MESSAGES_PER_CALL, MSG_MORE, Packing, Reuse, Sending};
use super::{connections, more_flag, per_call};
use crate::message::MESSAGE_BYTES;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point};

const REAP_BATCH: u64 = 8;
/// Where nobody says how many: as many as hold so much, within these bounds. Fewer make the sender wait
/// for completions that come in bunches; more leave the caches. Connections of one thread share them: each
/// has its next turn only after all the others.
const IN_FLIGHT_BYTES: u64 = 4 << 20;
const FEWEST_IN_FLIGHT: u64 = 32;
const MOST_IN_FLIGHT: u64 = 256;
/// Of one connection of very many.
const FEWEST_OF_MANY: u64 = 2;

/// Axes of every mechanism that reaps zero-copy completions.
pub const REAP_AXES: &[Axis] = &[
    IntAxis::new("reap_batch")
        .count(1, 4096)
        .flag("reap-batch", "reap batch")
        .help("messages between two non-blocking looks at the completion queue")
        .default_on(Ints(&[REAP_BATCH])),
    IntAxis::new("in_flight")
        .count(0, 4096)
        .flag("in-flight", "messages in flight")
        .help(
            "messages of a connection that the kernel may hold at once, each in memory of its \
             own; 0: as many as hold 4 MiB, 32 to 256, which the connections of a thread share. \
             Where a call takes several, whole calls and at least two",
        )
        .default_on(Ints(&[0])),
    MESSAGES_PER_CALL,
    MSG_MORE,
];

/// Messages that may be in flight at this point.
pub fn in_flight(point: &Point) -> u64 {
    let bytes = point.int(MESSAGE_BYTES).unwrap_or(1).max(1);
    let asked = point.int_at(REAP_AXES[1].id).filter(|asked| *asked > 0);
    let of_a_thread = (IN_FLIGHT_BYTES / bytes).clamp(FEWEST_IN_FLIGHT, MOST_IN_FLIGHT);
    asked.unwrap_or((of_a_thread / connections(point)).max(FEWEST_OF_MANY))
}

/// Calls that may be in flight. With a single slot for calls of several messages every call would wait
/// for the one before it.
fn slots(point: &Point) -> u64 {
    let (in_flight, per_call) = (in_flight(point), per_call(point));
    if per_call == 1 { in_flight } else { in_flight.div_ceil(per_call).max(2) }
}

/// The ring that the axes ask for.
pub fn shape(point: &Point) -> RingShape {
    RingShape {
        slots: slots(point) as usize,
        per_call: per_call(point),
        reap_batch: point.int_at(REAP_AXES[0].id).unwrap_or(REAP_BATCH),
        flags: more_flag(point),
        lent_from: 0,
        nap: None,
    }
}

pub static MSG_ZEROCOPY: Zerocopy = Zerocopy {
    about: About {
        id: "msg_zerocopy",
        title: "zero-copy requested",
        aliases: &["zero-copy"],
        summary: "sendmsg(2) of an iovec for each field with MSG_ZEROCOPY, completions reaped from the error queue",
        source: "Documentation/networking/msg_zerocopy.rst",
        in_default: true,
        axes: REAP_AXES,
        ..About::of(Sending::of(Packing::ByKernel, Handover::Referenced, Reuse::AtCompletion))
    },
    shape,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{Mechanism, SOCKET_BUFFER_BYTES, SenderSetup};
    use crate::message::{Alignment, Message};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use syscost_core::axis::Value;

    /// Every second sendmsg(2) of 64 bytes slept, because two messages filled the send buffer.
    #[test]
    fn small_messages_in_flight_have_room_in_the_send_buffer() {
        let room = |bytes: u64, buffer: u64| {
            let mut point = Point::default();
            point.set(MESSAGE_BYTES.id, Value::Int(bytes));
            point.set(SOCKET_BUFFER_BYTES.id, Value::Int(buffer));
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let size = || socket2::SockRef::from(&stream).send_buffer_size().unwrap();
            let before = size();
            let message = Message::new(bytes as usize, Alignment::Heap);
            let setup = SenderSetup { socket: stream.as_raw_fd(), message, point: &point };
            let sender = MSG_ZEROCOPY.start(setup).expect("a kernel with MSG_ZEROCOPY and SO_BUF_LOCK");
            drop(sender);
            size() > before
        };
        assert!(room(64, 0) && room(16 << 10, 0));
        assert!(!room(64 << 10, 0), "grows by itself");
        assert!(!room(64, 1 << 20), "somebody asked for another size");
    }
}
