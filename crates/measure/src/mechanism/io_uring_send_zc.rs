//! `io_uring_send_zc`: one contiguous buffer, IORING_OP_SEND_ZC with usage reports.
//!
//! The buffer is sent again only after the kernel's notification. Source: io_uring_enter(2) (IORING_OP_SEND_ZC).

use super::{About, Mechanism, Sender, Setup, uring};
use std::io;
use syscost_core::axis::{Axis, Point};
use syscost_host::{self as host, Unavailable};

pub struct IoUringSendZc;

impl Mechanism for IoUringSendZc {
    fn about(&self) -> About {
        About {
            id: "io_uring_send_zc",
            title: "io_uring zero-copy asked",
            aliases: &[],
            summary: "one contiguous buffer, IORING_OP_SEND_ZC, notifications with usage reports; buffers may be registered",
            source: "io_uring_enter(2), IORING_OP_SEND_ZC",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        uring::ZERO_COPY_AXES
    }

    fn available(&self) -> Result<(), Unavailable> {
        host::uring::sends(uring::way(false, true, &Point::default()))
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        uring::fits(uring::way(false, true, point))
    }

    fn messages_held(&self, point: &Point) -> u64 {
        1 + uring::slots(true, point)
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let way = uring::way(false, true, setup.point);
        uring::start(setup, way)
    }
}
