//! `send`: one contiguous buffer, one send(2): the control, without gather or packing.
//!
//! What a message costs that already lies in one piece; several messages per call lie one behind the
//! other. Source: send(2).

use super::{
    About, Handover, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Packing, Reuse, Sender, SenderSetup, Sending,
};
use super::{contiguous, more_flag, per_call, sender};
use std::io;
use syscost_sys::socket;

pub struct Send;

impl Mechanism for Send {
    fn about(&self) -> About<Sending> {
        About {
            id: "send",
            title: "contiguous send",
            summary: "one contiguous buffer, one send(2): the control, no gather",
            source: "send(2)",
            in_default: true,
            axes: &[MESSAGES_PER_CALL, MSG_MORE],
            ..About::of(Sending::of(Packing::Beforehand, Handover::Copied, Reuse::AtReturn))
        }
    }

    fn plain_calls(&self) -> bool {
        true
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let (socket, flags) = (setup.socket, more_flag(setup.point));
        let whole = contiguous(&setup.message, per_call(setup.point));
        Ok(sender(setup.point, move || socket::send_all(socket, &whole, flags)))
    }
}
