//! `msg_zerocopy_sleep`: MSG_ZEROCOPY as published student programs loop it. Not in the default
//! study: it is here so that its cliff can be reproduced and explained (docs/zerocopy-cliff.md).
//!
//! 256 messages in flight, the error queue drained without blocking after every send, and a sleep
//! when the ring is full or the kernel refuses (ENOBUFS), instead of waiting for a completion.

use super::zerocopy_ring::{self, Ring, Shape, Waiting};
use super::{About, Mechanism, Sender, Setup};
use std::io;
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_host::Unavailable;

pub struct MsgZerocopySleep;

const IN_FLIGHT: usize = 256;
const NAP: Duration = Duration::from_millis(1);

impl Mechanism for MsgZerocopySleep {
    fn about(&self) -> About {
        About {
            id: "msg_zerocopy_sleep",
            title: "zero-copy, sleeping",
            aliases: &[],
            summary: "as msg_zerocopy with 256 in flight, drained after every send, and 1 ms naps instead of waiting",
            source: "Documentation/networking/msg_zerocopy.rst",
            in_default: false,
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        zerocopy_ring::available()
    }

    fn messages_held(&self, _point: &Point) -> u64 {
        IN_FLIGHT as u64
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        let waiting = Waiting::Nap(NAP);
        let shape = Shape { slots: IN_FLIGHT, per_call: 1, reap_batch: 1, flags: 0, waiting };
        Ok(Box::new(Ring::new(setup.socket, setup.message, shape)?))
    }
}
