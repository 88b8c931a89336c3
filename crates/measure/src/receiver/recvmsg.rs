//! `recvmsg`: recvmsg(2) of an iovec for each field of the message: the mirror of sending them by sendmsg(2).
//!
//! The data lies where its reader wants it, without a second copy. A call takes what has arrived and ends
//! at the end of a message at the latest, the next one goes on where it ended: so it costs at least one
//! system call a message, however small the message is. That is the price of fields; a reader of many
//! small messages pays it once for several by naming the fields of several (messages per receive).
//! Source: recvmsg(2), readv(2).

use super::options::{BUSY_POLL, LOW_WATER, ReceiveWait, WAITING};
use super::{About, Delivery, Receive, Received, Receiver, ReceiverSetup};
use crate::message::{self, Alignment, MOST_PIECES, MessageShape};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point};
use syscost_host::Unavailable;
use syscost_sys::scatter::Scatter;

/// Of eight fields each: a call takes at most so many pieces.
const MOST_MESSAGES: u64 = MOST_PIECES / 8;

const MESSAGES: Axis = IntAxis::new("messages_per_receive")
    .count(1, MOST_MESSAGES)
    .flag("receive-batch", "messages per receive")
    .help(
        "messages whose fields one recvmsg(2) names: it takes at most so many, and does not \
         wait for the last",
    )
    .default_on(Ints(&[1]));

pub struct RecvMsg;

impl Receive for RecvMsg {
    fn about(&self) -> About<Delivery> {
        About {
            id: "recvmsg",
            title: "one-copy, into fields",
            summary: "recvmsg(2) of an iovec for each field: each is received into memory of its own",
            source: "recvmsg(2)",
            axes: &[LOW_WATER, BUSY_POLL, WAITING, MESSAGES],
            ..About::of(Delivery::Copied)
        }
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        message::fits_together(point, &MESSAGES, self.messages_held(point))
    }

    fn messages_held(&self, point: &Point) -> u64 {
        point.int_at(MESSAGES.id).unwrap_or(1)
    }

    fn decodes(&self) -> bool {
        true
    }

    fn start(&self, setup: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>> {
        let (messages, alignment) = (self.messages_held(setup.point), Alignment::of(setup.point));
        let lengths = MessageShape::of(setup.point).lengths(setup.message_bytes as u64);
        let fields = (0..messages).flat_map(|_| message::empty_fields(&lengths, alignment)).collect();
        Ok(Box::new(Fields {
            socket: setup.socket,
            waiting: ReceiveWait::of(setup.point),
            scatter: Scatter::into(fields),
        }))
    }
}

struct Fields {
    socket: RawFd,
    waiting: ReceiveWait,
    scatter: Scatter,
}

impl Receiver for Fields {
    fn receive(&mut self) -> io::Result<Received> {
        self.waiting.receive(|flags| self.scatter.receive(self.socket, flags))
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(self.scatter.last())
    }
}
