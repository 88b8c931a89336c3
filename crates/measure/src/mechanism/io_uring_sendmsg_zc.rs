//! `io_uring_sendmsg_zc`: eight iovecs, IORING_OP_SENDMSG_ZC with usage reports.
//!
//! The fields are sent again only after the kernel's notification. Source: io_uring_enter(2) (IORING_OP_SENDMSG_ZC).

use super::{About, Mechanism, Sender, Setup, uring};
use std::io;
use syscost_core::axis::{Axis, Point};
use syscost_host::{self as host, Unavailable};

pub struct IoUringSendMsgZc;

impl Mechanism for IoUringSendMsgZc {
    fn about(&self) -> About {
        About {
            id: "io_uring_sendmsg_zc",
            title: "io_uring zero-copy gather asked",
            aliases: &[],
            summary: "IORING_OP_SENDMSG_ZC with eight iovecs, notifications with usage reports; the fields may be registered",
            source: "io_uring_enter(2), IORING_OP_SENDMSG_ZC",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        uring::ZERO_COPY_AXES
    }

    fn available(&self) -> Result<(), Unavailable> {
        host::uring::sends(uring::way(true, true, &Point::default()))
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        uring::fits(uring::way(true, true, point))
    }

    fn messages_held(&self, point: &Point) -> u64 {
        1 + uring::slots(true, point)
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let way = uring::way(true, true, setup.point);
        uring::start(setup, way)
    }
}
