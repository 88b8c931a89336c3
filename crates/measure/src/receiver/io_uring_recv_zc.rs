//! `io_uring_recv_zc`: zero-copy receive through a ring (zcrx): the device writes payload into memory that
//! the receiver registered. Only its question is here: see [`super::device`].
//!
//! Source: Documentation/networking/iou-zcrx.rst.

use super::{About, Delivery, Holder, Receive, Receiver, Receiving, Setup, device};
use std::io;
use syscost_host::{Unavailable, uring};
use syscost_sys::uring::zcrx;

pub struct IoUringRecvZc;

impl Receive for IoUringRecvZc {
    fn about(&self) -> About<Receiving> {
        About {
            id: "io_uring_recv_zc",
            title: "io_uring zero-copy recv",
            aliases: &[],
            summary: "IORING_OP_RECV_ZC from a device's receive queue; asked for, and refused where no device has one",
            source: "Documentation/networking/iou-zcrx.rst",
            in_default: false,
            facts: Receiving { delivery: Delivery::ByDevice, holder: Holder::Ring },
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        Err(why_not())
    }

    fn start(&self, _: Setup<'_>) -> io::Result<Box<dyn Receiver>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, why_not()))
    }
}

fn why_not() -> Unavailable {
    uring::available().err().unwrap_or_else(|| device::nobody(zcrx::ask))
}
