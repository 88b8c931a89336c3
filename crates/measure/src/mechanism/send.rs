//! `send`: one contiguous buffer, one send(2): the control, without gather or packing.
//!
//! What a message costs that already lies in one piece; several messages per call lie one behind the
//! other. Source: send(2).

use super::{
    About, Handover, MESSAGES_PER_CALL, MSG_MORE, Packing, PlainCalls, Reuse, Sender, SenderSetup, Sending,
};
use super::{contiguous, more_flag, per_call, sender};
use syscost_sys::socket;

pub static SEND: PlainCalls = PlainCalls {
    about: About {
        id: "send",
        title: "contiguous send",
        summary: "one contiguous buffer, one send(2): the control, no gather",
        source: "send(2)",
        in_default: true,
        axes: &[MESSAGES_PER_CALL, MSG_MORE],
        ..About::of(Sending::of(Packing::Beforehand, Handover::Copied, Reuse::AtReturn))
    },
    messages_held: |per_call| 1 + per_call,
    start,
};

fn start(setup: SenderSetup<'_>) -> Box<dyn Sender> {
    let (socket, flags) = (setup.socket, more_flag(setup.point));
    let whole = contiguous(&setup.message, per_call(setup.point));
    sender(setup.point, move || socket::send_all(socket, &whole, flags))
}
