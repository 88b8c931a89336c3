//! `send_zerocopy`: one contiguous buffer, sendmsg(2) of it with MSG_ZEROCOPY.
//!
//! What gathering costs zero-copy: the kernel pins and describes one piece a message where
//! `msg_zerocopy` hands it eight. It is to that as `send` is to `sendmsg`, and what public programs that
//! use MSG_ZEROCOPY do. Source: Documentation/networking/msg_zerocopy.rst.

use super::msg_zerocopy::{REAP_AXES, shape};
use super::zerocopy_ring::{self, Ring};
use super::{About, Handling, Mechanism, Sender, Setup};
use std::io;
use syscost_core::axis::{Axis, Point};
use syscost_host::Unavailable;

pub struct SendZerocopy;

impl Mechanism for SendZerocopy {
    fn about(&self) -> About {
        About {
            id: "send_zerocopy",
            title: "zero-copy asked, no gather",
            aliases: &[],
            summary: "one contiguous buffer with MSG_ZEROCOPY, completions reaped from the error queue: no gather",
            source: "Documentation/networking/msg_zerocopy.rst",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        REAP_AXES
    }

    fn available(&self) -> Result<(), Unavailable> {
        zerocopy_ring::available()
    }

    /// Those of the ring, and the message that they are packed from.
    fn messages_held(&self, point: &Point) -> u64 {
        let shape = shape(point);
        1 + shape.slots as u64 * shape.per_call
    }

    fn handling(&self, _: &Point) -> Option<Handling> {
        Some(Handling { lends: true, ..Handling::PLAIN })
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        Ok(Box::new(Ring::packed(setup.socket, &setup.message, shape(setup.point))?))
    }
}
