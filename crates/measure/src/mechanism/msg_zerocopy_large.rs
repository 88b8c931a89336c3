//! `msg_zerocopy_large`: MSG_ZEROCOPY for the large pieces of a message alone; small ones are copied.
//!
//! MSG_ZEROCOPY is of a whole call, and to lend a piece costs more than to copy a few bytes. So a header goes by a
//! sendmsg(2) with MSG_MORE, and the payload behind it by one with MSG_ZEROCOPY: a call for each run of pieces. A message
//! without large pieces is sent as `sendmsg` sends it.
//! Source: Documentation/networking/msg_zerocopy.rst ("generally only effective at writes over around 10 KB").

use super::msg_zerocopy::{REAP_AXES, shape};
use super::zerocopy_ring::{RingShape, Zerocopy};
use super::{About, Handover, Packing, Reuse, Sending};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis};

const LENT_FROM_BYTES: u64 = 10 << 10;

const LENT_FROM: Axis = IntAxis::new("lent_from_bytes")
    .bytes(1, 1 << 30)
    .flag("lent-from", "lent from")
    .help("the smallest piece of a message that is sent with MSG_ZEROCOPY; smaller ones are copied")
    .default_on(Ints(&[LENT_FROM_BYTES]));

pub static MSG_ZEROCOPY_LARGE: Zerocopy = Zerocopy {
    about: About {
        id: "msg_zerocopy_large",
        title: "zero-copy of large pieces",
        summary: "sendmsg(2) with MSG_ZEROCOPY of the large pieces of a message, without it of the small ones",
        source: "Documentation/networking/msg_zerocopy.rst",
        axes: &[REAP_AXES[0], REAP_AXES[1], REAP_AXES[2], REAP_AXES[3], LENT_FROM],
        ..About::of(Sending::of(Packing::ByKernel, Handover::BySize, Reuse::AtCompletion))
    },
    shape: |point| RingShape {
        lent_from: point.int_at(LENT_FROM.id).unwrap_or(LENT_FROM_BYTES) as usize,
        ..shape(point)
    },
};
