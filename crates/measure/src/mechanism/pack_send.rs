//! `pack_send`: memcpy of the fields into one buffer, then one send(2).
//!
//! The classical two-copy path: user fields -> user buffer -> socket buffer. Several messages per call
//! are packed one behind the other and leave together. Source: send(2).

use super::{
    About, Handover, MESSAGES_PER_CALL, MSG_MORE, Packing, PlainCalls, Reuse, Sender, SenderSetup, Sending,
};
use super::{copies, more_flag, per_call, sender};
use crate::message::PAGE;
use syscost_sys::{buffer::Buffer, socket};

pub static PACK_SEND: PlainCalls = PlainCalls {
    about: About {
        id: "pack_send",
        title: "two-copy",
        aliases: &["two-copy"],
        summary: "memcpy of the fields into one buffer, then one send(2)",
        source: "send(2)",
        in_default: true,
        axes: &[MESSAGES_PER_CALL, MSG_MORE],
        ..About::of(Sending::of(Packing::Packed, Handover::Copied, Reuse::AtReturn))
    },
    messages_held: |per_call| 2 * per_call,
    start,
};

fn start(setup: SenderSetup<'_>) -> Box<dyn Sender> {
    let (socket, flags) = (setup.socket, more_flag(setup.point));
    let (bytes, per_call) = (setup.message.len(), per_call(setup.point) as usize);
    // Each in memory of its own, as a program has them that has several to send.
    let messages = copies(setup.message, per_call);
    let mut packed = Buffer::zeroed(bytes * per_call, PAGE);
    sender(setup.point, move || {
        for (message, room) in messages.iter().zip(packed.chunks_exact_mut(bytes)) {
            message.pack_into(room);
        }
        socket::send_all(socket, &packed, flags)
    })
}
