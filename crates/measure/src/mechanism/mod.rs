//! Ways to send a message over TCP: one file each, one visible list, and those of a user's own (`own`).
//!
//! A mechanism is named by its interface, never by a claim about copies. It owns what happens
//! between a filled message and the socket; the harness owns the clock, the loop count, pinning
//! and counters, and calls [`Sender::send`] once per batch, never once per message.

use crate::message::Message;
use crate::own::{OwnKind, all};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Axis, Point};
use syscost_host::Unavailable;

mod calls;
mod connections;
mod facts;
mod ktls;
mod lent_ring;
mod own;
mod page_cache;
mod uring;
pub mod zerocopy_ring;

/// What a mechanism or a receiver is: words for `list`, help, reports and docs, and facts by type.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct About<Facts> {
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
    /// Axes that only it (and its kin) has, e.g. the reap batch.
    #[serde(skip)]
    pub axes: &'static [Axis],
    /// What it does with each byte and with its memory. No word above decides anything.
    #[serde(skip)]
    pub facts: Facts,
}

impl<Facts> About<Facts> {
    /// Not in the default study, without aliases and axes; each names its own texts.
    pub const fn of(facts: Facts) -> About<Facts> {
        About {
            id: "",
            title: "",
            aliases: &[],
            summary: "",
            source: "",
            in_default: false,
            axes: &[],
            facts,
        }
    }

    pub fn with<Other>(self, facts: Other) -> About<Other> {
        let About { id, title, aliases, summary, source, in_default, axes, .. } = self;
        About { id, title, aliases, summary, source, in_default, axes, facts }
    }
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
    /// The system calls are not known: a user's own code did not count them.
    pub uncounted: bool,
    /// Completion queue entries reaped, of whatever kind (io_uring).
    pub queue_entries: u64,
    /// Bytes that went out beside the payload, inside TCP (the framing of encrypted records).
    pub framing_bytes: u64,
    /// The costs of a program that sends in turns; `None`: the calling thread sends.
    pub program: Option<ProgramTally>,
}

/// Costs of a user's program: the clocks of the calling thread do not measure another process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramTally {
    /// CPU time to be added to the calling thread's: what handing over turns costs both is taken off.
    pub cpu_ns: i64,
    pub turns: u64,
    /// An empty turn: CPU time of both, and how long it takes.
    pub turn_cpu_ns: u64,
    pub turn_ns: u64,
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(tallies: I) -> Tally {
        tallies.fold(Tally::default(), |a, b| Tally {
            system_calls: a.system_calls + b.system_calls,
            uncounted: a.uncounted || b.uncounted,
            completions: a.completions + b.completions,
            completions_copied: a.completions_copied + b.completions_copied,
            enobufs: a.enobufs + b.enobufs,
            queue_entries: a.queue_entries + b.queue_entries,
            framing_bytes: a.framing_bytes + b.framing_bytes,
            // A thread that has a program has one connection.
            program: a.program.or(b.program),
        })
    }
}

impl ProgramTally {
    /// The facts that a run records: the number of turns, and the cost of an empty one.
    pub fn facts(self) -> impl Iterator<Item = (String, String)> {
        let facts = [
            ("program_turns", self.turns),
            (PROGRAM_TURN_CPU_NS, self.turn_cpu_ns),
            (PROGRAM_TURN_NS, self.turn_ns),
        ];
        facts.into_iter().map(|(id, value)| (id.to_string(), value.to_string()))
    }
}

/// Facts of a sender: what an empty turn costs, and how long it takes.
pub const PROGRAM_TURN_CPU_NS: &str = "program_turn_cpu_ns";
pub const PROGRAM_TURN_NS: &str = "program_turn_ns";

/// What a mechanism gets to work with. The message and the socket are its own until it is dropped.
pub struct SenderSetup<'a> {
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

    /// How long one call of [`Sender::send`] should last: longer where a call is dear.
    fn call_ns(&self) -> u64 {
        CALL_NS
    }
}

/// How often a sending thread looks at the clock.
pub const CALL_NS: u64 = 100_000;
/// How long a turn of a program is: handing it over is a hundredth then.
pub const PROGRAM_CALL_NS: u64 = 10 * CALL_NS;

pub trait Mechanism: Sync {
    fn about(&self) -> About<Sending>;

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

    /// Tells the receiver's socket what this mechanism's stream needs there, before the first byte of it.
    fn prepare_receiver(&self, socket: RawFd) -> io::Result<()> {
        let _ = socket;
        Ok(())
    }

    /// Whole messages that one sender keeps in memory: the message and, in most, a packed copy of
    /// every message of a call.
    fn messages_held(&self, point: &Point) -> u64 {
        1 + per_call(point)
    }

    /// Does it hand over a call's messages by plain system calls, and wait for nothing but the kernel? Only then
    /// can an account of its cost be made ([`Handling`]).
    fn plain_calls(&self) -> bool {
        false
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>>;
}

syscost_core::registry! {
    /// Every mechanism, in the order of reports.
    pub static ALL: dyn Mechanism = [
        send_fields::SEND_FIELDS,
        pack_send::PACK_SEND,
        send::SEND,
        sendmsg::SENDMSG,
        writev::WRITEV,
        msg_zerocopy::MSG_ZEROCOPY,
        send_zerocopy::SEND_ZEROCOPY,
        msg_zerocopy_large::MSG_ZEROCOPY_LARGE,
        msg_zerocopy_sleep::MSG_ZEROCOPY_SLEEP,
        sendfile::SendFile,
        splice::Splice,
        io_uring_send::IO_URING_SEND,
        io_uring_sendmsg::IO_URING_SENDMSG,
        io_uring_send_zc::IO_URING_SEND_ZC,
        io_uring_sendmsg_zc::IO_URING_SENDMSG_ZC,
        vmsplice::VmSplice,
        ktls_send::KTLS_SEND,
        ktls_sendfile::KTLS_SENDFILE,
    ];
}

pub use calls::{
    MESSAGES_PER_CALL, MOST_PER_CALL, MSG_MORE, PlainCalls, SEGMENTS, contiguous, copies, fields,
    fits_a_call, more_flag, segments, sender,
};
pub use connections::{CONNECTIONS, SOCKET_BUFFER_BYTES, THREADS, all_connections, connections};
pub use facts::{Class, Handling, Handover, Packing, Reuse, Sending};

/// Can this machine lend memory to a TCP socket (MSG_ZEROCOPY)?
pub use zerocopy_ring::available as zerocopy_available;

/// One contiguous buffer, one send(2): what the others are compared with.
pub fn control() -> &'static dyn Mechanism {
    &send::SEND
}

pub fn find(id: &str) -> Option<&'static dyn Mechanism> {
    known().find(|m| m.about().id == id)
}

/// Every mechanism, and those of a user's own that this process knows.
pub fn known() -> impl Iterator<Item = &'static dyn Mechanism> {
    let own = all(OwnKind::Mechanism).into_iter().map(|code| code as &'static dyn Mechanism);
    ALL.iter().copied().chain(own)
}

/// Messages per call at this point; 1 for a mechanism without the axis.
pub fn per_call(point: &Point) -> u64 {
    point.int_at(MESSAGES_PER_CALL.id).unwrap_or(1).max(1).saturating_mul(segments(point))
}
