//! `io_uring_send_zc`: one contiguous buffer, IORING_OP_SEND_ZC with usage reports.
//!
//! The buffer is sent again only after the kernel's notification. Source: io_uring_enter(2) (IORING_OP_SEND_ZC).

use super::uring::{Uring, ZERO_COPY_AXES};
use super::{About, Handover, Packing, Reuse, Sending};

pub static IO_URING_SEND_ZC: Uring = Uring(About {
    id: "io_uring_send_zc",
    title: "io_uring zero-copy requested",
    summary: "one contiguous buffer, IORING_OP_SEND_ZC, notifications with usage reports; buffers may be registered",
    source: "io_uring_enter(2), IORING_OP_SEND_ZC",
    axes: ZERO_COPY_AXES,
    ..About::of(Sending::of(Packing::Beforehand, Handover::Referenced, Reuse::AtCompletion))
});
