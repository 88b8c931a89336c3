//! Ways to receive a stream of messages over TCP: one file each, one visible list, and those of a user's own (`own`).

pub use crate::mechanism::About;
use crate::own::{OwnKind, all};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::{Point, Value};
use syscost_host::Unavailable;

mod own;

pub mod options;

/// How bytes come to their reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The kernel copies them to the reader's memory.
    Copied,
    /// The kernel maps its own pages for the reader, and copies what it cannot map.
    Mapped,
    /// Nobody sees them: what receiving costs without that is an upper bound, and no advice to anybody.
    Discarded,
    /// As a user's own code has it; the bytes are handed back.
    Unseen,
}

/// What arrived in one call of [`Receiver::receive`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// 0 = the peer closed the stream.
    pub bytes: usize,
    pub system_calls: u32,
}

pub struct ReceiverSetup<'a> {
    /// A connected TCP socket, on which [`options::apply`] has set what the point asks; a blocking one, unless
    /// it is one of many ([`Receive::one_of_many`]).
    pub socket: RawFd,
    pub message_bytes: usize,
    pub point: &'a Point,
}

/// A receiver on one connection.
pub trait Receiver {
    /// Waits for the next piece of the stream; of a socket that does not wait, "would block" says that there
    /// is none.
    fn receive(&mut self) -> io::Result<Received>;

    /// The bytes that the last call delivered, in the stream's order, one slice for each piece of memory
    /// that they lie in; `None` for a receiver that cannot see them (one that truncates or splices). The
    /// harness verifies them outside timed windows.
    fn last(&self) -> Option<Vec<&[u8]>>;

    /// Of all that was delivered so far: bytes that were not copied to this receiver's memory (dropped,
    /// mapped, or moved on inside the kernel).
    fn uncopied_bytes(&self) -> u64 {
        0
    }

    /// What nobody knows of it: a user's own code did not say.
    fn unknown(&self) -> UnknownCounts {
        UnknownCounts::default()
    }
}

/// Which of a receiver's counts say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownCounts {
    pub system_calls: bool,
    pub uncopied_bytes: bool,
}

pub trait Receive: Sync {
    fn about(&self) -> About<Delivery>;

    fn available(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// Can it do what this point asks of it?
    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        let _ = point;
        Ok(())
    }

    /// Does whoever receives get to see the data?
    fn delivers(&self) -> bool {
        self.about().facts != Delivery::Discarded
    }

    /// Of a receiver that is asked not to copy: what makes it copy after all, and what helps.
    fn copies_because(&self) -> Option<Unavailable> {
        None
    }

    /// Can one thread serve several connections by it? epoll(7) says which socket is ready, and a call on a
    /// socket that does not wait takes what is there.
    fn one_of_many(&self, point: &Point) -> Result<(), Unavailable> {
        options::one_of_many(point)
    }

    /// Whole messages that one receiver keeps in memory, where that grows with the messages.
    fn messages_held(&self, point: &Point) -> u64 {
        let _ = point;
        0
    }

    /// The value that it needs on an axis that nobody named (the MTU at which pages can be mapped).
    fn wants(&self, axis: &str, point: &Point) -> Option<Value> {
        let _ = (axis, point);
        None
    }

    /// Does the kernel decode an encoded stream (kTLS) for it? It does for recv(2) and recvmsg(2) into
    /// memory, without flags.
    fn decodes(&self) -> bool {
        false
    }

    fn start(&self, setup: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>>;
}

syscost_core::registry! {
    /// Every receiver, in the order of reports.
    pub static ALL: dyn Receive = [
        recv::RECV,
        recvmsg::RecvMsg,
        tcp_zerocopy_receive::TcpZerocopyReceive,
        recv_trunc::RECV_TRUNC,
        splice_null::SpliceNull,
        io_uring_recv::IoUringRecv,
    ];
}

/// recv(2) into one buffer: what the others are compared with.
pub fn control() -> &'static dyn Receive {
    &recv::RECV
}

pub fn find(id: &str) -> Option<&'static dyn Receive> {
    known().find(|r| r.about().id == id)
}

/// Every receiver, and those of a user's own that this process knows.
pub fn known() -> impl Iterator<Item = &'static dyn Receive> {
    let own = all(OwnKind::Receiver).into_iter().map(|code| code as &'static dyn Receive);
    ALL.iter().copied().chain(own)
}
