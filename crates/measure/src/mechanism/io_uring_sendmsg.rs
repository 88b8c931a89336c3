//! `io_uring_sendmsg`: eight iovecs, IORING_OP_SENDMSG.
//!
//! The kernel gathers the fields, as for sendmsg(2). Source: io_uring_enter(2) (IORING_OP_SENDMSG).

use super::{About, Mechanism, Sender, Setup, uring};
use std::io;
use syscost_core::axis::{Axis, Point};
use syscost_host::{self as host, Unavailable};

pub struct IoUringSendMsg;

impl Mechanism for IoUringSendMsg {
    fn about(&self) -> About {
        About {
            id: "io_uring_sendmsg",
            title: "io_uring sendmsg",
            aliases: &[],
            summary: "IORING_OP_SENDMSG with eight iovecs; the messages of a call are linked requests of one submission",
            source: "io_uring_enter(2), IORING_OP_SENDMSG",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        uring::COPYING_AXES
    }

    fn available(&self) -> Result<(), Unavailable> {
        host::uring::sends(uring::way(true, false, &Point::default()))
    }

    fn messages_held(&self, point: &Point) -> u64 {
        1 + uring::slots(false, point)
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let way = uring::way(true, false, setup.point);
        uring::start(setup, way)
    }
}
