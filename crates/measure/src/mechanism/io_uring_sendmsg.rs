//! `io_uring_sendmsg`: an iovec for each field, IORING_OP_SENDMSG.
//!
//! The kernel gathers the fields, as for sendmsg(2). Source: io_uring_enter(2) (IORING_OP_SENDMSG).

use super::uring::{COPYING_AXES, Uring};
use super::{About, Handover, Packing, Reuse, Sending};

pub static IO_URING_SENDMSG: Uring = Uring(About {
    id: "io_uring_sendmsg",
    title: "io_uring sendmsg",
    summary: "IORING_OP_SENDMSG with an iovec for each field; the messages of a call are linked requests of one submission",
    source: "io_uring_enter(2), IORING_OP_SENDMSG",
    axes: COPYING_AXES,
    ..About::of(Sending::of(Packing::ByKernel, Handover::Copied, Reuse::AtReturn))
});
