//! Ways to send a message over TCP: one file each, one visible list.
//!
//! A mechanism is named by its interface, never by a claim about copies. It owns what happens
//! between a filled message and the socket; the harness owns the clock, the loop count, pinning
//! and counters, and calls [`Sender::send`] once per batch, never once per message.

use crate::message::Message;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Axis, Point};
use syscost_host::Unavailable;

mod calls;
mod class;
mod connections;
mod ktls;
mod lent_ring;
mod page_cache;
mod uring;
mod zerocopy_ring;

/// What a mechanism is, for `list`, help, reports and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// `sendmsg`
    pub id: &'static str,
    /// What reports may call it: `one-copy`.
    pub title: &'static str,
    /// Other names that the command line accepts.
    pub aliases: &'static [&'static str],
    /// What it does per message, in one sentence.
    pub summary: &'static str,
    /// Man page, paper or kernel document.
    pub source: &'static str,
    /// Part of the default study.
    pub in_default: bool,
}

/// Counts since the sender was made; the harness takes differences between samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub system_calls: u64,
    /// Zero-copy completions reaped (calls covered: one a message where a call takes one), and how many of
    /// them the kernel flagged copied.
    pub completions: u64,
    pub completions_copied: u64,
    /// Times the kernel refused for want of buffers (ENOBUFS) and the sender had to wait.
    pub enobufs: u64,
    /// Completion queue entries reaped, of whatever kind (io_uring).
    pub queue_entries: u64,
    /// Payload bytes copied from user memory to user memory: nobody else can see such a copy.
    pub user_copied_bytes: u64,
    /// Bytes that went out beside the payload, inside TCP (the framing of encrypted records).
    pub framing_bytes: u64,
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(tallies: I) -> Tally {
        tallies.fold(Tally::default(), |a, b| Tally {
            system_calls: a.system_calls + b.system_calls,
            completions: a.completions + b.completions,
            completions_copied: a.completions_copied + b.completions_copied,
            enobufs: a.enobufs + b.enobufs,
            queue_entries: a.queue_entries + b.queue_entries,
            user_copied_bytes: a.user_copied_bytes + b.user_copied_bytes,
            framing_bytes: a.framing_bytes + b.framing_bytes,
        })
    }
}

/// How a mechanism hands one call's messages to the kernel: what an account of its cost counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handling {
    /// Calls that a group of messages takes ([`per_call`] of them).
    pub calls: u64,
    /// Pieces that such a call names, over all its messages.
    pub pieces: u64,
    /// Is every byte copied in user memory first?
    pub packs: bool,
    /// Does the kernel pin the pages rather than copy them (MSG_ZEROCOPY)?
    pub lends: bool,
}

impl Handling {
    /// One call that copies one piece.
    pub const PLAIN: Handling = Handling { calls: 1, pieces: 1, packs: false, lends: false };
}

/// What a mechanism gets to work with. The message and the socket are its own until it is dropped.
pub struct Setup<'a> {
    /// A connected, blocking TCP socket; closed by the harness after the sender is dropped.
    pub socket: RawFd,
    pub message: Message,
    /// The case's coordinates, for the mechanism's own axes.
    pub point: &'a Point,
}

/// A mechanism on one connection.
pub trait Sender {
    /// Sends `messages` whole messages: a multiple of the point's messages per call ([`per_call`]).
    fn send(&mut self, messages: u64) -> io::Result<()>;

    /// Waits until the kernel needs nothing of this sender's memory any more (every completion
    /// reaped). The harness calls it before each sample ends.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn tally(&self) -> Tally;
}

pub trait Mechanism: Sync {
    fn about(&self) -> About;

    /// Axes that only this mechanism (and its kin) has, e.g. the reap batch.
    fn axes(&self) -> &'static [Axis] {
        &[]
    }

    /// Can this machine do it? Tried, not guessed from a version.
    fn available(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// Can it do what this point asks of it, beside this receiver? Asked where [`Mechanism::available`]
    /// says yes; most can be received by every receiver.
    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        let _ = point;
        Ok(())
    }

    /// Does its stream arrive encoded, so that the kernel has to decode it for the receiver?
    fn encoded(&self) -> bool {
        false
    }

    /// Tells the receiver's socket what this mechanism's stream needs there, before the first byte of it.
    fn prepare_receiver(&self, socket: RawFd) -> io::Result<()> {
        let _ = socket;
        Ok(())
    }

    /// Do the messages lie in a file when they are sent, and not in the sender's memory?
    fn lies_in_a_file(&self) -> bool {
        false
    }

    /// Whole messages that one sender keeps in memory: the message and, in most, a packed copy of
    /// every message of a call.
    fn messages_held(&self, point: &Point) -> u64 {
        1 + per_call(point)
    }

    /// How it hands messages over; `None`: no account of its cost can be made.
    fn handling(&self, point: &Point) -> Option<Handling> {
        let _ = point;
        None
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>>;
}

syscost_core::registry! {
    /// Every mechanism, in the order of reports.
    pub static ALL: dyn Mechanism = [
        send_fields::SendFields,
        pack_send::PackSend,
        send::Send,
        sendmsg::SendMsg,
        writev::WriteV,
        msg_zerocopy::MsgZerocopy,
        send_zerocopy::SendZerocopy,
        msg_zerocopy_sleep::MsgZerocopySleep,
        sendfile::SendFile,
        splice::Splice,
        io_uring_send::IoUringSend,
        io_uring_sendmsg::IoUringSendMsg,
        io_uring_send_zc::IoUringSendZc,
        io_uring_sendmsg_zc::IoUringSendMsgZc,
        vmsplice::VmSplice,
        ktls_send::KtlsSend,
        ktls_sendfile::KtlsSendFile,
    ];
}

pub use calls::{
    MESSAGES_PER_CALL, MOST_PER_CALL, MSG_MORE, contiguous, copies, fields, more_flag, per_call,
};
pub use class::Class;
pub use connections::{CONNECTIONS, all_connections, connections};

/// Can this machine lend memory to a TCP socket (MSG_ZEROCOPY)?
pub use zerocopy_ring::available as zerocopy_available;

/// One contiguous buffer, one send(2): what the others are compared with.
pub fn control() -> &'static dyn Mechanism {
    &send::Send
}

pub fn find(id: &str) -> Option<&'static dyn Mechanism> {
    ALL.iter().copied().find(|m| m.about().id == id)
}
