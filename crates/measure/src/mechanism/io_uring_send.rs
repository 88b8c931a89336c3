//! `io_uring_send`: one contiguous buffer, IORING_OP_SEND.
//!
//! The control `send` through a ring: what the ring itself costs or saves. Source: io_uring_enter(2) (IORING_OP_SEND).

use super::uring::{COPYING_AXES, Uring};
use super::{About, Handover, Packing, Reuse, Sending};

pub static IO_URING_SEND: Uring = Uring(About {
    id: "io_uring_send",
    title: "io_uring send",
    summary: "one contiguous buffer, IORING_OP_SEND; the messages of a call are linked requests of one submission",
    source: "io_uring_enter(2), IORING_OP_SEND",
    axes: COPYING_AXES,
    ..About::of(Sending::of(Packing::Beforehand, Handover::Copied, Reuse::AtReturn))
});
