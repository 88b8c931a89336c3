//! `send_fields`: eight send(2) calls, one a field.
//!
//! What the simplest program does with a message in eight pieces. Source: send(2).

use super::{About, Handover, MSG_MORE, Mechanism, Packing, Reuse, Sender, SenderSetup, Sending};
use super::{more_flag, sender};
use std::io;
use syscost_sys::socket;

pub struct SendFields;

impl Mechanism for SendFields {
    fn about(&self) -> About<Sending> {
        About {
            id: "send_fields",
            title: "two-copy, 8 sends",
            summary: "eight send(2) calls, one a field",
            source: "send(2)",
            in_default: true,
            axes: &[MSG_MORE],
            ..About::of(Sending::of(Packing::PerField, Handover::Copied, Reuse::AtReturn))
        }
    }

    fn plain_calls(&self) -> bool {
        true
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let SenderSetup { socket, message, point } = setup;
        let flags = more_flag(point);
        Ok(sender(point, move || {
            let mut fields = message.fields().iter();
            fields.try_fold(0, |calls, field| Ok(calls + socket::send_all(socket, field, flags)?))
        }))
    }
}
