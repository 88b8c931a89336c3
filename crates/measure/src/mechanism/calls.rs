//! What mechanisms share that make one call after another: how many messages it takes, whether it says that
//! more follows, and the loop over calls.
//!
//! A mechanism names those that it has in its own list of axes; it must then do what they say.
//! Sources: send(2) (MSG_MORE), writev(2) (IOV_MAX).

use super::{About, Mechanism, Packing, Sender, SenderSetup, Sending, Tally, per_call};
use crate::message::{self, MOST_PIECES, Message, PAGE};
use std::io;
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point};
use syscost_host::Unavailable;
use syscost_sys::buffer::Buffer;

/// Of eight fields each: a call takes at most so many pieces.
pub const MOST_PER_CALL: u64 = MOST_PIECES / 8;

/// Do the pieces of a call's messages fit into one list of pieces?
pub fn fits_a_call(point: &Point) -> Result<(), Unavailable> {
    message::fits_together(point, &MESSAGES_PER_CALL, per_call(point))
}

/// Messages that one call, or one submission, hands to the kernel.
pub const MESSAGES_PER_CALL: Axis = IntAxis::new("messages_per_call")
    .count(1, MOST_PER_CALL)
    .flag("batch", "messages per call")
    .help(
        "messages that one call hands to the kernel: packed into one buffer, gathered, or \
         submitted together, as the mechanism has it",
    )
    .default_on(Ints(&[1]));

/// Datagrams that the kernel makes of one piece of memory.
pub const SEGMENTS: Axis = IntAxis::new("segments")
    .count(2, 64)
    .flag("segments", "segments")
    .help("datagrams that the kernel cuts one send into (UDP_SEGMENT)")
    .default_on(Ints(&[16]));

/// Datagrams of one send at this point; 1 where the kernel cuts nothing.
pub fn segments(point: &Point) -> u64 {
    point.int_at(SEGMENTS.id).unwrap_or(1).max(1)
}

/// MSG_MORE on every call.
pub const MSG_MORE: Axis = NameAxis::new("msg_more")
    .switch()
    .flag("msg-more", "MSG_MORE")
    .help(
        "on: every send says that more follows, and the kernel fills segments before it sends \
         them, TCP_NODELAY or not",
    )
    .default_on(Names(&["off"]));

/// MSG_MORE where the point asks for it, else no flag.
pub fn more_flag(point: &Point) -> libc::c_int {
    if point.text_at(MSG_MORE.id) == Some("on") { libc::MSG_MORE } else { 0 }
}

/// A mechanism that hands messages over by plain system calls, and waits for nothing but the kernel.
pub struct PlainCalls {
    pub about: About<Sending>,
    /// Messages in memory, packed ones included, of so many a call.
    pub messages_held: fn(u64) -> u64,
    pub start: fn(SenderSetup<'_>) -> Box<dyn Sender>,
}

impl Mechanism for PlainCalls {
    fn about(&self) -> About<Sending> {
        self.about
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        if self.about.facts.packing == Packing::ByKernel { fits_a_call(point) } else { Ok(()) }
    }

    fn messages_held(&self, point: &Point) -> u64 {
        (self.messages_held)(per_call(point))
    }

    fn plain_calls(&self) -> bool {
        true
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        Ok((self.start)(setup))
    }
}

/// Makes one call after another. `call` sends the messages of one and returns the system calls that it took.
pub fn sender(point: &Point, call: impl FnMut() -> io::Result<u64> + 'static) -> Box<dyn Sender> {
    Box::new(CallByCall { per_call: per_call(point), call, system_calls: 0 })
}

struct CallByCall<Call> {
    per_call: u64,
    /// A type of its own for each mechanism: the compiler sees through it.
    call: Call,
    system_calls: u64,
}

impl<Call: FnMut() -> io::Result<u64>> Sender for CallByCall<Call> {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            self.system_calls += (self.call)()?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally { system_calls: self.system_calls, ..Tally::default() }
    }
}

/// So many messages one behind the other in one buffer.
pub fn contiguous(message: &Message, messages: u64) -> Buffer {
    let mut whole = Buffer::zeroed(message.len() * messages as usize, PAGE);
    for room in whole.chunks_exact_mut(message.len()) {
        message.pack_into(room);
    }
    whole
}

/// So many messages, each in memory of its own.
pub fn copies(message: Message, messages: usize) -> Vec<Message> {
    let mut copies: Vec<Message> = (1..messages).map(|_| message.twin()).collect();
    copies.push(message);
    copies
}

/// The fields of several messages, in the stream's order.
pub fn fields(messages: &[Message]) -> impl Iterator<Item = &Buffer> {
    messages.iter().flat_map(|message| message.fields())
}
