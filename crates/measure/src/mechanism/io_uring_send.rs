//! `io_uring_send`: one contiguous buffer, IORING_OP_SEND.
//!
//! The control `send` through a ring: what the ring itself costs or saves. Source: io_uring_enter(2) (IORING_OP_SEND).

use super::{About, Mechanism, Sender, Setup, uring};
use std::io;
use syscost_core::axis::{Axis, Point};
use syscost_host::{self as host, Unavailable};

pub struct IoUringSend;

impl Mechanism for IoUringSend {
    fn about(&self) -> About {
        About {
            id: "io_uring_send",
            title: "io_uring send",
            aliases: &[],
            summary: "one contiguous buffer, IORING_OP_SEND; the messages of a call are linked requests of one submission",
            source: "io_uring_enter(2), IORING_OP_SEND",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        uring::COPYING_AXES
    }

    fn available(&self) -> Result<(), Unavailable> {
        host::uring::sends(uring::way(false, false, &Point::default()))
    }

    fn messages_held(&self, point: &Point) -> u64 {
        1 + uring::slots(false, point)
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let way = uring::way(false, false, setup.point);
        uring::start(setup, way)
    }
}
