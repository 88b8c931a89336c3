//! `send_fields`: a send(2) for each field.
//!
//! What the simplest program does with a message in several pieces. Source: send(2).

use super::{About, Handover, MSG_MORE, Packing, PlainCalls, Reuse, Sender, SenderSetup, Sending};
use super::{more_flag, sender};
use syscost_sys::socket;

pub static SEND_FIELDS: PlainCalls = PlainCalls {
    about: About {
        id: "send_fields",
        title: "two-copy, field by field",
        summary: "a send(2) for each field",
        source: "send(2)",
        in_default: true,
        axes: &[MSG_MORE],
        ..About::of(Sending::of(Packing::PerField, Handover::Copied, Reuse::AtReturn))
    },
    messages_held: |per_call| 1 + per_call,
    start,
};

fn start(setup: SenderSetup<'_>) -> Box<dyn Sender> {
    let SenderSetup { socket, message, point } = setup;
    let flags = more_flag(point);
    sender(point, move || {
        let mut fields = message.fields().iter();
        fields.try_fold(0, |calls, field| Ok(calls + socket::send_all(socket, field, flags)?))
    })
}
