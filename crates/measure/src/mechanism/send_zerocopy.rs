//! `send_zerocopy`: one contiguous buffer, sendmsg(2) of it with MSG_ZEROCOPY.
//!
//! What gathering costs zero-copy: the kernel pins and describes one piece a message where
//! `msg_zerocopy` hands it one a field. It is to that as `send` is to `sendmsg`, and what public programs that
//! use MSG_ZEROCOPY do. Source: Documentation/networking/msg_zerocopy.rst.

use super::msg_zerocopy::{REAP_AXES, shape};
use super::zerocopy_ring::Zerocopy;
use super::{About, Handover, Packing, Reuse, Sending};

pub static SEND_ZEROCOPY: Zerocopy = Zerocopy {
    about: About {
        id: "send_zerocopy",
        title: "zero-copy requested, no gather",
        summary: "one contiguous buffer with MSG_ZEROCOPY, completions reaped from the error queue: no gather",
        source: "Documentation/networking/msg_zerocopy.rst",
        axes: REAP_AXES,
        ..About::of(Sending::of(Packing::Beforehand, Handover::Referenced, Reuse::AtCompletion))
    },
    shape,
};
