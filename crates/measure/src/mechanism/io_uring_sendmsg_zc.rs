//! `io_uring_sendmsg_zc`: an iovec for each field, IORING_OP_SENDMSG_ZC with usage reports.
//!
//! The fields are sent again only after the kernel's notification. Source: io_uring_enter(2) (IORING_OP_SENDMSG_ZC).

use super::uring::{Uring, ZERO_COPY_AXES};
use super::{About, Handover, Packing, Reuse, Sending};

pub static IO_URING_SENDMSG_ZC: Uring = Uring(About {
    id: "io_uring_sendmsg_zc",
    title: "io_uring zero-copy gather asked",
    summary: "IORING_OP_SENDMSG_ZC with an iovec for each field, notifications with usage reports; the fields may be registered",
    source: "io_uring_enter(2), IORING_OP_SENDMSG_ZC",
    axes: ZERO_COPY_AXES,
    ..About::of(Sending::of(Packing::ByKernel, Handover::Referenced, Reuse::AtCompletion))
});
