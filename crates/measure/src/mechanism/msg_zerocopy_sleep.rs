//! `msg_zerocopy_sleep`: MSG_ZEROCOPY as published student programs loop it. Not in the default
//! study: it is here so that its cliff can be reproduced and explained (docs/choosing.md).
//!
//! 256 messages in flight, the error queue drained without blocking after every send, and a sleep
//! when the ring is full or the kernel refuses (ENOBUFS), instead of waiting for a completion. Its send buffer is
//! left to the kernel.

use super::zerocopy_ring::{RingShape, Zerocopy};
use super::{About, Handover, Packing, Reuse, Sending};
use std::time::Duration;

const IN_FLIGHT: usize = 256;
const NAP: Duration = Duration::from_millis(1);

pub static MSG_ZEROCOPY_SLEEP: Zerocopy = Zerocopy {
    about: About {
        id: "msg_zerocopy_sleep",
        title: "zero-copy, sleeping",
        summary: "as msg_zerocopy with 256 in flight, drained after every send, and 1 ms naps instead of waiting",
        source: "Documentation/networking/msg_zerocopy.rst",
        ..About::of(Sending::of(Packing::ByKernel, Handover::Referenced, Reuse::AtCompletion))
    },
    shape: |_| RingShape {
        slots: IN_FLIGHT,
        per_call: 1,
        reap_batch: 1,
        flags: 0,
        lent_from: 0,
        nap: Some(NAP),
    },
};
