//! `io_uring_recv_zc`: zero-copy receive through a ring (zcrx): the device writes payload into memory that
//! the receiver registered. Only its question is here: see [`super::device`].
//!
//! Source: Documentation/networking/iou-zcrx.rst.

use super::device::{self, DeviceQueue};
use super::{About, Delivery, MemoryOwner, Receiving};
use syscost_host::{Unavailable, uring};
use syscost_sys::uring::zcrx;

pub static IO_URING_RECV_ZC: DeviceQueue = DeviceQueue {
    about: About {
        id: "io_uring_recv_zc",
        title: "io_uring zero-copy recv",
        summary: "IORING_OP_RECV_ZC from a device's receive queue; asked for, and refused where no device has one",
        source: "Documentation/networking/iou-zcrx.rst",
        ..About::of(Receiving::of(Delivery::ByDevice, MemoryOwner::Ring))
    },
    why_not,
};

fn why_not() -> Unavailable {
    uring::available().err().unwrap_or_else(|| device::nobody(zcrx::ask))
}
